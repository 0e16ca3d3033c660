#include "jobs/mrctl/operate.h"

#include <algorithm>

#include "common/base/count.h"
#include "common/base/text.h"
#include "jobs/mrctl/columns.h"
#include "jobs/mrctl/json.h"
#include "jobs/mrctl/render.h"

namespace mr::ctl {
namespace {

// Number of ended jobs that top shows below running ones (a guess: those that people still look for).
constexpr uint64_t kEndedShown = 5;
constexpr size_t kDecisionsShown = 20;  // of a worker (a guess: a screen has room for them)
constexpr size_t kShortList = 60;       // columns of a list of policies that fits beside others

std::string Or(const std::string& text, const char* otherwise) { return text.empty() ? otherwise : text; }

std::string Took(uint64_t us) { return HumanDuration(Micros(static_cast<int64_t>(us))); }

struct Tasks {
  uint32_t all = 0, done = 0, running = 0, waiting = 0, pending = 0, failed = 0;
};
Tasks TasksOf(const JobStatus& job) {
  Tasks t;
  for (const StageStatus& s : job.stages) {
    t.all += s.tasks;
    t.done += s.done;
    t.running += s.running;
    t.waiting += s.waiting;
    t.pending += PendingTasks(s);
    t.failed += s.failed;
  }
  return t;
}

std::string TopJobs(const std::vector<JobStatus>& jobs) {
  Table table({"ID", "NAME", "QUEUE", "STATE", "TASKS", "PENDING", "RUNNING", "WAITING", "FAILED", "ELAPSED"});
  for (const JobStatus& job : jobs) {
    const Tasks t = TasksOf(job);
    table.Add({Name(job.id), Or(job.name, "-"), Or(job.queue, "-"), Word(job.state),
               std::to_string(t.done) + "/" + std::to_string(t.all), std::to_string(t.pending),
               std::to_string(t.running), std::to_string(t.waiting), std::to_string(t.failed), Took(job.elapsed_us)});
  }
  return table.Text();
}

// Returns a list of policies as it fits into a line.
std::string ShortPolicies(const std::string& list) {
  if (list.size() <= kShortList) return "policies " + Or(list, "-");
  size_t policies = 1, depth = 0;
  for (const char c : list) {
    depth += c == '(' ? 1 : 0;
    depth -= c == ')' && depth > 0 ? 1 : 0;
    policies += c == ',' && depth == 0 ? 1 : 0;
  }
  return CountOf(policies, "policy", "policies") + " (mrctl version lists them)";
}

const char* VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk: return "ok";
    case Verdict::kWarn: return "warn";
    case Verdict::kFail: return "fail";
  }
  return "?";
}

}  // namespace

bool Runs(const AttemptStatus& attempt) { return attempt.state == "running" || attempt.state == "waiting"; }

void DrainRate::Note(uint64_t left_bytes, Instant now) {
  // More than before: outputs were written meanwhile. A rate across that would be too low.
  if (!seen_.empty() && left_bytes > seen_.back().second) seen_.clear();
  seen_.emplace_back(now, left_bytes);
  while (seen_.size() > 2 && now - seen_[1].first >= kWindow) seen_.pop_front();
}

double DrainRate::PerSecond() const {
  if (seen_.size() < 2) return 0;
  const double seconds = (seen_.back().first - seen_.front().first).seconds();
  return seconds <= 0 ? 0 : static_cast<double>(seen_.front().second - seen_.back().second) / seconds;
}

std::optional<Duration> DrainRate::Left() const {
  const double rate = PerSecond();
  if (rate <= 0 || seen_.back().second == 0) return std::nullopt;
  return Millis(static_cast<int64_t>(static_cast<double>(seen_.back().second) / rate * 1000));
}

std::string DrainLine(const std::string& worker, const DrainStatus& drain, const DrainRate& rate) {
  if (drain.safe_to_stop) return worker + " is safe to stop";
  std::string text;
  const auto add = [&](bool there, const std::string& what) {
    if (there) text += (text.empty() ? "" : ", ") + what;
  };
  add(drain.attempts > 0, CountOf(drain.attempts, "attempt runs", "attempts run"));
  add(drain.left_blocks > 0, Grouped(drain.left_blocks) + " of " + CountOf(drain.blocks, "block") + " (" +
                                 HumanBytes(drain.left_bytes) + ") left to copy");
  add(drain.being_written > 0, Grouped(drain.being_written) + " being written");
  add(drain.outputs > 0, CountOf(drain.outputs, "output") + " (" + HumanBytes(drain.output_bytes) + ") left to copy");
  if (const auto left = rate.Left()) {
    add(true, HumanBytes(static_cast<uint64_t>(rate.PerSecond())) + "/s, about " + HumanDuration(*left) + " left");
  }
  if (text.empty() && !drain.waits_for.empty()) text = drain.waits_for.front();
  return worker + ": " + text;
}

std::vector<std::string> NewestOfWorker(const std::vector<std::string>& why, const std::string& all) {
  // Decisions begin with their time (master/host/why.cc).
  const auto decision = [](const std::string& line) {
    return line.starts_with("at ") && line.size() > 3 && line[3] >= '0' && line[3] <= '9';
  };
  const auto first = std::find_if(why.begin(), why.end(), decision);
  const auto decisions = static_cast<size_t>(why.end() - first);
  if (decisions <= kDecisionsShown) return why;
  std::vector<std::string> lines(why.begin(), first);
  lines.push_back("the newest " + std::to_string(kDecisionsShown) + " of " + std::to_string(decisions) +
                  " decisions; `" + all + "` prints all of them:");
  lines.insert(lines.end(), why.end() - kDecisionsShown, why.end());
  return lines;
}

std::string RenderWorkersShown(const std::vector<WorkerShown>& workers, OutputForm form) {
  if (form != OutputForm::kTable) {
    std::vector<Json> rows;
    for (const WorkerShown& w : workers) {
      rows.push_back(ToJson(w.worker));
      rows.back()["running"] = Json::array();
      for (const AttemptStatus& a : w.running) rows.back()["running"].push_back(ToJson(a));
      rows.back()["why"] = w.why;
      if (w.drain.draining) rows.back()["drain"] = ToJson(w.drain);
    }
    return ListDocument("workers", rows, form);
  }
  std::string text;
  for (const WorkerShown& shown : workers) {
    const WorkerStatus& w = shown.worker;
    std::string labels;
    for (const std::string& label : w.labels) labels += (labels.empty() ? "" : ",") + label;
    if (!text.empty()) text += "\n";
    const auto line = [&](std::string name, const std::string& value) {
      name.resize(12, ' ');
      text += name + value + "\n";
    };
    line("id", w.id);
    line("name", Or(w.name, "-"));
    line("state", w.safe_to_stop ? w.state + ", safe to stop" : w.state);
    line("address", w.address);
    line("rack", Or(w.rack, "-"));
    line("labels", Or(labels, "-"));
    line("room", w.tier < 0 ? "-" : "tier " + std::to_string(w.tier));
    line("pid", w.pid == 0 ? "-" : std::to_string(w.pid));
    line("slots", std::to_string(w.busy) + " of " + std::to_string(w.slots) + " busy");
    const std::string each = w.slots == 0 ? "" : ", " + HumanBytes(w.memory_bytes / w.slots) + " per slot";
    line("memory", w.memory_bytes == 0 ? "not limited" : HumanBytes(w.memory_bytes) + " for attempts" + each);
    line("blocks", std::to_string(w.blocks) + ", " + HumanBytes(w.used_bytes) + " of " + HumanBytes(w.capacity_bytes));
    for (const std::string& why : shown.why) line("why", why);
    if (!shown.running.empty()) text += "\n" + RenderAttempts(shown.running, OutputForm::kTable);
  }
  return text;
}

std::vector<JobStatus> EndedJobs(std::vector<JobStatus> jobs, uint64_t limit) {
  std::erase_if(jobs, [](const JobStatus& job) { return !Ended(job.state); });
  const auto end = [](const JobStatus& job) { return job.submitted_unix_ms + job.elapsed_us / 1000; };
  std::stable_sort(jobs.begin(), jobs.end(), [&](const auto& a, const auto& b) { return end(a) > end(b); });
  if (jobs.size() > limit) jobs.resize(limit);
  return jobs;
}

std::string RenderHistory(const std::vector<JobStatus>& ended, OutputForm form) {
  if (form != OutputForm::kTable) return JsonJobs(ended, form);
  Table table({"ID", "NAME", "QUEUE", "STATE", "ENDED", "TOOK", "RECORDS", "BYTES", "OUTPUT"});
  for (const JobStatus& j : ended) {
    table.Add({Name(j), Or(j.name, "-"), Or(j.queue, "-"), Word(j.state),
               DateTime(j.submitted_unix_ms + j.elapsed_us / 1000), Took(j.elapsed_us), Grouped(j.output_records),
               HumanBytes(j.output_bytes), Or(j.output_uri, "-")});
  }
  return table.Text();
}

std::string RenderTop(const TopShown& top, OutputForm form) {
  std::vector<JobStatus> jobs;
  for (const JobStatus& job : top.jobs) {
    if (!Ended(job.state)) jobs.push_back(job);
  }
  if (form != OutputForm::kTable) {
    Json rows = Json::array(), workers = Json::array();
    for (const JobStatus& job : jobs) rows.push_back(ToJson(job));
    for (const WorkerStatus& w : top.workers) workers.push_back(ToJson(w));
    const Json shown =
        Object({{"jobs", std::move(rows)}, {"ended", top.jobs.size() - jobs.size()}, {"workers", std::move(workers)}});
    return DumpJson(form == OutputForm::kJson ? Object({{"version", 1}, {"top", shown}}) : shown);
  }
  uint32_t live = 0, slots = 0, busy = 0, running = 0;
  for (const WorkerStatus& w : top.workers) {
    live += w.state == "live";
    slots += w.slots;
    busy += w.busy;
  }
  for (const JobStatus& job : jobs) running += TasksOf(job).running > 0;
  const auto n = [](uint64_t value) { return std::to_string(value); };
  std::string text = n(live) + " of " + n(top.workers.size()) + (top.workers.size() == 1 ? " worker" : " workers") +
                     " live, " + n(busy) + " of " + n(slots) + (slots == 1 ? " slot" : " slots") + " busy; " +
                     n(jobs.size()) + (jobs.size() == 1 ? " job, " : " jobs, ") + n(running) +
                     " with tasks that run; " + n(top.jobs.size() - jobs.size()) + " ended\nmaster " +
                     top.master.version + " at " + Or(top.master.address, "-") + ", " +
                     ShortPolicies(top.master.policies) + "\n\n";
  for (JobStatus& job : EndedJobs(top.jobs, kEndedShown)) jobs.push_back(std::move(job));
  return text + TopJobs(jobs) + DeadlineLines(jobs) + WaitLines(jobs) + "\n" +
         RenderWorkers(top.workers, OutputForm::kTable);
}

std::string CutTo(const std::string& text, size_t rows, size_t columns) {
  std::string cut;
  size_t at = 0;
  for (size_t row = 0; row < rows && at < text.size(); ++row) {
    const size_t end = std::min(text.find('\n', at), text.size());
    cut += CutToColumns(std::string_view(text).substr(at, end - at), columns) + "\n";
    at = end + 1;
  }
  return cut;
}

std::string RenderConfig(const Settings& settings, bool show_origin) {
  if (settings.form != OutputForm::kTable) {
    std::vector<Json> rows;
    for (const ShownSetting& s : settings.shown)
      rows.push_back(Object({{"id", s.key}, {"value", s.value}, {"origin", s.origin}}));
    if (settings.form == OutputForm::kNdjson) return ListDocument("settings", rows, settings.form);
    Json context = nullptr;
    if (!settings.context.empty()) context = Object({{"id", settings.context}, {"origin", settings.context_origin}});
    return DumpJson(Object({{"version", 1}, {"context", context}, {"settings", rows}, {"files", settings.files}}));
  }
  std::vector<std::string> heading = {"KEY", "VALUE"};
  if (show_origin) heading.push_back("ORIGIN");
  Table table(heading);
  const auto add = [&](const std::string& key, const std::string& value, const std::string& origin) {
    std::vector<std::string> row = {key, Or(value, "-")};
    if (show_origin) row.push_back(Or(origin, "-"));
    table.Add(std::move(row));
  };
  add("context", settings.context, settings.context_origin);
  for (const ShownSetting& s : settings.shown) add(s.key, s.value, s.origin);
  return table.Text();
}

bool LittleLeft(uint64_t free, uint64_t total) { return total != 0 && free <= total / 10; }

std::string RenderSafeMode(const JournalStatus& journal, OutputForm form) {
  const bool on = journal.lost || journal.awaits_workers;
  const std::string text = journal.lost ? journal.text
                           : journal.awaits_workers
                               ? "the master has just started and waits for workers to report their "
                                 "blocks; nothing is copied or deleted until then"
                               : journal.text;
  if (form != OutputForm::kTable) {
    Json loss = nullptr;
    if (journal.lost_epoch != 0) {
      loss = Object({{"accepted", !journal.lost},
                     {"epoch", journal.lost_epoch},
                     {"record", journal.lost_sequence},
                     {"kept", journal.kept},
                     {"found_by", journal.found_by},
                     {"found_unix_ms", journal.found_unix_ms}});
    }
    const Json shown = Object({{"on", on}, {"text", text}, {"loss", loss}});
    return DumpJson(form == OutputForm::kJson ? Object({{"version", 1}, {"safemode", shown}}) : shown);
  }
  return std::string("safe mode is ") + (on ? "on" : "off") + (text.empty() ? "" : ": " + text) + "\n";
}

namespace {

Json BundleToJson(const BundleShown& bundle) {
  std::vector<Json> entries, missing;
  for (const auto& [name, bytes] : bundle.entries) entries.push_back(Object({{"id", name}, {"bytes", bytes}}));
  for (const auto& [name, why] : bundle.missing) missing.push_back(Object({{"id", name}, {"why", why}}));
  return Object({{"id", bundle.file}, {"bytes", bundle.bytes}, {"entries", entries}, {"missing", missing}});
}

std::string BundleText(const BundleShown& bundle) {
  std::string text = "\n" + bundle.file + ": " + HumanBytes(bundle.bytes) + ", which only you may read. In it:\n";
  for (const auto& [name, bytes] : bundle.entries) text += "  " + name + " (" + HumanBytes(bytes) + ")\n";
  if (!bundle.missing.empty()) text += "Not in it:\n";
  for (const auto& [name, why] : bundle.missing) text += "  " + name + ": " + why + "\n";
  return text +
         "What looks like a secret is redacted. Logs of attempts may hold data: look through it before you send it.\n";
}

}  // namespace

Check NotShown(const std::string& id) {
  return {id, Verdict::kWarn,
          "not checked: it needs the role viewer, operator or admin, and your token has none of them",
          "run mrctl doctor with a token of a viewer (MR_TOKEN_FILE), or ask somebody who has one"};
}

std::string UpTo(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 5;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kNamed ? " and " + std::to_string(names.size() - kNamed) + " more" : "");
}

std::string UnreadableNext(const std::vector<WorkerStatus>& workers, bool missing, const std::string& path,
                           const std::string& prefix) {
  const std::string give_up = prefix + "fs rm " + (path.empty() ? "PATH" : path) + ", and write it again";
  if (!missing) return "give such a file up: " + give_up;
  std::vector<std::string> absent, excluded;
  for (const WorkerStatus& w : workers) {
    if (w.state == "lost" || w.state == "away" || w.state == "stopped") absent.push_back(w.id);
    if (w.state == "excluded") excluded.push_back(w.id);
  }
  std::string text;
  if (!absent.empty()) text = "start " + UpTo(absent) + " again with the same --data, where the blocks may be";
  if (!excluded.empty()) text += (text.empty() ? "" : "; ") + prefix + "worker include " + excluded[0];
  if (text.empty()) text = "if the --data of a worker that was removed is still there, start a worker with it";
  return text + "; or give such a file up: " + give_up;
}

Check WorkersCheck(const std::vector<WorkerStatus>& workers, const std::string& prefix, const std::string& master) {
  std::vector<std::string> live, draining, excluded, distrusted, stalled, unfit, full, stopped, gone;
  std::string first_draining, first_safe;  // of those that drain
  const auto verdict = [](Verdict v, const std::string& text, const std::string& next = "") {
    return Check{"workers", v, text, next};
  };
  for (const WorkerStatus& w : workers) {
    auto& those = w.state == "live"         ? live
                  : w.state == "draining"   ? draining
                  : w.state == "excluded"   ? excluded
                  : w.state == "distrusted" ? distrusted
                  : w.state == "stalled"    ? stalled
                  : w.state == "unfit"      ? unfit
                  : w.state == "full"       ? full
                  : w.state == "stopped"    ? stopped
                                            : gone;
    those.push_back(w.safe_to_stop ? w.id + " (safe to stop)" : w.id);
    if (w.state == "draining" && first_draining.empty()) first_draining = w.id;
    if (w.state == "draining" && w.safe_to_stop && first_safe.empty()) first_safe = w.id;
  }
  if (live.empty() && !full.empty() && full.size() + gone.size() + stopped.size() == workers.size()) {
    return verdict(Verdict::kFail,
                   "none of " + std::to_string(workers.size()) +
                       " can take blocks or attempts: no space on the disks of " + UpTo(full),
                   "remove files that are not needed (" + prefix + "fs du /), or add workers");
  }
  if (live.empty()) {
    return verdict(Verdict::kFail, "none of " + std::to_string(workers.size()) + " is live: no task can run",
                   !distrusted.empty()
                       ? "test the memory of its host; then " + prefix + "worker undrain " + distrusted[0]
                   : !draining.empty() ? prefix + "worker undrain " + first_draining
                   : !unfit.empty()    ? prefix + "why " + unfit[0] + " shows where attempts cannot write"
                   : !excluded.empty() ? prefix + "worker include " + excluded[0]
                                       : "start one: mrworker --master " + master + " --data DIRECTORY");
  }
  std::string text = std::to_string(live.size()) + " live";
  if (!draining.empty()) text += ", draining: " + UpTo(draining);
  if (!excluded.empty()) text += ", excluded: " + UpTo(excluded);
  if (!stalled.empty()) text += ", stalled (no new attempts until they make progress): " + UpTo(stalled);
  if (!unfit.empty()) text += ", unfit (attempts cannot write there; no new attempts): " + UpTo(unfit);
  if (!full.empty()) text += ", full (neither blocks nor attempts): " + UpTo(full);
  if (!stopped.empty()) text += ", stopped after a drain: " + UpTo(stopped);
  if (!gone.empty()) text += ", lost or away: " + UpTo(gone);
  if (live.size() + distrusted.size() + stopped.size() == workers.size()) return verdict(Verdict::kOk, text);
  return verdict(Verdict::kWarn, text,
                 !gone.empty()      ? "read the log of " + gone[0] + " on its host, or start it again with its --data"
                 : !stalled.empty() ? "check load, disk and log of " + stalled[0] + " on its host"
                 : !unfit.empty()   ? prefix + "why " + unfit[0] + " shows where attempts cannot write; check its disk"
                 : !full.empty()    ? "remove files that are not needed from the disk of " + full[0] + " (" + prefix +
                                       "why " + full[0] + " shows the free space)"
                 : !first_safe.empty() ? "stop " + first_safe + " on its host, as it is drained; or " + prefix +
                                             "worker undrain " + first_safe + " to let it work again"
                 : !draining.empty() ? prefix + "worker show " + first_draining + " shows what it waits for; " +
                                           prefix + "worker undrain " + first_draining + " to let it work again"
                                     : prefix + "worker include " + excluded[0] + " when it is repaired");
}

std::string RenderChecks(const std::vector<Check>& checks, OutputForm form, const BundleShown* bundle) {
  if (form != OutputForm::kTable) {
    std::vector<Json> rows;
    rows.reserve(checks.size());
    for (const Check& c : checks) {
      rows.push_back(Object({{"id", c.id}, {"verdict", VerdictWord(c.verdict)}, {"text", c.text}, {"next", c.next}}));
    }
    if (bundle != nullptr && form == OutputForm::kJson) {
      return DumpJson(Object({{"version", 1}, {"checks", rows}, {"bundle", BundleToJson(*bundle)}}));
    }
    return ListDocument("checks", rows, form);
  }
  std::string text;
  for (const Check& c : checks) {
    std::string verdict = VerdictWord(c.verdict), id = c.id;
    verdict.resize(6, ' ');
    id.resize(std::max<size_t>(id.size() + 1, 12), ' ');
    text += verdict + id + c.text + "\n";
    if (!c.next.empty()) text += std::string(18, ' ') + "next: " + c.next + "\n";
  }
  return bundle == nullptr ? text : text + BundleText(*bundle);
}

}  // namespace mr::ctl
