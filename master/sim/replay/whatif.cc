#include "master/sim/replay/whatif.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>

#include "common/base/count.h"
#include "common/base/text.h"
#include "master/sched/named_lists.h"

namespace mr::sim {

namespace {

Spent SpentBy(const Totals& t) { return {t.useful, t.wasted, t.extra}; }

__attribute__((format(printf, 2, 3))) void Print(std::string* out, const char* format, ...) {
  char text[640];
  va_list args;
  va_start(args, format);
  std::vsnprintf(text, sizeof text, format, args);
  va_end(args);
  *out += text;
}

void JsonSpent(std::string* out, const char* name, const std::string& scheduler, uint32_t workers, uint32_t slots,
               const Spent& s) {
  Print(out, ",\"%s\":{\"scheduler\":\"", name);
  *out += JsonEscape(scheduler);
  Print(out, "\",\"workers\":%u,\"slots\":%u,\"useful_slot_s\":%.6f,\"wasted_slot_s\":%.6f,\"copies\":%llu}", workers,
        slots, s.useful, s.wasted, static_cast<unsigned long long>(s.extra));
}

// Returns each list with its begin, in seconds after the first submission.
// named: by its name where it has one.
std::string ListsText(const std::vector<Experiment::ListChange>& lists, bool named) {
  const auto list = [named](const std::string& policies) { return named ? sched::NameOrPolicies(policies) : policies; };
  std::string text = list(lists[0].policies);
  for (size_t i = 1; i < lists.size(); ++i) {
    Print(&text, ", from %.3f s on ", lists[i].at);
    text += list(lists[i].policies);
  }
  return text;
}

}  // namespace

Spent SpentOf(const std::vector<const history::Job*>& jobs) {
  Spent spent;
  for (const history::Job* job : jobs) {
    for (const auto& stage : job->stages) {
      for (const auto& task : stage.tasks) {
        for (const history::Attempt& a : task.attempts) {
          const double seconds = ((a.ended.ns > 0 ? a.ended : job->ended) - a.launched).seconds();
          (a.state == sched::AttemptState::kCommitted ? spent.useful : spent.wasted) += seconds;
          spent.extra += a.cause != Cause::kFirst && a.cause != Cause::kRetry;
        }
      }
    }
  }
  return spent;
}

Status CheckRecordedLists(const Experiment& as_it_was) {
  const auto check = [](const std::string& list) {
    const Status was = sched::Scheduler::CheckPolicies(list);
    return was.ok() ? was : Rejected("the history's own list '" + list + "' is none of this release: " + was.message());
  };
  MR_RETURN_IF_ERROR(check(as_it_was.policies));
  for (const Experiment::ListChange& list : as_it_was.list_changes) MR_RETURN_IF_ERROR(check(list.policies));
  return Status::Ok();
}

Result<WhatIf> RunWhatIf(const history::Document& document, std::optional<JobId> only, const Change& change) {
  if (!change.scheduler.empty()) MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(change.scheduler));
  MR_ASSIGN_OR_RETURN(HistoryModel model, ModelOf(document, only));
  std::vector<Experiment::ListChange> in_force = model.as_it_was.list_changes;
  in_force.insert(in_force.begin(), {0, model.as_it_was.policies});
  MR_RETURN_IF_ERROR(CheckRecordedLists(model.as_it_was));
  const Experiment changed = Changed(model.as_it_was, change);
  WhatIf out;
  out.notes = model.notes;
  if (model.without_record > 0) out.notes.push_back(WithoutRecordNote(model.without_record));
  out.was = in_force;
  out.was_scheduler = ListsText(in_force, false);
  out.then_scheduler = change.scheduler.empty() ? out.was_scheduler : changed.policies;
  out.was_workers = static_cast<uint32_t>(model.as_it_was.cluster.workers.size());
  out.then_workers = static_cast<uint32_t>(changed.cluster.workers.size());
  out.was_slots = model.as_it_was.cluster.slots();
  out.then_slots = changed.cluster.slots();
  out.happened = SpentOf(model.jobs);
  Simulation was(std::move(model.as_it_was));
  if (const std::string wrong = was.Run(nullptr); !wrong.empty()) {
    return Rejected("the model of the history does not come to an end: " + wrong);
  }
  Simulation then(changed);
  if (const std::string wrong = then.Run(nullptr); !wrong.empty()) {
    return Rejected("so changed, the jobs do not come to an end: " + wrong);
  }
  out.model = SpentBy(was.totals());
  out.then = SpentBy(then.totals());
  std::vector<double> errors;
  size_t failed = 0;
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    const history::Job& job = *model.jobs[j];
    failed += !was.jobs()[j].succeeded || !then.jobs()[j].succeeded;
    if (only && job.id != *only) continue;
    const auto took = [j](const Simulation& run) { return run.jobs()[j].ended - run.jobs()[j].submitted; };
    out.rows.push_back({document.run.empty() ? Name(job.id) : document.run, job.name, job.tasks(),
                        (job.ended - job.submitted).seconds(), took(was), took(then)});
    errors.push_back(std::abs(out.rows.back().error()));
  }
  if (failed > 0) {
    out.notes.push_back(
        CountOf(failed, "job failed in the simulation: its times", "jobs failed in the simulation: their times") +
        " mean nothing");
  }
  std::sort(errors.begin(), errors.end());
  out.median_error = errors[errors.size() / 2];
  out.worst_error = errors.back();
  return out;
}

std::string Table(const WhatIf& w) {
  std::string out;
  const std::string was = ListsText(w.was, true);
  const auto cluster = [&out](const char* name, uint32_t workers, uint32_t slots, const std::string& policies) {
    Print(&out, "%-9s%u worker%s, %u slot%s, policies ", name, workers, workers == 1 ? "" : "s", slots,
          slots == 1 ? "" : "s");
    out += policies + "\n";
  };
  cluster("was", w.was_workers, w.was_slots, was);
  cluster("what if", w.then_workers, w.then_slots,
          w.then_scheduler == w.was_scheduler ? was : sched::NameOrPolicies(w.then_scheduler));
  out += "\n";
  Print(&out, "%-14s %-16s %7s %11s %11s %8s %11s %8s\n", "JOB", "NAME", "TASKS", "HAPPENED s", "MODEL s", "ERROR",
        "WHAT IF s", "CHANGE");
  for (const WhatIf::Row& row : w.rows) {
    Print(&out, "%-14s %-16.16s %7u %11.3f %11.3f %+7.1f%% %11.3f ", row.id.c_str(), row.name.c_str(), row.tasks,
          row.happened, row.model, 100 * row.error(), row.then);
    if (row.significant())
      Print(&out, "%+7.1f%%\n", 100 * row.change());
    else
      out += row.too_short() ? "too short to tell\n" : "no difference above the error\n";
  }
  const auto spent = [&out](const char* name, const Spent& s) {
    Print(&out, "%-9s %12.1f %12.1f %8llu\n", name, s.useful, s.wasted, static_cast<unsigned long long>(s.extra));
  };
  Print(&out, "\n%-9s %12s %12s %8s   slot-seconds of all jobs of the model\n", "", "USEFUL", "WASTED", "EXTRA");
  spent("happened", w.happened);
  spent("model", w.model);
  spent("what if", w.then);
  Print(&out,
        "\nmodel's error: simulated as it was, a job's completion is off by %.1f %% (median), %.1f %% at most; a "
        "change\n"
        "smaller than that of its job, or than %.0f ms, says nothing. CHANGE compares the two simulations.\n",
        100 * w.median_error, 100 * w.worst_error, 1000 * kResolution);
  for (const std::string& note : w.notes) out += "note: " + note + "\n";
  return out;
}

std::string Json(const WhatIf& w) {
  std::string out = "{\"version\":1,\"jobs\":[";
  for (const WhatIf::Row& row : w.rows) {
    if (&row != &w.rows[0]) out += ",";
    out += "{\"id\":\"" + JsonEscape(row.id) + "\",\"name\":\"" + JsonEscape(row.name) + "\"";
    Print(&out,
          ",\"tasks\":%u,\"happened_s\":%.6f,\"model_s\":%.6f,\"error\":%.6f,\"whatif_s\":%.6f,\"change\":%.6f,"
          "\"tells\":%s}",
          row.tasks, row.happened, row.model, row.error(), row.then, row.change(),
          row.significant() ? "true" : "false");
  }
  out += "]";
  out += ",\"lists\":[";
  for (const Experiment::ListChange& list : w.was) {
    if (&list != &w.was[0]) out += ",";
    Print(&out, "{\"from_s\":%.6f", list.at);
    out += ",\"scheduler\":\"" + JsonEscape(list.policies) + "\"}";
  }
  out += "]";
  JsonSpent(&out, "happened", w.was_scheduler, w.was_workers, w.was_slots, w.happened);
  JsonSpent(&out, "model", w.was_scheduler, w.was_workers, w.was_slots, w.model);
  JsonSpent(&out, "whatif", w.then_scheduler, w.then_workers, w.then_slots, w.then);
  Print(&out, ",\"error_median\":%.6f,\"error_worst\":%.6f,\"notes\":[", w.median_error, w.worst_error);
  for (const std::string& note : w.notes) out += (&note == &w.notes[0] ? "\"" : ",\"") + JsonEscape(note) + "\"";
  return out + "]}\n";
}

}  // namespace mr::sim
