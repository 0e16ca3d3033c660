#include "master/host/kept_logs.h"

#include <errno.h>
#include <fcntl.h>
#include <glog/logging.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/model/report.h"

namespace mr::master {
namespace {

// Logs that wait for a slow disk, at most; further ones are dropped (guess: 16 MiB).
constexpr int kMostWriting = 256;
// The first line of a file: how many bytes of the log come before the text.
constexpr std::string_view kSkippedHead = "skipped ";

std::string WithoutMark(const std::string& name) {
  return name.ends_with(kFailedLog) ? name.substr(0, name.size() - kFailedLog.size()) : name;
}

}  // namespace

Status LogFiles::Put(const std::string& name, const LogEnd& end) {
  const auto attempt = ParseAttemptId(name);
  if (!attempt) return InvalidArgument("'" + name + "' is no name of an attempt");
  const uint64_t cost = std::max<uint64_t>(end.text.size(), kFileBytes);
  {
    const std::lock_guard lock(mutex_);
    uint64_t& bytes = bytes_[attempt->task.job];
    if (bytes + cost > (end.failed ? kJobBytes : kJobBytes / 2)) return Status::Ok();
    bytes += cost;
  }
  const std::string path = directory_ + "/" + name + (end.failed ? std::string(kFailedLog) : "");
  // The same attempt is written by one thread at a time: a worker repeats a report only when it got no answer.
  const std::string part = path + ".part";
  MR_RETURN_IF_ERROR(MakeDirectories(directory_));
  {
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(part, O_WRONLY | O_CREAT | O_TRUNC, 0640));
    const uint64_t skipped = end.log_bytes - std::min<uint64_t>(end.log_bytes, end.text.size());
    const Status written = WriteAll(file.get(), std::string(kSkippedHead) + std::to_string(skipped) + "\n" + end.text);
    if (!written.ok()) {
      (void)::unlink(part.c_str());
      return written.With(part);
    }
  }
  if (::rename(part.c_str(), path.c_str()) != 0) return ErrnoStatus(errno, path);
  return Status::Ok();
}

Result<LogPiece> LogFiles::Get(AttemptId attempt, uint64_t from) const {
  const std::string path = FindLog(directory_, attempt);
  if (path.empty()) return NotFound("the master keeps no log of " + Name(attempt, TaskLetter::kMap));
  MR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
  const size_t line = text.find('\n');
  if (!text.starts_with(kSkippedHead) || line == std::string::npos) return Corrupted(path + " is not a kept log");
  LogPiece piece;
  piece.start = std::strtoull(text.c_str() + kSkippedHead.size(), nullptr, 10);
  piece.ended = true;
  piece.text = text.substr(line + 1);
  if (from == kLogEnd || from <= piece.start) return piece;
  const size_t read = std::min<uint64_t>(from - piece.start, piece.text.size());
  piece.text.erase(0, read);
  piece.start += read;
  return piece;
}

size_t LogFiles::Trim(const std::set<JobId>& jobs, const RetentionLimits& limits, int64_t now_ms) {
  std::vector<StoredFile> files = StoredFiles(directory_), known;
  std::map<JobId, uint64_t> bytes;
  size_t removed = 0;
  for (StoredFile& file : files) {
    file.bytes = std::max(file.bytes, kFileBytes);
    const auto attempt = ParseAttemptId(WithoutMark(file.name));
    // Names that are none of an attempt are unfinished writes of an earlier process, or of this moment.
    if (attempt && !jobs.contains(attempt->task.job)) {
      removed += RemoveStored(directory_, file);
      continue;
    }
    if (attempt) bytes[attempt->task.job] += file.bytes;
    known.push_back(std::move(file));
  }
  const auto none = [](const std::string&) { return false; };
  for (const StoredFile& file : SurplusLogs(std::move(known), limits, now_ms, none, {})) {
    removed += RemoveStored(directory_, file);
  }
  const std::lock_guard lock(mutex_);
  bytes_ = std::move(bytes);
  return removed;
}

KeptLogs::KeptLogs(const std::string& directory, const RetentionLimits& limits, const MasterCore& core,
                   Outlets& outlets)
    : limits_(limits),
      core_(core),
      outlets_(outlets),
      files_(std::make_shared<LogFiles>(directory + "/logs")),
      writing_(std::make_shared<std::atomic<int>>(0)) {}

bool KeptLogs::Keep(const AttemptId& attempt, WorkerId worker, LogEnd end) {
  const auto view = core_.attempts().Find(attempt);
  if (!view || view->worker != worker || !core_.jobs().Whole(attempt.task.job)) return false;
  if (end.text.empty()) return true;
  if (end.text.size() > kKeptLogBytes) end.text.erase(0, end.text.size() - kKeptLogBytes);
  if (*writing_ >= kMostWriting) {
    LOG_EVERY_N(WARNING, 100) << "the disk takes no logs of attempts at present; some are not kept";
    return true;
  }
  ++*writing_;
  outlets_.InPool([files = files_, writing = writing_, name = core_.jobs().NameOf(attempt), end = std::move(end)] {
    const Status put = files->Put(name, end);
    LOG_IF(WARNING, !put.ok()) << "the log of " << name << " is not kept: " << put.ToString();
    --*writing;
  });
  return true;
}

void KeptLogs::Read(const AttemptId& attempt, std::function<void(Result<LogPiece>)> done) const {
  outlets_.InPool([files = files_, attempt, done = std::move(done)] { done(files->Get(attempt, kLogEnd)); });
}

void KeptLogs::Trim() {
  std::set<JobId> jobs;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    if (!job.brief) jobs.insert(id);
  }
  outlets_.InPool([files = files_, limits = limits_, jobs = std::move(jobs)] {
    const size_t removed = files->Trim(jobs, limits, static_cast<int64_t>(WallClockMs()));
    LOG_IF(INFO, removed > 0) << removed << " kept logs of attempts are removed: their jobs are forgotten, or they are "
                              << "the oldest beyond --log_bytes and --log_age";
  });
}

}  // namespace mr::master
