#include "worker/daemon/housekeeping.h"

#include <glog/logging.h>

#include <set>

#include "common/io/attempt_log.h"
#include "common/io/clock.h"

namespace mr::worker {
namespace {

// Covers an attempt that starts after the running ones were listed and before the directory is read (guess). A longer
// grace would let the logs of short attempts fill the disk.
constexpr Duration kLogGrace = Seconds(5);

struct Trimmed {
  size_t removed = 0;
  uint64_t left_bytes = 0;
  std::set<JobId> with_logs;
};

int64_t NowMs() { return static_cast<int64_t>(WallClockMs()); }

}  // namespace

Housekeeping::Housekeeping(rpc::KjThread& loop, PostToPool post, Worker& worker, LibraryCache& cache, LogOwners& owners,
                           Options options)
    : loop_(loop),
      post_(std::move(post)),
      worker_(worker),
      cache_(cache),
      owners_(owners),
      options_(std::move(options)),
      running_(Run().eagerlyEvaluate([](kj::Exception&& e) {
        LOG(ERROR) << "logs and libraries are no longer trimmed: " << e.getDescription().cStr();
      })) {}

kj::Promise<void> Housekeeping::Run() {
  return TrimLogs()
      .then([this] { return TrimLibraries(); })
      .then([this] { return loop_.timer().afterDelay(options_.period.ns * kj::NANOSECONDS); })
      .then([this] { return Run(); });
}

kj::Promise<void> Housekeeping::TrimLogs() {
  std::set<std::string> running;
  for (const AttemptId& id : worker_.Running()) {
    for (const TaskLetter letter : {TaskLetter::kMap, TaskLetter::kReduce}) running.insert(Name(id, letter));
  }
  std::set<JobId> before;
  for (const auto& [job, owner] : owners_.all()) before.insert(job);
  return OnPool(post_,
                [directory = options_.log, limits = options_.logs, owner_bytes = options_.owner_log_bytes,
                 owners = owners_.all(), running] {
                  const auto in_use = [&running](const std::string& name) { return running.contains(name); };
                  const auto owner_of = [&owners](const std::string& name) {
                    bool failed = false;
                    const auto attempt = AttemptOfLog(name, &failed);
                    const auto it = attempt ? owners.find(attempt->task.job) : owners.end();
                    return it == owners.end() ? std::string() : it->second;
                  };
                  Trimmed trimmed;
                  const std::vector<StoredFile> files = StoredFiles(directory);
                  for (const StoredFile& file : files) {
                    trimmed.left_bytes += file.bytes;
                    bool failed = false;
                    if (const auto attempt = AttemptOfLog(file.name, &failed))
                      trimmed.with_logs.insert(attempt->task.job);
                  }
                  for (const StoredFile& file :
                       SurplusLogs(files, limits, NowMs(), in_use, kLogGrace, {owner_bytes, owner_of})) {
                    if (!RemoveStored(directory, file)) continue;
                    ++trimmed.removed;
                    trimmed.left_bytes -= file.bytes;
                  }
                  return trimmed;
                })
      .then([this, before](const Trimmed& trimmed) {
        log_bytes_ = trimmed.left_bytes;
        LOG_IF(INFO, trimmed.removed > 0) << "removed " << trimmed.removed << " old logs of attempts";
        // A job that became known meanwhile may have its first log after the directory was read.
        std::set<JobId> forgotten;
        const std::set<JobId> jobs = worker_.Jobs();
        for (const JobId job : before) {
          if (!trimmed.with_logs.contains(job) && !jobs.contains(job)) forgotten.insert(job);
        }
        owners_.Forget(forgotten);
      });
}

kj::Promise<void> Housekeeping::TrimLibraries() {
  return OnPool(post_,
                [directory = options_.lib, limits = options_.libraries, used = worker_.FilesInUse()] {
                  const auto in_use = [&used](const std::string& name) { return used.contains(name.substr(0, 64)); };
                  std::vector<StoredFile> files = StoredFiles(directory);
                  uint64_t bytes = 0;
                  for (const StoredFile& file : files) bytes += file.bytes;
                  return std::pair(bytes, Surplus(std::move(files), limits, NowMs(), in_use));
                })
      .then([this](std::pair<uint64_t, Files> found) {
        library_bytes_ = found.first;
        return RemoveLibraries(std::move(found.second), 0);
      });
}

kj::Promise<void> Housekeeping::RemoveLibraries(Files surplus, size_t next) {
  if (next == surplus.size()) return kj::READY_NOW;
  const std::string sha256 = surplus[next].name.substr(0, 64);
  kj::Promise<void> removed = kj::READY_NOW;
  if (!worker_.FilesInUse().contains(sha256)) {  // a job may have named it meanwhile
    LOG(INFO) << "the operator library or side file " << sha256.substr(0, 12)
              << " is removed: no unfinished job names it";
    library_bytes_ -= surplus[next].bytes;
    removed = cache_.Remove(sha256,
                            [directory = options_.lib, file = surplus[next]] { (void)RemoveStored(directory, file); });
  }
  return removed.then(
      [this, surplus = std::move(surplus), next]() mutable { return RemoveLibraries(std::move(surplus), next + 1); });
}

}  // namespace mr::worker
