#include "master/sim/replay/command.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "common/io/files.h"
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

// Returns whether the event or decision is about this attempt, as its subject or its reader.
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

// Appends a line for each event and decision of the step about this attempt.
void Follow(const AttemptId& id, const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions,
            std::string* lines) {
  char time[32];
  std::snprintf(time, sizeof time, "%.3f s  ", static_cast<double>(event.at.ns) / 1e9);
  if (IsAbout(event.event, id)) *lines += time + Describe(event.event) + "\n";
  for (const sched::Decision& decision : decisions) {
    if (!IsAbout(decision, id)) continue;
    *lines += time + Describe(decision) + " after " + EventName(event.event) + "\n";
  }
}

// Reads a journal's history, or a history file. *replayed: the result of the journal's replay. *followed: what Follow
// finds about this attempt in a journal.
Result<history::Document> LoadHistory(const std::string& source, const std::optional<AttemptId>& attempt,
                                      std::optional<Replayed>* replayed, std::string* followed) {
  if (source == "-" || IsFile(source)) {
    MR_ASSIGN_OR_RETURN(const std::string text, source == "-" ? ReadInput() : ReadFile(source));
    return history::Read(text, source == "-" ? "standard input" : source);
  }
  HistoryCollector collector;
  MR_ASSIGN_OR_RETURN(*replayed,
                      ReplayJournal(source, [&](const auto& event, const auto& decisions, const auto& scheduler) {
                        collector.On(event, decisions, scheduler);
                        if (attempt) Follow(*attempt, event, decisions, followed);
                      }));
  return collector.Take();
}

}  // namespace

Status CheckWritable(const std::string& option, const std::string& path) {
  Status status = Status::Ok();
  if (std::error_code ignored; std::filesystem::is_directory(path, ignored)) {
    status = InvalidArgument(path + " is a directory");
  } else {
    const std::string trial = path + ".tmp";  // as in WriteFileDurably
    const bool there = PathExists(trial);     // another program made it
    status = OpenFile(trial, there ? O_WRONLY : O_WRONLY | O_CREAT | O_EXCL).status();
    if (status.ok() && !there) (void)unlink(trial.c_str());
  }
  if (status.ok()) return status;
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
  // Checked first: the journal may take minutes to read.
  if (!c.history_out.empty()) MR_RETURN_IF_ERROR(CheckWritable("--write-history", c.history_out));
  if (!c.model_out.empty()) MR_RETURN_IF_ERROR(CheckWritable("--write-model", c.model_out));
  if (!c.change.scheduler.empty()) MR_RETURN_IF_ERROR(sched::Scheduler::CheckPolicies(c.change.scheduler));
  std::optional<Replayed> replayed;
  std::string followed;
  MR_ASSIGN_OR_RETURN(const history::Document document, LoadHistory(c.journal, attempt, &replayed, &followed));
  if (attempt && followed.empty()) return NotFound(c.journal + ": no event or decision names " + c.attempt);
  MR_RETURN_IF_ERROR(WriteAll(1, followed));
  if (!c.wants_change() && c.history_out.empty() && c.model_out.empty() && replayed) {
    MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(*replayed) : Table(*replayed)));
    return ExitOf(replayed->verdict);
  }
  // A history holds recorded decisions. If this build decides otherwise, a replay cannot reconstruct them.
  if (replayed && replayed->verdict != Verdict::kEqual && replayed->verdict != Verdict::kTorn) {
    return Rejected("the journal's replay is not equal (" + std::string(Word(replayed->verdict)) +
                    "), so what happened is not known: mrsim replay " + c.journal + " shows the place");
  }
  if (!c.history_out.empty()) {
    MR_RETURN_IF_ERROR(WriteFileDurably(c.history_out, history::Write(document)).With("--write-history"));
  }
  if (!c.model_out.empty()) {
    MR_ASSIGN_OR_RETURN(const HistoryModel model, ModelOf(document, job));
    MR_RETURN_IF_ERROR(WriteFileDurably(c.model_out, CalibrationToml(model)).With("--write-model"));
  }
  const bool wrote = !c.history_out.empty() || !c.model_out.empty();
  if (wrote && c.change.scheduler.empty() && c.change.workers == 0 && c.change.slots == 0) return 0;
  MR_ASSIGN_OR_RETURN(const WhatIf whatif, RunWhatIf(document, job, c.change));
  MR_RETURN_IF_ERROR(WriteAll(1, c.form == "json" ? Json(whatif) : Table(whatif)));
  return 0;
}

}  // namespace mr::sim
