#include "worker/daemon/attempt_logs.h"

#include <glog/logging.h>

#include <algorithm>
#include <tuple>

#include "common/io/clock.h"
#include "common/model/report.h"

namespace mr::worker {
namespace {

// A reader waits for the next bytes of a log by looking at the file, like `tail -f`, but ten times as often (guess: it
// seems immediate to people, and a look costs microseconds).
constexpr Duration kLookPause = Millis(100);
// A client asks again after this time.
constexpr Duration kMostWait = Seconds(10);
// Logs that a leaving worker gives to the master, at most. A guess: 16 MiB, within a second.
constexpr size_t kMostGiven = 256;

}  // namespace

AttemptLogs::AttemptLogs(rpc::KjThread& loop, PostToPool post, Options options)
    : loop_(loop), post_(std::move(post)), options_(std::move(options)) {}

kj::Promise<Result<LogPiece>> AttemptLogs::Read(AttemptId attempt, uint64_t from, Duration wait) {
  return ReadUntil(attempt, from, Now() + std::min(wait, kMostWait));
}

kj::Promise<Result<LogPiece>> AttemptLogs::ReadUntil(AttemptId attempt, uint64_t from, Instant limit) {
  // Before the log is read: bytes that come in between are in the next answer.
  const bool runs = options_.runs(attempt);
  return OnPool(post_, [directory = options_.directory, attempt, from] { return ReadLog(directory, attempt, from); })
      .then([this, attempt, from, limit, runs](Result<LogPiece> piece) -> kj::Promise<Result<LogPiece>> {
        // A log is made with its first byte.
        if (!piece.ok() && piece.status().code() == Code::kNotFound && runs) piece = LogPiece{};
        if (!piece.ok()) return piece;
        piece->ended = !runs;
        if (!runs || !piece->text.empty() || Now() >= limit) return piece;
        return loop_.timer().afterDelay(kLookPause.ns * kj::NANOSECONDS).then([this, attempt, from, limit] {
          return ReadUntil(attempt, from, limit);
        });
      });
}

void AttemptLogs::Give() {
  if (giving_) return;
  giving_ = true;
  task_ = OnPool(post_, [directory = options_.directory] { return StoredFiles(directory); })
              .then([this](std::vector<StoredFile> files) {
                auto logs = std::make_shared<std::vector<Log>>();
                for (StoredFile& file : files) {
                  bool failed = false;
                  const auto attempt = AttemptOfLog(file.name, &failed);
                  const auto given = given_.find(file.name);
                  if (!attempt || options_.runs(*attempt)) continue;
                  if (given != given_.end() && given->second == file.modified_ms) continue;
                  logs->push_back({std::move(file), *attempt, failed});
                }
                std::sort(logs->begin(), logs->end(), [](const Log& a, const Log& b) {
                  return std::tuple(b.failed, b.file.modified_ms, b.file.name) <
                         std::tuple(a.failed, a.file.modified_ms, a.file.name);
                });
                if (logs->size() > kMostGiven) logs->resize(kMostGiven);
                return GiveNext(logs, 0);
              })
              .then([this] { giving_ = false; })
              .eagerlyEvaluate([this](kj::Exception&& e) {
                giving_ = false;
                LOG(WARNING) << "the master did not get the logs of attempts: " << e.getDescription().cStr();
              });
}

kj::Promise<void> AttemptLogs::GiveNext(const std::shared_ptr<std::vector<Log>>& logs, size_t next) {
  if (next == logs->size()) return kj::READY_NOW;
  const Log& log = (*logs)[next];
  const uint64_t from = log.file.bytes - std::min<uint64_t>(log.file.bytes, kKeptLogBytes);
  return OnPool(post_, [directory = options_.directory, attempt = log.attempt,
                        from] { return ReadLog(directory, attempt, from); })
      .then([this, logs, next](Result<LogPiece> piece) -> kj::Promise<Result<bool>> {
        const Log& log = (*logs)[next];
        if (!piece.ok()) return Result<bool>(true);  // it was removed meanwhile
        given_[log.file.name] = log.file.modified_ms;
        return options_.keep(log.attempt, piece->text.substr(0, kKeptLogBytes), log.file.bytes, log.failed);
      })
      .then([this, logs, next](Result<bool> known) -> kj::Promise<void> {
        if (!known.ok()) {
          given_.erase((*logs)[next].file.name);
          return kj::READY_NOW;  // without a session; the next call begins again
        }
        // Others of a job that the master has forgotten are of no use either.
        size_t further = next + 1;
        if (!*known) {
          const JobId job = (*logs)[next].attempt.task.job;
          const auto of_job = [job](const Log& log) { return log.attempt.task.job == job; };
          logs->erase(std::remove_if(logs->begin() + static_cast<ptrdiff_t>(further), logs->end(), of_job),
                      logs->end());
        }
        return GiveNext(logs, further);
      });
}

}  // namespace mr::worker
