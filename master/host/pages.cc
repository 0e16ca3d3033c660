#include "master/host/pages.h"

#include <map>

#include "common/base/text.h"
#include "common/report/page.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

const JobState kStates[] = {JobState::kPending, JobState::kRunning, JobState::kCommitting, JobState::kSucceeded,
                            JobState::kFailed,  JobState::kKilling, JobState::kKilled};

}  // namespace

Pages::Pages(const HostOptions& options, Driver& driver, HostClock& clock, const BlockStore& block_store,
             const SafeMode& safe_mode)
    : options_(options),
      driver_(driver),
      core_(driver.core()),
      clock_(clock),
      block_store_(block_store),
      safe_mode_(safe_mode) {}

// Writes the figures by which the cluster's policies steer.
void Pages::WriteFigures(rpc::MetricsWriter* out) {
  std::string last;
  for (const sched::Figure& figure : core_.scheduler().Figures({}, clock_.Stamp())) {
    const std::string name = "mr_" + figure.name;
    if (name != last) out->GaugeFamily(name, "Of the scheduler's policies.");
    last = name;
    if (figure.label.empty())
      out->Sample(figure.value);
    else
      out->Sample("bin", figure.label, figure.value);
  }
}

void Pages::WriteAttempts(rpc::MetricsWriter* out) const {
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

void Pages::WriteMetrics(rpc::MetricsWriter* out, Duration loop_lag) {
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
  out->Gauge("mr_attempts_live", "Attempts that run or wait.", live);
  WriteAttempts(out);
  WriteFigures(out);
  out->CounterFamily("mr_worker_refused_total", "Attempts that this worker did not start.");
  for (const auto& [id, worker] : core_.scheduler().state().workers()) {
    out->Sample("worker", Name(id), worker.refused);
  }
  out->Counter("mr_journal_syncs_total", "Groups of records synced.", driver_.journal().syncs());
  out->Counter("mr_journal_records_total", "Sequence of the last durable record.", driver_.journal().durable());
  const dfs::RepairCounts blocks = block_store_.Counts();
  out->Gauge("mr_blocks", "Blocks of visible files.", blocks.blocks);
  out->Gauge("mr_blocks_missing", "Of these: without a good replica.", blocks.missing);
  out->Gauge("mr_blocks_under_replicated", "Of these: with fewer replicas than wanted.", blocks.under_replicated);
  out->Gauge("mr_loop_lag_seconds", "Longest wait in the master's queue since the last scrape.", loop_lag.seconds());
  out->Gauge("mr_safe_mode", "1 while records of the journal are lost and nobody has accepted that.",
             driver_.InLossMode());
  out->Gauge("mr_master_epoch", "Epoch of this master.", driver_.epoch());
}

std::string Pages::StatusPage() {
  std::string out =
      "<!doctype html><html lang=en><meta charset=utf-8><title>Paceline</title><style>"
      "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}"
      "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3em .8em .3em 0;"
      "border-bottom:1px solid #ddd}td.n{text-align:right}</style><h1>Paceline</h1>";
  out +=
      "<p>Epoch " + std::to_string(driver_.epoch()) + ", policies " + report::EscapeHtml(options_.policies) + ".</p>";
  if (driver_.InLossMode()) out += "<p><b>Safe mode:</b> " + report::EscapeHtml(safe_mode_.Words()) + ".</p>";
  out += "<h2>Jobs</h2><table><tr><th>Job<th>Name<th>State<th>Stages<th>Output";
  size_t rows = 0;
  auto& jobs = core_.jobs().jobs();
  for (auto it = jobs.rbegin(); it != jobs.rend() && rows < 100; ++it, ++rows) {
    const JobView& job = it->second;
    std::string stages;
    for (size_t s = 0; s < job.stages.size(); ++s) {
      stages += (stages.empty() ? "" : ", ") + job.spec.stages[s].name + " " +
                std::to_string(core_.attempts().Counts(job, static_cast<uint32_t>(s)).done) + "/" +
                std::to_string(job.plan.stages[s].tasks);
    }
    out += "<tr><td>" + Name(job.id) + "<td>" + report::EscapeHtml(job.spec.name) + "<td>" + Word(ShownState(job)) +
           "<td>" + report::EscapeHtml(stages) + "<td>" + report::EscapeHtml(job.spec.output_uri);
  }
  out += "</table><h2>Workers</h2><table><tr><th>Worker<th>Address<th>Rack<th>Slots<th>State";
  for (const auto& [id, worker] : core_.workers().all()) {
    out += "<tr><td>" + Name(id) + "<td>" + report::EscapeHtml(worker.info.address) + "<td>" +
           report::EscapeHtml(worker.info.rack) + "<td>" + std::to_string(worker.info.slots.total) + "<td>" +
           worker.Word();
  }
  return out + "</table>";
}

}  // namespace mr::master
