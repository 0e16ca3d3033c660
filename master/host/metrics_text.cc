#include "master/host/metrics_text.h"

#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::master {
namespace {

const JobState kStates[] = {JobState::kPending, JobState::kRunning, JobState::kCommitting, JobState::kSucceeded,
                            JobState::kFailed,  JobState::kKilling, JobState::kKilled};
// WorkerView::Word: those without a worker have a sample, too.
const char* const kWorkerStates[] = {"live",    "draining", "away", "excluded", "distrusted",
                                     "stalled", "unfit",    "full", "stopped",  "lost"};

}  // namespace

MetricsText::MetricsText(Driver& driver, HostClock& clock, const BlockStore& block_store, const Reports& reports)
    : driver_(driver), core_(driver.core()), clock_(clock), block_store_(block_store), reports_(reports) {}

// Writes the figures by which the cluster's policies steer.
void MetricsText::WriteFigures(rpc::MetricsWriter* out) {
  std::string last;
  for (const sched::Figure& figure : core_.scheduler().Figures({}, clock_.Stamp())) {
    const std::string name = "mr_" + figure.name;
    if (name != last)
      out->GaugeFamily(name, "A figure by which the scheduler's policies steer; the page /scheduler explains it.");
    last = name;
    if (figure.label.empty())
      out->Sample(figure.value);
    else
      out->Sample("bin", figure.label, figure.value);
  }
}

void MetricsText::WriteAttempts(rpc::MetricsWriter* out) const {
  const JobTotals& totals = core_.jobs().totals();
  const JobTotals::Attempts& counts = totals.attempts;
  out->Counter("mr_attempts_launched_total", "Attempts launched.", counts.launched);
  out->Counter("mr_attempts_committed_total", "Attempts whose output was committed.", counts.committed);
  out->Counter("mr_attempts_failed_total", "Attempts that failed.", counts.failed);
  out->Counter("mr_attempts_killed_total", "Attempts stopped, lost or refused.", counts.killed);
  out->Counter("mr_attempts_refused_total", "Of these: not started by their worker.", counts.refused);
  out->Counter("mr_output_copies_made_total", "Replicas of outputs that policies requested.", totals.replicas.made);
  out->Counter("mr_output_copied_bytes_total", "Uncompressed bytes of these.", totals.replicas.bytes);
  const auto by_cause = [&](const char* name, const char* help, const auto& value) {
    out->CounterFamily(name, help);
    for (size_t i = 0; i < kCauses; ++i) {
      out->Sample("cause", CauseName(static_cast<Cause>(i + 1)), value(totals.causes[i]));
    }
  };
  by_cause("mr_cause_launched_total", "Attempts launched, by cause.",
           [](const sched::CauseCount& c) { return c.launched; });
  by_cause("mr_cause_won_total", "Of these: whose output was committed.",
           [](const sched::CauseCount& c) { return c.won; });
  by_cause("mr_cause_wasted_slot_seconds_total", "Slot time of attempts that ended without a commit, by cause.",
           [](const sched::CauseCount& c) { return c.wasted.seconds(); });
  const CloneCounts& clones = totals.clones;
  out->Counter("mr_clones_killed_total", "Clones stopped, lost or refused.", clones.killed);
  out->Counter("mr_clone_extra_slot_seconds_total",
               "Slot time of attempts of tasks with clones that ended without a commit.", clones.extra.seconds());
  out->Counter("mr_lent_clones_killed_total", "Clones on idle slots stopped, lost or refused.", totals.lent.killed);
  out->Counter("mr_lent_clone_extra_slot_seconds_total",
               "Slot time of attempts of tasks with clones on idle slots, and no others, that ended without a commit.",
               totals.lent.extra.seconds());
  out->CounterFamily("mr_bound_reads_total",
                     "Reads bound to a replica of their own, to a shared one, or again to another one.");
  out->Sample("how", "exclusive", clones.exclusive);
  out->Sample("how", "contended", clones.contended);
  out->Sample("how", "rebound", clones.rebound);
}

// Writes a sample per queue that is configured or has jobs, and for the default one. Cost: the open jobs and queues.
void MetricsText::WriteQueues(rpc::MetricsWriter* out) const {
  struct Counts {
    uint64_t pending = 0, running = 0;
    const sched::Queue* queue = nullptr;
  };
  const sched::Queue none;
  std::map<std::string, Counts> queues;
  queues["default"].queue = &none;
  for (const auto& [name, queue] : core_.scheduler().state().queues()) queues[name].queue = &queue;
  for (const JobId id : core_.jobs().OpenJobs()) {
    const JobView* job = core_.jobs().Find(id);
    const JobState state = ShownState(*job);
    if (Ended(state)) continue;
    const auto it = queues.find(job->spec.queue);
    if (it != queues.end()) ++(state == JobState::kPending ? it->second.pending : it->second.running);
  }
  const auto by_queue = [&](const char* name, const char* help, const auto& value) {
    out->GaugeFamily(name, help);
    for (const auto& [queue, counts] : queues) out->Sample("queue", queue, value(counts));
  };
  by_queue("mr_queue_pending_jobs", "Jobs that have no slot yet, by queue.", [](const Counts& c) { return c.pending; });
  by_queue("mr_queue_running_jobs", "Other jobs that have not ended, by queue.",
           [](const Counts& c) { return c.running; });
  by_queue("mr_queue_used_slots", "Slots that the queue's jobs hold.",
           [](const Counts& c) { return c.queue->held_total(); });
  by_queue("mr_queue_weight", "Weight of the queue.", [](const Counts& c) { return c.queue->weight; });
  by_queue("mr_queue_min_share_slots", "Minimum share of the queue.",
           [](const Counts& c) { return c.queue->min_share; });
  const uint32_t slots = core_.scheduler().state().slots().total;
  by_queue("mr_queue_max_share_slots",
           "Slots that the queue may hold: its max share, or all of the cluster without one.",
           [slots](const Counts& c) { return c.queue->max_share == 0 ? slots : std::min(c.queue->max_share, slots); });
}

// Writes the workers that are known by state, also those that went, and the space on the disks of live ones.
void MetricsText::WriteWorkers(rpc::MetricsWriter* out) const {
  std::map<std::string, uint64_t> states;
  for (const char* state : kWorkerStates) states[state] = 0;
  for (const auto& [id, worker] : core_.workers().all()) ++states[worker.Word()];
  out->GaugeFamily("mr_workers_by_state", "Known workers by state, as in 'mrctl workers', also lost ones.");
  for (const auto& [state, count] : states) out->Sample("state", state, count);
  out->GaugeFamily("mr_worker_disk_free_bytes", "Free bytes on the disk of the worker's --data.");
  for (const auto& [id, worker] : core_.workers().all()) {
    if (worker.alive && worker.room.total_bytes > 0) out->Sample("worker", Name(id), worker.room.free_bytes);
  }
}

void MetricsText::WriteMetrics(rpc::MetricsWriter* out, Loop* loop) {
  std::map<JobState, uint64_t> by_state;
  uint64_t live = 0;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    ++by_state[ShownState(job)];
    live += core_.attempts().Live(id);
  }
  out->GaugeFamily("mr_jobs", "Jobs by state.");
  for (const JobState state : kStates) out->Sample("state", Word(state), by_state[state]);
  size_t workers = 0;
  for (const auto& [id, worker] : core_.workers().all()) workers += worker.alive && !worker.away;
  out->Gauge("mr_workers", "Workers that hold a lease.", workers);
  out->Gauge("mr_slots", "Slots of these workers.", core_.workers().TotalSlots());
  WriteWorkers(out);
  out->Gauge("mr_attempts_live", "Attempts that run or wait.", live);
  WriteAttempts(out);
  WriteQueues(out);
  WriteFigures(out);
  out->CounterFamily("mr_worker_refused_total", "Attempts that this worker did not start.");
  for (const auto& [id, worker] : core_.scheduler().state().workers()) {
    // The scheduler keeps the numbers of workers that were forgotten.
    if (core_.workers().all().contains(id)) out->Sample("worker", Name(id), worker.refused);
  }
  out->Counter("mr_journal_syncs_total", "Groups of records synced.", driver_.journal().syncs());
  out->Counter("mr_journal_bytes_total", "Bytes that this master has appended to its journal.",
               driver_.journal().written_bytes());
  out->Counter("mr_journal_records_total", "Sequence of the last durable record.", driver_.journal().durable());
  out->Histogram("mr_journal_sync_seconds", "Time to sync a group of records.", driver_.journal().sync_times());
  out->Histogram("mr_attempt_start_seconds", "From the launch of an attempt to its start on the worker.",
                 reports_.start_times());
  out->Histogram("mr_attempt_run_seconds", "From the start of an attempt to the commit of its output.",
                 reports_.run_times());
  const dfs::RepairCounts blocks = block_store_.Counts();
  out->Gauge("mr_blocks", "Blocks of visible files.", blocks.blocks);
  out->Gauge("mr_blocks_missing", "Of these: without a good replica.", blocks.missing);
  out->Gauge("mr_blocks_under_replicated", "Of these: with fewer replicas than wanted.", blocks.under_replicated);
  out->Gauge("mr_block_copies_under_way", "Copies of blocks that were requested and are not reported yet.",
             blocks.copying);
  out->Gauge("mr_block_replicas_damaged", "Damaged replicas of blocks, which are not read.", blocks.suspect);
  out->Gauge("mr_loop_lag_seconds", "Longest wait in the master's queue since the last scrape.",
             loop->TakeMaxLag().seconds());
  const Loop::Waits waits = loop->GetWaits();
  std::vector<double> bounds;
  bounds.reserve(std::size(Loop::kWaitBounds));
  for (const Duration bound : Loop::kWaitBounds) bounds.push_back(bound.seconds());
  out->Histogram("mr_loop_wait_seconds", "Waits in the master's queue.", bounds, waits.counts, waits.sum.seconds());
  out->Gauge("mr_safe_mode", "1 while records of the journal are lost and nobody has accepted that.",
             driver_.InLossMode());
  out->Gauge("mr_master_epoch", "Epoch of this master.", driver_.epoch());
}

}  // namespace mr::master
