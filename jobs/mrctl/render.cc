#include "jobs/mrctl/render.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/io/local_time.h"
#include "common/model/attempt.h"
#include "common/report/one_line.h"
#include "jobs/mrctl/columns.h"

namespace mr::ctl {
namespace {

std::string Elapsed(uint64_t us) { return HumanDuration(Micros(static_cast<int64_t>(us))); }

std::string Dash(const std::string& text) { return text.empty() ? "-" : text; }

uint32_t Sum(const JobStatus& job, uint32_t StageStatus::*member) {
  uint32_t sum = 0;
  for (const StageStatus& stage : job.stages) sum += stage.*member;
  return sum;
}

}  // namespace

std::string Table::Text() const {
  std::vector<size_t> width(rows_[0].size());
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], Columns(row[i]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(width[i] + 2 - Columns(row[i]), ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string DateTime(uint64_t unix_ms) { return unix_ms == 0 ? "-" : LocalDateTime(unix_ms); }

std::vector<std::string> ExtraAttempts(const JobStatus& job) {
  std::vector<std::string> lines;
  uint64_t outrun_us = 0;  // of attempts that were overtaken or failed
  for (const CauseStatus& c : job.causes) {
    if (c.cause == "first" || c.cause == "retry") outrun_us += c.wasted_us;
    if (c.launched == 0 || c.cause == "first" || c.cause == "retry") continue;
    const bool one = c.launched == 1;
    std::string name = one ? c.cause : c.cause + "s";
    if (c.cause == "speculative") name = one ? "speculative attempt" : "speculative attempts";
    if (c.cause == CauseName(Cause::kOpportunistic)) name = one ? "clone on an idle slot" : "clones on idle slots";
    lines.push_back(Grouped(c.launched) + " " + name + " launched, " + Grouped(c.won) + " won, " +
                    Elapsed(c.wasted_us) + " of their slot time wasted");
  }
  if (!lines.empty() && outrun_us > 0) {
    lines.push_back(Elapsed(outrun_us) +
                    " of slot time wasted by first attempts and retries that were ended or failed");
  }
  return lines;
}

std::string WhyItWaits(const JobStatus& job) { return job.waits.empty() ? "" : job.waits.front(); }

std::string WaitLines(const std::vector<JobStatus>& jobs) {
  std::string lines;
  for (const JobStatus& job : jobs) {
    if (const std::string why = WhyItWaits(job); !why.empty()) lines += Name(job.id) + ": " + why + "\n";
  }
  return lines.empty() ? "" : "\n" + lines;
}

std::string RenderJobs(const std::vector<JobStatus>& jobs, OutputForm form) {
  if (form != OutputForm::kTable) return JsonJobs(jobs, form);
  Table table({"ID", "NAME", "STATE", "TASKS", "RUNNING", "ELAPSED", "SUBMITTED", "OUTPUT", "QUEUE", "OWNER"});
  for (const JobStatus& j : jobs) {
    table.Add({Name(j), Dash(j.name), Word(j.state),
               std::to_string(Sum(j, &StageStatus::done)) + "/" + std::to_string(Sum(j, &StageStatus::tasks)),
               std::to_string(Sum(j, &StageStatus::running)), Elapsed(j.elapsed_us), DateTime(j.submitted_unix_ms),
               Dash(j.output_uri), Dash(j.queue), Dash(j.owner)});
  }
  return table.Text() + WaitLines(jobs);
}

uint32_t PendingTasks(const StageStatus& stage) {
  const uint32_t busy = stage.done + stage.running + stage.waiting;
  return stage.tasks - std::min(stage.tasks, busy);
}

std::string RenderStages(const JobStatus& job, OutputForm form) {
  if (form != OutputForm::kTable) return JsonStages(job, form);
  Table table({"STAGE", "TASKS", "PENDING", "RUNNING", "WAITING", "FAILED", "INPUT", "OUTPUT", "RECORDS", "TOOK"});
  for (const StageStatus& s : job.stages) {
    table.Add({s.name, s.planned ? std::to_string(s.done) + "/" + std::to_string(s.tasks) : "-",
               Ended(job.state) ? "-" : std::to_string(PendingTasks(s)), std::to_string(s.running),
               std::to_string(s.waiting), std::to_string(s.failed), HumanBytes(s.input_bytes),
               HumanBytes(s.output_bytes), Grouped(s.output_records), Elapsed(s.elapsed_us)});
  }
  return table.Text();
}

namespace {

std::string OmegaText(const CloneStatus& c) {
  if (!c.omega_known) return "the wait for an exclusive replica is not chosen yet";
  const std::string most = c.omega_us == UINT64_MAX ? "without limit" : "up to " + Elapsed(c.omega_us);
  return "readers wait " + most + " for an exclusive replica";
}

}  // namespace

namespace {

// Returns the inputs of a job, the first ones of many.
std::vector<std::string> InputsShown(const JobSpec& spec) {
  constexpr size_t kShown = 5;  // a guess: more are in JSON
  std::vector<std::string> shown;
  size_t all = 0;
  for (const StageSpec& stage : spec.stages) {
    for (const InputSpec& input : stage.inputs) {
      for (const std::string& uri : input.files.uris) {
        if (std::find(shown.begin(), shown.end(), uri) != shown.end()) continue;
        if (++all <= kShown) shown.push_back(uri);
      }
    }
  }
  if (all > kShown) shown.push_back("and " + std::to_string(all - kShown) + " more: mrctl job show -o json has them");
  return shown;
}

}  // namespace

std::string RenderJob(const JobStatus& j, OutputForm form, const JobSpec* spec) {
  if (form != OutputForm::kTable) return JsonJob(j, form, spec);
  std::string text;
  const auto line = [&](const char* name, const std::string& value) {
    std::string padded = name;
    padded.resize(12, ' ');
    text += padded + value + "\n";
  };
  line("id", Name(j));
  line("name", Dash(j.name));
  line("state", Word(j.state));
  line("owner", Dash(j.owner));
  line("queue", Dash(j.queue));
  line("priority", std::to_string(j.priority));
  line("submitted", DateTime(j.submitted_unix_ms));
  line("elapsed", Elapsed(j.elapsed_us));
  for (const std::string& input : spec == nullptr ? std::vector<std::string>() : InputsShown(*spec)) {
    line("input", input);
  }
  line("output", Dash(j.output_uri));
  if (j.state == JobState::kSucceeded) {
    line("parts", std::to_string(j.output_parts));
    line("bytes", HumanBytes(j.output_bytes));
    line("records", Grouped(j.output_records));
    line("digest", j.output_digest.Hex());
  }
  for (const std::string& extra : ExtraAttempts(j)) line("extra", extra);
  uint64_t wasted_us = 0;
  for (const CauseStatus& c : j.causes) wasted_us += c.wasted_us;
  if (wasted_us > 0) line("wasted", Elapsed(wasted_us) + " of slot time, by attempts that did not commit");
  if (j.clones) {
    const CloneStatus& c = *j.clones;
    line("clones", Grouped(c.launched) + " launched, " + Grouped(c.won) + " won, " + Grouped(c.killed) + " killed; " +
                       Elapsed(c.extra_us) + " of slot time beside the attempts that committed; " +
                       Grouped(c.budget_used) + " of " + CountOf(c.budget, "slot") + " for clones in use now");
    if (c.lent_launched > 0) {
      const std::string clones = c.lent_launched == 1 ? " clone on an idle slot" : " clones on idle slots";
      line("on idle", Grouped(c.lent_launched) + clones + " launched, " + Grouped(c.lent_won) + " won, " +
                          Grouped(c.lent_killed) + " killed; " + Elapsed(c.lent_extra_us) +
                          " of slot time beside the attempts that committed");
    }
    line("reads", Grouped(c.exclusive) + " from an exclusive replica, " + Grouped(c.contended) +
                      " from a shared one, " + Grouped(c.rebound) + " moved to another replica; " + OmegaText(c));
  }
  for (const std::string& warning : j.warnings) line("warning", warning);
  for (const std::string& wait : j.waits) line("waits", wait);
  for (const std::string& hung : j.hung) line("hung", hung);
  for (const SkewStatus& skew : j.skew) line("skew", skew.text);
  text += DeadlineText(j);
  if (!j.error.empty()) line("error", j.error);
  if (!j.last_failure.empty()) line("failure", j.last_failure);
  text += "\n" + RenderStages(j, form);
  if (!j.steering) return text;
  const bool ended = j.state != JobState::kRunning && j.state != JobState::kPending;
  return text + RenderSteering(*j.steering, static_cast<double>(j.elapsed_us) / 1e6, ended);
}

std::string SkewHint(const JobStatus& job, const std::string& prefix) {
  if (job.state != JobState::kSucceeded || job.skew.empty()) return "";
  const auto heaviest = std::max_element(job.skew.begin(), job.skew.end(),
                                         [](const SkewStatus& a, const SkewStatus& b) { return a.bytes < b.bytes; });
  std::string text = "mrctl: skew: " + heaviest->text;
  if (job.skew.size() > 1 && !prefix.empty()) {
    text += "; `" + prefix + "job show " + Name(job.id) + "` names " + std::to_string(job.skew.size() - 1) + " more";
  }
  return text + "\n";
}

std::string RenderTasks(const std::vector<TaskStatus>& tasks, OutputForm form) {
  if (form != OutputForm::kTable) return JsonTasks(tasks, form);
  Table table({"ID", "STATE", "ATTEMPTS", "GENERATION", "WORKER", "REPLICAS"});
  for (const TaskStatus& t : tasks) {
    std::string replicas;
    for (const std::string& worker : t.replicas) replicas += (replicas.empty() ? "" : ",") + worker;
    table.Add(
        {t.id, t.state, std::to_string(t.attempts), std::to_string(t.generation), Dash(t.worker), Dash(replicas)});
  }
  return table.Text();
}

std::string RenderAttempts(const std::vector<AttemptStatus>& attempts, OutputForm form) {
  if (form != OutputForm::kTable) return JsonAttempts(attempts, form);
  Table table({"ID", "STATE", "CAUSE", "WORKER", "PROGRESS", "RAN", "MESSAGE"});
  for (const AttemptStatus& a : attempts) {
    table.Add({a.id, a.state, Dash(a.cause), Dash(a.worker), std::to_string(std::lround(a.progress * 100)) + "%",
               Elapsed(a.ran_us), Dash(report::OneLine(a.message))});
  }
  return table.Text();
}

std::string RenderCounters(const std::vector<CounterValue>& counters, OutputForm form) {
  if (form != OutputForm::kTable) return JsonCounters(counters, form);
  Table table({"GROUP", "NAME", "VALUE"});
  for (const CounterValue& c : counters) table.Add({c.group, c.name, std::to_string(c.value)});
  return table.Text();
}

std::string RenderWorkers(const std::vector<WorkerStatus>& workers, OutputForm form) {
  if (form != OutputForm::kTable) return JsonWorkers(workers, form);
  Table table({"ID", "STATE", "ADDRESS", "RACK", "BUSY", "BLOCKS", "USED", "CAPACITY", "NAME", "LABELS"});
  for (const WorkerStatus& w : workers) {
    std::string labels;
    for (const std::string& label : w.labels) labels += (labels.empty() ? "" : ",") + label;
    table.Add({w.id, w.safe_to_stop ? w.state + ", safe to stop" : w.state, w.address, Dash(w.rack),
               std::to_string(w.busy) + "/" + std::to_string(w.slots), std::to_string(w.blocks),
               HumanBytes(w.used_bytes), HumanBytes(w.capacity_bytes), Dash(w.name), Dash(labels)});
  }
  return table.Text();
}

std::string RenderQueues(const std::vector<QueueStatus>& queues, OutputForm form) {
  if (form != OutputForm::kTable) return JsonQueues(queues, form);
  Table table({"ID", "WEIGHT", "MIN", "MAX", "SLOTS", "JOBS", "WAITS"});
  for (const QueueStatus& q : queues) {
    char weight[32];
    std::snprintf(weight, sizeof weight, "%g", q.weight);
    table.Add({q.name, weight, std::to_string(q.min_share), q.max_share == 0 ? "-" : std::to_string(q.max_share),
               std::to_string(q.held_slots), std::to_string(q.jobs), q.waits ? "yes" : "no"});
  }
  return table.Text();
}

std::string RenderLogs(const std::vector<AttemptLog>& logs, OutputForm form) {
  if (form != OutputForm::kTable) return JsonLogs(logs, form);
  std::string text;
  for (const AttemptLog& log : logs) {
    if (!text.empty()) text += "\n";
    text += "==> " + log.id + " on " + Dash(log.worker) + ", " + log.state + " <==\n";
    if (!log.note.empty()) text += "(" + log.note + ")\n";
    text += log.text;
    if (!log.text.empty() && log.text.back() != '\n') text += "\n";
  }
  return text;
}

std::string RenderFiles(const std::vector<FileRow>& files, OutputForm form) {
  if (form != OutputForm::kTable) return JsonFiles(files, form);
  const auto sized = [](const FileRow& f) { return !f.directory || f.summed; };
  Table table({"TYPE", "BYTES", "BLOCKS", "REPLICAS", "OWNER", "READ", "MODIFIED", "PATH"});
  for (const FileRow& f : files) {
    table.Add({f.directory            ? "dir"
               : f.missing_blocks > 0 ? "file!"
                                      : "file",
               sized(f) ? std::to_string(f.bytes) : "-", sized(f) ? std::to_string(f.blocks) : "-",
               f.directory ? "-" : std::to_string(f.least_replicas) + "/" + std::to_string(f.replication),
               f.owner.empty() ? "-" : f.owner,
               f.owner.empty() ? "-"
               : f.read_by_all ? "all"
                               : "owner",
               DateTime(f.modified_unix_ms), f.path});
  }
  return table.Text();
}

std::string RenderUse(const std::vector<FileRow>& rows, bool human) {
  std::vector<std::string> sizes;
  sizes.reserve(rows.size());
  size_t width = 0;
  for (const FileRow& row : rows) {
    sizes.push_back(human ? HumanBytes(row.bytes) : std::to_string(row.bytes));
    width = std::max(width, sizes.back().size());
  }
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += std::string(width - sizes[i].size(), ' ') + sizes[i] + "  " + rows[i].path + "\n";
  }
  return text;
}

size_t TakingBlocks(const std::vector<WorkerStatus>& workers) {
  return static_cast<size_t>(std::count_if(workers.begin(), workers.end(), [](const WorkerStatus& w) {
    return w.state == "live" || w.state == "stalled" || w.state == "distrusted" || w.state == "unfit";
  }));
}

std::string RenderSums(const std::vector<FileSum>& sums, OutputForm form) {
  if (form != OutputForm::kTable) return JsonSums(sums, form);
  std::string text;
  for (const FileSum& s : sums) text += s.digest + "  " + s.path + "\n";
  return text;
}

StoreSpace SpaceOfStore(const std::vector<WorkerStatus>& workers) {
  struct Disk {
    uint64_t free = 0;
    std::vector<std::string> workers;
  };
  StoreSpace space;
  std::map<uint64_t, Disk> disks;  // by id; unknown disks count as different ones
  for (const WorkerStatus& w : workers) {
    if (w.state == "lost" || w.state == "stopped" || w.state == "excluded") continue;
    // The last block may be larger than the free space.
    const uint64_t free = w.capacity_bytes - std::min(w.capacity_bytes, w.used_bytes);
    space.used_bytes += w.used_bytes;
    space.capacity_bytes += w.used_bytes;
    if (w.disk == 0) {
      space.capacity_bytes += free;
      continue;
    }
    Disk& disk = disks[w.disk];
    // Each worker looks at its own time. The least is on the safe side.
    disk.free = disk.workers.empty() ? free : std::min(disk.free, free);
    disk.workers.push_back(w.id);
  }
  for (const auto& [id, disk] : disks) {
    space.capacity_bytes += disk.free;
    if (disk.workers.size() < 2) continue;
    std::string names;
    for (const std::string& name : disk.workers) names += (names.empty() ? "" : ", ") + name;
    space.shared.push_back(std::move(names));
  }
  std::sort(space.shared.begin(), space.shared.end());
  return space;
}

std::string RenderSpace(const std::vector<WorkerStatus>& workers, OutputForm form) {
  if (form != OutputForm::kTable) return JsonSpace(workers, form);
  Table table({"ID", "STATE", "CAPACITY", "USED", "FREE", "USE"});
  const auto add = [&](const std::string& id, const std::string& state, uint64_t all, uint64_t taken) {
    // The last block may be larger than the free space.
    table.Add({id, state, HumanBytes(all), HumanBytes(taken), HumanBytes(all > taken ? all - taken : 0),
               all == 0 ? "-" : std::to_string(taken * 100 / all) + "%"});
  };
  for (const WorkerStatus& w : workers) add(w.id, w.state, w.capacity_bytes, w.used_bytes);
  const StoreSpace space = SpaceOfStore(workers);
  add("total", "-", space.capacity_bytes, space.used_bytes);
  return table.Text();
}

std::string RenderVersion(const std::string& own, const MasterInfo* master, const std::string& error, OutputForm form) {
  if (form != OutputForm::kTable) return JsonVersion(own, master, form);
  std::string text = "mrctl " + own + "\n";
  if (master == nullptr) return text + "master: " + error + "\n";
  char cluster[17];
  std::snprintf(cluster, sizeof cluster, "%016llx", static_cast<unsigned long long>(master->cluster_id));
  return text + "master " + master->version + " at " + Dash(master->address) + ", cluster " + cluster + ", epoch " +
         std::to_string(master->master_epoch) + ", policies " + Dash(master->policies) + ", pid " +
         std::to_string(master->pid) + "\n";
}

}  // namespace mr::ctl
