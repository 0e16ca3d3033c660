#include "worker/host/log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/io/stack_lines.h"
#include "common/model/report.h"

namespace mr::worker {
namespace {

// Bytes that the tail has of what a process wrote before its crash: its last words, and an exception that nobody
// caught.
constexpr size_t kBeforeCrash = LogSink::kTailBytes / 4;

// Returns the log without samples of an operator that made no progress. They would take the room of its last words.
std::string WithoutSamples(std::string_view log) {
  std::string text;
  for (bool sample = false; !log.empty();) {
    const std::string_view line = log.substr(0, std::min(log.find('\n'), log.size() - 1) + 1);
    log.remove_prefix(line.size());
    const bool call = line.starts_with("  #") || line.starts_with("  ... ");
    const bool place = line.starts_with("at ") || line.starts_with("in the batch that begins at ");
    const bool skipped = line.starts_with(kStuckLine) || (sample && (call || place)) || line.starts_with(kProgressLine);
    sample = line.starts_with(kStuckLine) || (sample && call);
    if (!skipped) text += line;
  }
  return text;
}

// Returns where the tail of a log with a crash begins (worker/task/crash.h), or npos.
size_t CrashIn(std::string_view log) {
  const size_t at = log.rfind(kCrashLine);
  if (at == log.npos || (at > 0 && log[at - 1] != '\n')) return log.npos;
  if (at <= kBeforeCrash) return 0;
  return log.find('\n', at - kBeforeCrash - 1) + 1;
}

}  // namespace

void LogSink::Open(std::string path) {
  path_ = std::move(path);
  file_.reset();
  written_ = bytes_ = 0;
  full_ = false;
  end_.clear();
}

bool LogSink::Drain(int pipe) {
  char buffer[64 << 10];
  for (int i = 0; i < 64; ++i) {  // then others have their turn
    const ssize_t got = read(pipe, buffer, sizeof buffer);
    if (got > 0) {
      Write({buffer, static_cast<size_t>(got)});
    } else if (got == 0) {
      return false;
    } else if (errno != EINTR) {
      return true;
    }
  }
  return true;
}

void LogSink::EndLine() {
  if (!end_.empty() && end_.back() != '\n') Write("\n");
}

void LogSink::Note(std::string_view line) {
  EndLine();
  Write(line);
  Write("\n");
}

void LogSink::Write(std::string_view bytes) {
  bytes_ += bytes.size();
  end_.append(bytes.substr(bytes.size() - std::min(bytes.size(), kKeptLogBytes)));
  if (end_.size() > 2 * kKeptLogBytes) end_.erase(0, end_.size() - kKeptLogBytes);
  if (full_ || path_.empty()) return;
  if (!file_.valid()) {
    Result<UniqueFd> file = OpenFile(path_, O_WRONLY | O_CREAT | O_APPEND, 0644);
    if (!file.ok()) {
      full_ = true;  // a missing log does not fail a task
      return;
    }
    file_ = *std::move(file);
  }
  constexpr std::string_view kCut = "\n[log cut at 64 MiB]\n";
  const uint64_t room = kMaxLogBytes - kCut.size() - written_;
  full_ = bytes.size() > room;
  bytes = bytes.substr(0, room);
  if (!WriteAll(file_.get(), bytes).ok()) full_ = true;
  written_ += bytes.size();
  if (full_) (void)!WriteAll(file_.get(), kCut).ok();
}

std::string LogSink::End() const { return end_.substr(end_.size() - std::min(end_.size(), kKeptLogBytes)); }

std::string LogSink::Tail() const {
  const std::string log = end_.find(kStuckLine) == end_.npos ? end_ : WithoutSamples(end_);
  std::string_view tail = log;
  if (const size_t crash = CrashIn(tail); crash != tail.npos) {
    tail.remove_prefix(crash);
    if (tail.size() > kTailBytes) tail = tail.substr(0, tail.rfind('\n', kTailBytes) + 1);
    return std::string(tail.substr(0, kTailBytes));
  }
  tail.remove_prefix(tail.size() - std::min(tail.size(), kTailBytes));
  if (tail.size() == kTailBytes) {
    const size_t nl = tail.find('\n');
    if (nl != tail.npos && nl + 1 < tail.size()) tail.remove_prefix(nl + 1);
  }
  return std::string(tail);
}

}  // namespace mr::worker
