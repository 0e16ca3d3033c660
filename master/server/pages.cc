// The texts behind the HTTP routes: metrics and the status page.
#include <cmath>
#include <map>
#include <utility>

#include "common/base/text.h"
#include "common/rpc/metrics.h"
#include "master/sched/state/state.h"
#include "master/server/http.h"

namespace mr::master {
namespace {

using rpc::Metric;

std::string Escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// Writes the figures by which the cluster's policies steer.
void Figures(Brain& brain, std::string* out) {
  std::string last;
  for (const sched::Figure& figure : brain.scheduler().Figures({}, brain.Stamp())) {
    const std::string name = "mr_" + figure.name;
    if (name != last) *out += "# HELP " + name + " Of the scheduler's policies.\n# TYPE " + name + " gauge\n";
    last = name;
    char value[64];
    if (std::isinf(figure.value))
      std::snprintf(value, sizeof value, " +Inf\n");
    else
      std::snprintf(value, sizeof value, " %.17g\n", figure.value);
    *out += name + (figure.label.empty() ? "" : "{bin=\"" + figure.label + "\"}") + value;
  }
}

const JobState kStates[] = {JobState::kPending, JobState::kRunning, JobState::kCommitting, JobState::kSucceeded,
                            JobState::kFailed,  JobState::kKilling, JobState::kKilled};

}  // namespace

std::string MetricsText(Brain& brain, Duration loop_lag) {
  std::map<JobState, uint64_t> by_state;
  uint64_t live = 0;
  for (const auto& [id, job] : brain.jobs().jobs()) {
    ++by_state[job.state];
    live += job.live_attempts;
  }
  std::string out = "# HELP mr_jobs Jobs by state.\n# TYPE mr_jobs gauge\n";
  for (const JobState state : kStates) {
    out += std::string("mr_jobs{state=\"") + Word(state) + "\"} " + std::to_string(by_state[state]) + "\n";
  }
  double workers = 0;
  for (const auto& [id, worker] : brain.workers().all()) workers += worker.alive && !worker.away;
  Metric(&out, "mr_workers", "gauge", "Workers that hold a lease.", workers);
  Metric(&out, "mr_slots", "gauge", "Slots of these workers.", brain.workers().TotalSlots());
  Metric(&out, "mr_attempts_live", "gauge", "Attempts that run or wait.", static_cast<double>(live));
  const auto& counts = brain.jobs().counts();
  const auto total = [&out](const char* name, const char* help, uint64_t value) {
    Metric(&out, name, "counter", help, static_cast<double>(value));
  };
  total("mr_attempts_launched_total", "Attempts launched.", counts.launched);
  total("mr_attempts_committed_total", "Attempts whose output was committed.", counts.committed);
  total("mr_attempts_failed_total", "Attempts that failed.", counts.failed);
  total("mr_attempts_killed_total", "Attempts stopped, lost or refused.", counts.killed);
  total("mr_attempts_refused_total", "Of these: not started by their worker.", counts.refused);
  total("mr_output_copies_made_total", "Replicas of outputs that policies requested.",
        brain.jobs().replica_counts().made);
  total("mr_output_copied_bytes_total", "Uncompressed bytes of these.", brain.jobs().replica_counts().bytes);
  const auto by_cause = [&](const char* name, const char* help, const auto& value) {
    out += std::string("# HELP ") + name + " " + help + "\n# TYPE " + name + " counter\n";
    for (size_t i = 0; i < kCauses; ++i) {
      char line[64];
      std::snprintf(line, sizeof line, "\"} %.17g\n", value(brain.jobs().causes()[i]));
      out += std::string(name) + "{cause=\"" + CauseName(static_cast<Cause>(i + 1)) + line;
    }
  };
  by_cause("mr_cause_launched_total", "Attempts launched, by cause.",
           [](const sched::CauseCount& c) { return static_cast<double>(c.launched); });
  by_cause("mr_cause_won_total", "Of these: whose output was committed.",
           [](const sched::CauseCount& c) { return static_cast<double>(c.won); });
  by_cause("mr_cause_wasted_slot_seconds_total", "Slot time of attempts that ended without a commit, by cause.",
           [](const sched::CauseCount& c) { return c.wasted.seconds(); });
  const CloneCounts& clones = brain.jobs().clones();
  total("mr_clones_killed_total", "Clones stopped, lost or refused.", clones.killed);
  Metric(&out, "mr_clone_extra_slot_seconds_total", "counter",
         "Slot time of attempts of tasks with clones that ended without a commit.", clones.extra.seconds());
  total("mr_lent_clones_killed_total", "Clones on idle slots stopped, lost or refused.", brain.jobs().lent().killed);
  Metric(&out, "mr_lent_clone_extra_slot_seconds_total", "counter",
         "Slot time of attempts of tasks with clones on idle slots, and no others, that ended without a commit.",
         brain.jobs().lent().extra.seconds());
  out +=
      "# HELP mr_bound_reads_total Reads bound to a replica of their own, to a shared one, or again to another one.\n"
      "# TYPE mr_bound_reads_total counter\n";
  using Reads = std::pair<const char*, uint64_t>;
  for (const auto& [how, value] :
       {Reads{"exclusive", clones.exclusive}, Reads{"contended", clones.contended}, Reads{"rebound", clones.rebound}}) {
    out += std::string("mr_bound_reads_total{how=\"") + how + "\"} " + std::to_string(value) + "\n";
  }
  Figures(brain, &out);
  out +=
      "# HELP mr_worker_refused_total Attempts that this worker did not start.\n"
      "# TYPE mr_worker_refused_total counter\n";
  for (const auto& [id, worker] : brain.scheduler().state().workers()) {
    out += "mr_worker_refused_total{worker=\"" + Name(id) + "\"} " + std::to_string(worker.refused) + "\n";
  }
  total("mr_journal_syncs_total", "Groups of records synced.", brain.journal().syncs());
  total("mr_journal_records_total", "Sequence of the last durable record.", brain.journal().durable());
  const dfs::RepairCounts blocks = brain.BlockCounts();
  Metric(&out, "mr_blocks", "gauge", "Blocks of visible files.", static_cast<double>(blocks.blocks));
  Metric(&out, "mr_blocks_missing", "gauge", "Of these: without a good replica.", static_cast<double>(blocks.missing));
  Metric(&out, "mr_blocks_under_replicated", "gauge", "Of these: with fewer replicas than wanted.",
         static_cast<double>(blocks.under_replicated));
  Metric(&out, "mr_loop_lag_seconds", "gauge", "Longest wait in the master's queue since the last scrape.",
         loop_lag.seconds());
  Metric(&out, "mr_safe_mode", "gauge", "1 while records of the journal are lost and nobody has accepted that.",
         brain.InLossMode());
  Metric(&out, "mr_master_epoch", "gauge", "Epoch of this master.", brain.epoch());
  return out;
}

std::string StatusPage(Brain& brain) {
  std::string out =
      "<!doctype html><html lang=en><meta charset=utf-8><title>Paceline</title><style>"
      "body{font:15px/1.45 system-ui,sans-serif;margin:2em auto;max-width:60em;padding:0 1em}"
      "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3em .8em .3em 0;"
      "border-bottom:1px solid #ddd}td.n{text-align:right}</style><h1>Paceline</h1>";
  out += "<p>Epoch " + std::to_string(brain.epoch()) + ", policies " + Escaped(brain.options().policies) + ".</p>";
  if (brain.InLossMode()) out += "<p><b>Safe mode:</b> " + Escaped(brain.LossWords()) + ".</p>";
  out += "<h2>Jobs</h2><table><tr><th>Job<th>Name<th>State<th>Stages<th>Output";
  size_t rows = 0;
  auto& jobs = brain.jobs().jobs();
  for (auto it = jobs.rbegin(); it != jobs.rend() && rows < 100; ++it, ++rows) {
    const JobView& job = it->second;
    std::string stages;
    for (size_t s = 0; s < job.stages.size(); ++s) {
      stages += (stages.empty() ? "" : ", ") + job.spec.stages[s].name + " " + std::to_string(job.stages[s].done) +
                "/" + std::to_string(job.plan.stages[s].tasks);
    }
    out += "<tr><td>" + Name(job.id) + "<td>" + Escaped(job.spec.name) + "<td>" + Word(job.state) + "<td>" +
           Escaped(stages) + "<td>" + Escaped(job.spec.output_uri);
  }
  out += "</table><h2>Workers</h2><table><tr><th>Worker<th>Address<th>Rack<th>Slots<th>State";
  for (const auto& [id, worker] : brain.workers().all()) {
    out += "<tr><td>" + Name(id) + "<td>" + Escaped(worker.info.address) + "<td>" + Escaped(worker.info.rack) + "<td>" +
           std::to_string(worker.info.slots.total) + "<td>" + worker.Word();
  }
  return out + "</table>";
}

}  // namespace mr::master
