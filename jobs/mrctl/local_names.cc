#include "jobs/mrctl/local_names.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "jobs/mrctl/local_runs.h"

namespace mr::ctl {
namespace {

constexpr std::string_view kJobBegin = "job_", kTaskBegin = "task_", kAttemptBegin = "attempt_";

constexpr std::string_view kLogCommand = " (its log: mrctl ";

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Replaces `name` by `local`. whole: only where no letter, digit or _ follows it. Cost: linear.
void ReplaceName(std::string* text, const std::string& name, const std::string& local, bool whole) {
  std::string out;
  size_t copied = 0;
  for (size_t at = text->find(name); at != std::string::npos; at = text->find(name, at)) {
    const size_t end = at + name.size();
    const bool begins = at == 0 || !IsOfName((*text)[at - 1]);
    if (begins && (!whole || end == text->size() || !IsOfName((*text)[end]))) {
      out.append(*text, copied, at - copied).append(local);
      copied = end;
    }
    at = end;
  }
  if (copied == 0) return;
  out.append(*text, copied);
  *text = std::move(out);
}

}  // namespace

std::string WithLocalNames(std::string_view text, JobId job, std::string_view local) {
  std::string out(text);
  if (local.empty()) return out;
  const std::string name = Name(job), number = name.substr(kJobBegin.size());
  ReplaceName(&out, name, std::string(local), true);
  for (const std::string_view begin : {kTaskBegin, kAttemptBegin}) {
    ReplaceName(&out, std::string(begin) + number + "_", std::string(begin) + std::string(local) + "_", false);
  }
  return out;
}

void UseLocalNames(JobStatus* job, const std::string& local) {
  if (local.empty()) return;
  job->local_id = local;
  const auto rename = [&](std::string* text) { *text = WithLocalNames(*text, job->id, local); };
  rename(&job->error);
  rename(&job->last_failure);
  for (auto* texts : {&job->warnings, &job->hung, &job->waits}) {
    for (std::string& text : *texts) rename(&text);
  }
  for (SkewStatus& skew : job->skew) rename(&skew.text);
}

void UseLocalNames(std::vector<TaskStatus>* tasks, JobId job, const std::string& local) {
  for (TaskStatus& task : *tasks) task.id = WithLocalNames(task.id, job, local);
}

void UseLocalNames(std::vector<AttemptStatus>* attempts, JobId job, const std::string& local) {
  for (AttemptStatus& attempt : *attempts) {
    for (std::string* text : {&attempt.id, &attempt.message, &attempt.reason}) {
      *text = WithLocalNames(*text, job, local);
    }
  }
}

std::string WithoutLogCommand(std::string text) {
  const size_t at = text.find(kLogCommand);
  const size_t end = text.find(')', std::min(at, text.size()));
  return end == std::string::npos ? text : text.erase(at, end + 1 - at);
}

std::string LocalPart::NameIn(JobId job) const {
  return std::string(attempt ? kAttemptBegin : kTaskBegin) + Name(job).substr(kJobBegin.size()) + rest;
}

std::optional<LocalPart> ParseLocalPart(std::string_view text) {
  LocalPart part;
  part.attempt = text.starts_with(kAttemptBegin);
  if (!part.attempt && !text.starts_with(kTaskBegin)) return std::nullopt;
  text.remove_prefix(part.attempt ? kAttemptBegin.size() : kTaskBegin.size());
  const size_t number = text.find('_');
  if (number == std::string_view::npos) return std::nullopt;
  const size_t end = text.find('_', number + 1);
  if (end == std::string_view::npos) return std::nullopt;
  const auto run = ParseLocalId(text.substr(0, end));
  if (!run) return std::nullopt;
  part.run = *run;
  part.rest = text.substr(end);
  // The attempt's name, or that of the task's first one.
  if (!ParseAttemptId(part.attempt ? part.NameIn({1, 1}) : LocalPart{*run, true, part.rest + "_1"}.NameIn({1, 1}))) {
    return std::nullopt;
  }
  return part;
}

}  // namespace mr::ctl
