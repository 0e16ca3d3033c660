#include "master/core/failure_text.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>
#include <vector>

namespace mr::master {
namespace {

constexpr size_t kSummaryLines = 8;
constexpr size_t kMessageLines = 4;   // of the operator's own words: the first, and the last ones
constexpr size_t kMostColumns = 300;  // of a line that an operator wrote (a guess)

std::vector<std::string> LinesOf(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) lines.push_back(line.substr(0, kMostColumns));
  }
  return lines;
}

// Messages that differ only in numbers (offsets, pids) are alike.
std::string WithoutNumbers(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

using FailedAttempt = std::pair<const AttemptId, AttemptNote>;

// Returns the last attempt that failed, or null.
const FailedAttempt* LastFailed(const JobView& job) {
  const FailedAttempt* last = nullptr;
  for (const FailedAttempt& a : job.notes.attempts) {
    if (a.second.failed && (last == nullptr || a.second.sequence > last->second.sequence)) last = &a;
  }
  return last;
}

// Returns N of the scheduler's "failed N times"; 0: it is not there.
size_t TimesCharged(const std::string& message) {
  const std::string mark = "' failed ";
  const size_t at = message.find(mark);
  return at == std::string::npos ? 0 : strtoul(message.c_str() + at + mark.size(), nullptr, 10);
}

std::string AlikeText(const JobView& job, const FailedAttempt& failed, size_t charged) {
  const std::string said = WithoutNumbers(failed.second.message);
  std::set<uint32_t> tasks;
  size_t attempts = 0;
  for (const auto& [id, a] : job.notes.attempts) {
    const bool alike = id.task.stage == failed.first.task.stage && a.failed;
    if (!alike || WithoutNumbers(a.message) != said) continue;
    ++attempts;
    tasks.insert(id.task.task);
  }
  if (attempts < 2) return "";
  return std::to_string(attempts) + " attempts failed alike, of " + std::to_string(tasks.size()) +
         (tasks.size() == 1 ? " task" : " tasks") +
         (tasks.size() == 1 && charged > 0 && attempts > charged ? " (clones that fail beside it do not count)" : "");
}

// Whether the message says where in the input as well as `record` does: the latter is where a batch begins (its file,
// and ", byte N"), and the operator or the reader may have named the very line.
bool SaysWhere(const std::string& message, const std::string& record) {
  if (message.find(record) != std::string::npos) return true;
  const std::string mark = ", byte ";
  const size_t at = record.rfind(mark);
  if (at == std::string::npos) return false;
  const std::string file = record.substr(0, at);
  // The start of a file that the message names already adds nothing.
  return message.find(file + mark) != std::string::npos ||
         (record.substr(at) == mark + "0" && message.find(file) != std::string::npos);
}

// Returns advice that only an operator of the cluster can follow; "" where there is none.
std::string Advice(const std::string& message, const std::string& stderr_tail) {
  const auto says = [&message](const char* what) { return message.find(what) != std::string::npos; };
  if (says("Disk quota exceeded")) {
    return "the daemon's user has no quota left there: raise it or remove files, then submit the job again";
  }
  if (says("Too many open files")) {
    return "a process has as many files open as it may: raise the limit of its daemon (ulimit -n) or of tasks "
           "(mrworker --task_open_files), then submit the job again";
  }
  if (says("no free inodes")) {
    return "that file system has as many files as it may: remove some, then submit the job again";
  }
  const char* const denied = "Permission denied";
  if (says("operator ") && (says(denied) || stderr_tail.find(denied) != std::string::npos)) {
    return "rooms of tasks deny files that a job was not given (--files, $TMPDIR, mrworker --task_paths) and, without "
           "--allow-network, sockets: if that is the cause, change it, then submit the job again";
  }
  if (!says("No space left on device")) return "";
  return "that disk is full: make room on it (mrctl doctor, mrctl workers), then submit the job again";
}

// Returns whether a line of a stack is a call of the C or C++ library (worker/task/frames.cc writes it).
bool OfStandardLibrary(const std::string& line) {
  for (const char* place : {" at bits/", " at ext/", "(libc.so.", "(libstdc++.so.", "(libgcc_s.so.", "(libm.so."}) {
    if (line.find(place) != line.npos) return true;
  }
  const size_t number = line.find('#');
  if (number == line.npos) return false;
  std::string name = line.substr(number, line.find_first_of("(<", number) - number);
  return name.substr(name.rfind(' ') + 1).starts_with("std::");
}

// Shortens a stack to `room` lines. The calls of the C and C++ library between the innermost call and the operator's
// own code go first, so that this code is shown.
void ShortenStack(size_t room, std::vector<std::string>* lines) {
  const auto innermost =
      std::find_if(lines->begin(), lines->end(), [](const std::string& line) { return line.starts_with("  #"); });
  if (innermost != lines->end()) {
    const auto own = std::find_if_not(innermost, lines->end(), OfStandardLibrary);
    const auto calls = own - innermost,
               over = static_cast<std::ptrdiff_t>(lines->size()) - static_cast<std::ptrdiff_t>(room);
    if (own != lines->end() && calls > 1 && over > 0) lines->erase(own - std::min(calls - 1, over), own);
  }
  lines->resize(std::min(lines->size(), room));
}

// Returns whether memory ran out, in the words of the host, the SDK and the worker for the kernel's OOM killer.
bool OutOfMemory(const std::string& message) {
  return message.find("out of memory") != std::string::npos || message.find("memory ran out") != std::string::npos;
}

bool Reads(const JobView& job, const TaskId& task, const Skew& skew) {
  if (task.stage >= job.plan.stages.size() || task.task >= job.plan.stages[task.stage].slices.size()) return false;
  const std::vector<InputSpec>& inputs = job.spec.stages[task.stage].inputs;
  for (const Slice& slice : job.plan.stages[task.stage].slices[task.task]) {
    if (slice.input >= inputs.size()) continue;
    if (!inputs[slice.input].is_edge || inputs[slice.input].stage != skew.stage) continue;
    if (skew.key.partition >= slice.partition_begin && skew.key.partition < slice.partition_end) return true;
  }
  return false;
}

// Returns a line about the heaviest hot key that the task reads, where it ran out of memory; else "".
std::string SkewLine(const JobView& job, const FailedAttempt& failed) {
  const Skew* worst = nullptr;
  for (const Skew& skew : job.notes.skew) {
    if (Reads(job, failed.first.task, skew) && (worst == nullptr || skew.key.bytes > worst->key.bytes)) worst = &skew;
  }
  if (worst == nullptr || !OutOfMemory(failed.second.message)) return "";
  return "skew: " + SkewText(*worst, job.spec.stages[worst->stage].name) + ", and this task reads it";
}

}  // namespace

std::string FailureSummary(const JobView& job, const std::string& message, uint64_t others) {
  const FailedAttempt* failed = LastFailed(job);
  if (failed == nullptr || message.find(NameOf(failed->first, job)) == std::string::npos) return message;
  const AttemptNote& note = failed->second;
  std::vector<std::string> lines = LinesOf(message);
  if (lines.empty()) return message;
  // The scheduler's sentence is never cut.
  lines[0] = message.substr(0, message.find('\n'));
  if (lines.size() > kMessageLines) lines.erase(lines.begin() + 1, lines.end() - (kMessageLines - 1));
  if (!note.record.empty() && !SaysWhere(message, note.record)) lines.push_back("at " + note.record.str());
  if (others > 0) {
    lines.push_back("limit " + std::to_string(others) +
                    " for a task: the failure is not the operator's, so --max-attempts does not count it");
  }
  if (std::string advice = Advice(message, note.stderr_tail); !advice.empty()) lines.push_back(std::move(advice));
  if (std::string skew = SkewLine(job, *failed); !skew.empty()) lines.push_back(std::move(skew));
  if (std::string alike = AlikeText(job, *failed, TimesCharged(message)); !alike.empty())
    lines.push_back(std::move(alike));
  std::vector<std::string> tail = LinesOf(note.stderr_tail);
  // The log repeats the failure (worker/task/child.cc).
  std::erase_if(tail, [&](const std::string& line) {
    return message.find(line) != std::string::npos || line == "at " + note.record.str();
  });
  const size_t room = kSummaryLines - std::min(kSummaryLines, lines.size());
  // A stack begins with its innermost call, so its first lines say the most (worker/task/crash.cc).
  // Before it, std::terminate writes the exception.
  auto crash = std::find_if(tail.begin(), tail.end(),
                            [](const std::string& line) { return line.starts_with("the process died of SIG"); });
  const auto thrown =
      std::find_if(tail.begin(), crash, [](const auto& l) { return l.starts_with("terminate called "); });
  // An attempt without progress is asked for its stack (worker/host/running.cc); a command's own last word says more.
  const bool hung = crash != tail.end() && crash->starts_with("the process died of SIGQUIT");
  if (crash != tail.end()) crash = thrown;
  if (hung && crash != tail.begin()) --crash;
  if (crash != tail.end()) {
    tail.erase(tail.begin(), crash);
    ShortenStack(room, &tail);
  }
  if (tail.size() > room) tail.erase(tail.begin(), tail.end() - static_cast<std::ptrdiff_t>(room));
  for (const std::string& line : tail) lines.push_back("stderr: " + line);
  std::string text;
  for (const std::string& line : lines) text += (text.empty() ? "" : "\n") + line;
  return text;
}

std::string WithPlace(const AttemptNote& note) {
  const std::string& message = note.message;
  if (message.empty() || note.record.empty() || SaysWhere(message, note.record)) return message;
  const size_t end = std::min(message.find('\n'), message.size());
  return message.substr(0, end) + " (at " + note.record.str() + ")" + message.substr(end);
}

std::string GrownText(const std::string& uri) {
  return "input " + uri + " grew while the job ran: it was read to the length that it had when the job was planned " +
         "(--strict-inputs fails such a job)";
}

}  // namespace mr::master
