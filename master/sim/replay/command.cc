#include "master/sim/replay/command.h"

#include <sys/stat.h>

#include <cstdio>

#include "common/io/files.h"
#include "common/io/target_file.h"
#include "master/sim/replay/compare_history.h"
#include "master/sim/replay/replay.h"
#include "master/sim/replay/whatif.h"
#include "master/sim/swarm/describe.h"

namespace mr::sim {

namespace {

constexpr size_t kMostInput = size_t{1} << 30;  // bytes; a guess: a history of some million attempts

Result<std::string> ReadInput() {
  std::string text;
  char piece[65536];
  while (true) {
    const ssize_t n = read(0, piece, sizeof piece);
    if (n < 0) return ErrnoStatus(errno, "cannot read standard input");
    if (n == 0) return text;
    text.append(piece, static_cast<size_t>(n));
    if (text.size() > kMostInput) return InvalidArgument("standard input: more than 1 GiB");
  }
}

bool IsFile(const std::string& path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode);
}

// Returns whether the event or decision names this attempt, as its subject or its reader. Progress reports do not
// count.
template <class Variant>
bool IsAbout(const Variant& any, const AttemptId& id) {
  return std::visit(
      [&id](const auto& x) {
        if constexpr (requires { x.attempt.task; }) {
          return x.attempt == id;
        } else if constexpr (requires { x.reader; }) {
          return x.reader == id;
        } else {
          return false;
        }
      },
      any);
}

// Follows one attempt through a journal.
class Follower {
 public:
  explicit Follower(const AttemptId& id) : id_(id) {}

  // Takes a step, and the state after it.
  void On(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions, const sched::State& state) {
    char time[32];
    std::snprintf(time, sizeof time, "%.3f s  ", static_cast<double>(event.at.ns) / 1e9);
    const sched::Attempt* attempt = state.FindAttempt(id_);
    const bool held = held_.value_or(attempt != nullptr && attempt->ended_at == event.at);
    held_ = attempt != nullptr && attempt->holds_slot();
    if (IsAbout(event.event, id_)) {
      lines_ += time + Describe(event.event) + "\n";
    } else if (held && !*held_) {  // the loss of a worker names no attempt
      lines_ += time + ("ended by " + Describe(event.event)) + "\n";
    }
    for (const sched::Decision& decision : decisions) {
      if (!IsAbout(decision, id_)) continue;
      lines_ += time + Describe(decision) + " after " + EventName(event.event) + "\n";
    }
  }
  // A line for each event and decision that names the attempt, and for the event that ended it.
  const std::string& lines() const { return lines_; }

 private:
  const AttemptId id_;
  std::optional<bool> held_;  // it held a slot after the last step; nullopt before the first one
  std::string lines_;
};

bool IsHistory(const std::string& source) { return source == "-" || IsFile(source); }

// Reads a journal's history, or a file of histories. *replayed: the result of the journal's replay. follower: takes the
// journal's steps.
Result<std::vector<history::Document>> LoadHistory(const std::string& source, std::optional<Replayed>* replayed,
                                                   std::optional<Follower>* follower) {
  if (IsHistory(source)) {
    MR_ASSIGN_OR_RETURN(const std::string text, source == "-" ? ReadInput() : ReadFile(source));
    return history::ReadAll(text, source == "-" ? "standard input" : source);
  }
  HistoryCollector collector;
  MR_ASSIGN_OR_RETURN(*replayed,
                      ReplayJournal(source, [&](const auto& event, const auto& decisions, const auto& scheduler) {
                        collector.On(event, decisions, scheduler);
                        if (*follower) (*follower)->On(event, decisions, scheduler.state());
                      }));
  std::vector<history::Document> one;
  one.push_back(collector.Take());
  return one;
}

// Returns whether the replay came out as it was recorded, up to a torn end.
bool IsWhole(const Replayed& replayed) {
  return replayed.verdict == Verdict::kEqual || replayed.verdict == Verdict::kTorn;
}

// Prints what was followed. If that is nothing, first prints the verdict if it may be the cause. Errors: kNotFound.
Status PrintFollowed(const ReplayCommand& c, const Replayed& replayed, const std::string& lines) {
  if (!lines.empty()) return WriteAll(1, lines);
  if (!IsWhole(replayed)) MR_RETURN_IF_ERROR(WriteAll(1, Table(replayed)));
  std::string text = c.journal + ": no event or decision names " + c.attempt;
  if (!IsWhole(replayed)) {
    text += " before the place where the replay ended";
  } else if (replayed.snapshot > 0) {
    text += " after the oldest snapshot, at record " + std::to_string(replayed.snapshot) +
            "; the journal no longer has earlier events";
  }
  return NotFound(text);
}

}  // namespace

Status CheckWritable(const std::string& option, const std::string& path) {
  const Status status = CheckTarget(path);
  if (status.ok()) return Status::Ok();
  return InvalidArgument(option + ": " + status.message() + "; name a file that can be written (nothing has been run)");
}

Result<int> RunReplay(const ReplayCommand& c) {
  std::optional<JobId> job;
  if (!c.job.empty()) {
    job = ParseJobId(c.job);
    if (!job) return InvalidArgument("'" + c.job + "' is not a job id, as job_1_0001");
  }
  const std::optional<AttemptId> attempt = c.attempt.empty() ? std::nullopt : ParseAttemptId(c.attempt);
  if (!c.attempt.empty() && !attempt) {
    return InvalidArgument("'" + c.attempt + "' is not an attempt id, as attempt_1_0001_0_m_000003_1");
  }
  if (attempt && c.form == "json") return InvalidArgument("--attempt prints text only: leave out -o json");
  if (attempt && IsHistory(c.journal)) {
    return InvalidArgument(
        "--attempt needs a journal: a history has no events. Name a master's --data or a copy of it");
  }
  // Checked first: the journal may take minutes to read.
  if (!c.history_out.empty()) MR_RETURN_IF_ERROR(CheckWritable("--write-history", c.history_out));
  if (!c.model_out.empty()) MR_RETURN_IF_ERROR(CheckWritable("--write-model", c.model_out));
  std::vector<Question> questions;
  for (const std::string& text : c.compare) {
    MR_ASSIGN_OR_RETURN(Question question, ParseQuestion(text));
    questions.push_back(std::move(question));
  }
  if (!c.change.scheduler.empty()) MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(c.change.scheduler));
  std::optional<Replayed> replayed;
  std::optional<Follower> follower;
  if (attempt) follower.emplace(*attempt);
  MR_ASSIGN_OR_RETURN(const std::vector<history::Document> documents, LoadHistory(c.journal, &replayed, &follower));
  if (documents.size() > 1 && questions.empty()) {
    return InvalidArgument(c.journal + " has several histories: only --compare takes them");
  }
  const history::Document& document = documents.front();
  if (follower) MR_RETURN_IF_ERROR(PrintFollowed(c, *replayed, follower->lines()));
  if (!c.wants_change() && c.history_out.empty() && c.model_out.empty() && replayed) {
    MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(*replayed) : Table(*replayed)));
    return ExitOf(replayed->verdict);
  }
  // A history holds recorded decisions. If this build decides otherwise, a replay cannot reconstruct them.
  if (replayed && !IsWhole(*replayed)) {
    return Rejected("the journal's replay is not equal (" + std::string(Word(replayed->verdict)) +
                    "), so what happened is not known: mrsim replay " + c.journal + " shows the place");
  }
  if (!c.history_out.empty()) {
    MR_RETURN_IF_ERROR(WriteTarget(c.history_out, history::Write(document)).With("--write-history"));
  }
  if (!c.model_out.empty()) {
    MR_ASSIGN_OR_RETURN(const HistoryModel model, ModelOf(document, job));
    MR_RETURN_IF_ERROR(WriteTarget(c.model_out, CalibrationToml(model)).With("--write-model"));
  }
  if (!questions.empty()) {
    MR_ASSIGN_OR_RETURN(const Compared compared, CompareHistory(documents, job, questions));
    MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(compared) : Table(compared, c.all_jobs)));
    return 0;
  }
  const bool wrote = !c.history_out.empty() || !c.model_out.empty();
  if (wrote && c.change.scheduler.empty() && c.change.workers == 0 && c.change.slots == 0) return 0;
  MR_ASSIGN_OR_RETURN(const WhatIf whatif, RunWhatIf(document, job, c.change));
  MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(whatif) : Table(whatif)));
  return 0;
}

}  // namespace mr::sim
