#include <algorithm>
#include <cstdlib>

#include "common/base/text.h"
#include "tests/support/scenario.h"

namespace mr::sched {

namespace {

const char* StateName(JobState state) {
  switch (state) {
    case JobState::kRunning: return "running";
    case JobState::kSucceeded: return "succeeded";
    case JobState::kFailed: return "failed";
    case JobState::kKilled: return "killed";
  }
  return "?";
}

// Returns whether an `expect` line must name this decision. Others (accepts, dropped replicas, plans, timers) may be
// omitted.
bool MustBeExpected(const Decision& d) {
  return std::holds_alternative<Launch>(d) || std::holds_alternative<Kill>(d) || std::holds_alternative<TakeBack>(d) ||
         std::holds_alternative<Bind>(d) || std::holds_alternative<Refuse>(d) ||
         std::holds_alternative<ReplicateOutput>(d) || std::holds_alternative<CommitJob>(d) ||
         std::holds_alternative<FailJob>(d) || std::holds_alternative<MarkIndeterminate>(d) ||
         std::holds_alternative<SetShare>(d) || std::holds_alternative<Spare>(d);
}

}  // namespace

WorkerId Scenario::ParseWorker(const std::string& word) {
  const auto id = mr::ParseWorkerId(word);
  if (!id) Broken("'" + word + "' is no worker");
  return id.value_or(WorkerId{});
}

JobId Scenario::ParseJob(const std::string& word) {
  for (const auto& [id, name] : names_) {
    if (name == word) return id;
  }
  Broken("there is no job '" + word + "'");
  return {};
}

TaskId Scenario::ParseTask(const std::string& word) {
  const size_t first = word.find('/'), second = word.find('/', first + 1);
  if (second == std::string::npos) {
    Broken("'" + word + "' is no task; write job/stage/0");
    return {};
  }
  const JobId job = ParseJob(word.substr(0, first));
  const std::string stage = word.substr(first + 1, second - first - 1);
  const JobText& text = texts_[names_[job]];
  for (uint32_t s = 0; s < text.stages.size(); ++s) {
    if (text.stages[s].name != stage) continue;
    return {job, s, static_cast<uint32_t>(std::atoi(word.c_str() + second + 1))};
  }
  Broken("there is no stage '" + stage + "'");
  return {};
}

AttemptId Scenario::ParseAttempt(const std::string& word) {
  const size_t hash = word.find('#');
  AttemptId id{ParseTask(word.substr(0, hash)), 0};
  if (hash != std::string::npos) {
    id.number = static_cast<uint32_t>(std::atoi(word.c_str() + hash + 1));
  } else if (const Task* task = scheduler_.state().FindTask(id.task)) {
    if (!task->attempts.empty()) id.number = task->attempts.back().number;
  }
  return id;
}

std::string Scenario::Label(const TaskId& id) const {
  const auto name = names_.find(id.job);
  if (name == names_.end()) return Name(id.job);
  return name->second + "/" + texts_.at(name->second).stages[id.stage].name + "/" + std::to_string(id.task);
}

std::string Scenario::Text(const Decision& decision) const {
  const auto because = [](const Reason& r) { return std::string(" because=") + ReasonName(r.code); };
  if (const auto* d = std::get_if<Launch>(&decision)) {
    return "launch " + Label(d->attempt.task) + " " + Name(d->worker) + " number=" + std::to_string(d->attempt.number) +
           " generation=" + std::to_string(d->generation) + " cause=" + CauseName(d->cause) + because(d->reason);
  }
  const auto of = [&](const char* verb, const auto& d) {
    return verb + std::string(" ") + Label(d.attempt.task) + " " + Name(d.worker) +
           " number=" + std::to_string(d.attempt.number) + because(d.reason);
  };
  if (const auto* d = std::get_if<Kill>(&decision)) return of("kill", *d);
  if (const auto* d = std::get_if<TakeBack>(&decision)) return of("take_back", *d);
  if (const auto* d = std::get_if<Accept>(&decision)) return of("accept", *d);
  if (const auto* d = std::get_if<Refuse>(&decision)) return of("refuse", *d);
  if (const auto* d = std::get_if<DropReplica>(&decision)) {
    return "drop_copy " + Label(d->replica.output.task) + " " + Name(d->replica.worker) + because(d->reason);
  }
  if (const auto* d = std::get_if<ReplicateOutput>(&decision)) {
    return "replicate " + Label(d->from.output.task) + " " + Name(d->from.worker) + " " + Name(d->to) +
           because(d->reason);
  }
  const auto job = [&](JobId id) { return names_.count(id) ? names_.at(id) : Name(id); };
  if (const auto* d = std::get_if<PlanStage>(&decision)) {
    return "plan " + job(d->job) + " stage=" + std::to_string(d->stage) + because(d->reason);
  }
  if (const auto* d = std::get_if<CommitJob>(&decision)) return "commit " + job(d->job);
  if (const auto* d = std::get_if<FailJob>(&decision)) {
    return "fail " + job(d->job) + because(d->reason) + " killed=" + (d->killed ? "yes" : "no") + " (" + d->message +
           ")";
  }
  if (const auto* d = std::get_if<MarkIndeterminate>(&decision)) {
    return "mark_indeterminate " + Label(d->task) + because(d->reason);
  }
  if (const auto* d = std::get_if<Spare>(&decision)) return of("spare", *d);
  if (const auto* d = std::get_if<SetShare>(&decision)) {
    return "share " + job(d->job) + " slots=" + std::to_string(d->slots) + because(d->reason);
  }
  if (const auto* d = std::get_if<Bind>(&decision)) {
    return "bind " + Label(d->reader.task) + " " + Label(d->replica.output.task) + " " + Name(d->replica.worker) +
           " number=" + std::to_string(d->reader.number) + " own=" + (d->exclusive ? "yes" : "no") + because(d->reason);
  }
  if (const auto* d = std::get_if<WakeAt>(&decision)) return "wake " + d->policy;
  return "decision of kind " + std::to_string(decision.index());
}

// Returns whether an expectation matches: its words are the first words of the decision's text, and its k=v words are
// among the rest. `message~text` searches a failure's message (_ stands for a space).
bool Scenario::Matches(const Words& words, const Decision& decision) {
  const std::string text = Text(decision);
  const Words has = SplitWords(text);
  size_t position = 0;
  for (const std::string& word : words) {
    if (word.rfind("message~", 0) == 0) {
      std::string part = word.substr(8);
      std::string whole = text;
      std::replace(part.begin(), part.end(), '_', ' ');
      std::replace(whole.begin(), whole.end(), '_', ' ');
      if (whole.find(part) == std::string::npos) return false;
    } else if (word.find('=') != std::string::npos) {
      if (std::find(has.begin(), has.end(), word) == has.end()) return false;
    } else if (position >= has.size() || has[position++] != word) {
      return false;
    }
  }
  return true;
}

void Scenario::Expect(const std::string& text) {
  size_t begin = 0;
  while (begin <= text.size() && error_.empty()) {
    const size_t end = std::min(text.find(" ; ", begin), text.size());
    const Words words = SplitWords(text.substr(begin, end - begin));
    begin = end + 3;
    if (words.empty()) return Broken("an empty expectation");
    if (words[0] == "nothing") {
      NothingLeft();
      continue;
    }
    const auto it =
        std::find_if(decisions_.begin(), decisions_.end(), [&](const Decision& d) { return Matches(words, d); });
    if (it != decisions_.end()) {
      decisions_.erase(it);
      continue;
    }
    std::string all;
    for (const Decision& d : decisions_) all += "\n    " + Text(d);
    std::string wanted;
    for (const std::string& word : words) wanted += " " + word;
    Broken("expected" + wanted + ", but there is only:" + all);
  }
}

void Scenario::NothingLeft() {
  if (strict_) {
    for (const Decision& d : decisions_) {
      if (MustBeExpected(d)) return Broken("not expected: " + Text(d));
    }
  }
  decisions_.clear();
}

void Scenario::Ensure(const Words& w) {
  if (w.size() != 5 || w[3] != "=") return Broken("write: ensure WHAT SUBJECT = VALUE");
  const State& state = scheduler_.state();
  const std::string& what = w[1];
  const std::string& subject = w[2];
  std::string is;
  if (what == "job") {
    is = StateName(state.FindJob(ParseJob(subject))->state);
  } else if (what == "used") {
    is = std::to_string(state.FindWorker(ParseWorker(subject))->used_total());
  } else if (what == "refused") {
    is = std::to_string(state.FindWorker(ParseWorker(subject))->refused);
  } else if (what == "attempt") {
    is = state.Word(ParseAttempt(subject));
  } else if (what == "launches") {
    is = std::to_string(launches_[ParseTask(subject)]);
  } else if (what == "commits") {
    is = std::to_string(commits_[ParseTask(subject)]);
  } else if (const Task* task = state.FindTask(ParseTask(subject))) {
    if (what == "task") {
      is = task->state == TaskState::kPending   ? "pending"
           : task->state == TaskState::kRunning ? "running"
                                                : "committed";
    } else if (what == "failures") {
      is = std::to_string(task->failures);
    } else if (what == "generation") {
      is = std::to_string(task->generation);
    } else if (what == "copies") {
      is = std::to_string(task->replicas.size());
    }
  }
  if (is.empty()) return Broken("cannot ensure '" + what + "' of '" + subject + "'");
  if (is != w[4]) Broken(what + " " + subject + " is " + is + ", not " + w[4]);
}

}  // namespace mr::sched
