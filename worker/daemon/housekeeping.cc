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

}  // namespace
namespace {

int64_t NowMs() { return static_cast<int64_t>(WallClockMs()); }

}  // namespace

Housekeeping::Housekeeping(rpc::KjThread& loop, PostToPool post, Worker& worker, LibraryCache& cache, Options options)
    : loop_(loop),
      post_(std::move(post)),
      worker_(worker),
      cache_(cache),
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
  return OnPool(
             post_,
             [directory = options_.log, limits = options_.logs, running] {
               const auto in_use = [&running](const std::string& name) { return running.contains(name); };
               size_t removed = 0;
               for (const StoredFile& file : SurplusLogs(StoredFiles(directory), limits, NowMs(), in_use, kLogGrace)) {
                 removed += RemoveStored(directory, file);
               }
               return removed;
             })
      .then([](size_t removed) { LOG_IF(INFO, removed > 0) << "removed " << removed << " old logs of attempts"; });
}

kj::Promise<void> Housekeeping::TrimLibraries() {
  return OnPool(post_,
                [directory = options_.lib, limits = options_.libraries, used = worker_.FilesInUse()] {
                  const auto in_use = [&used](const std::string& name) { return used.contains(name.substr(0, 64)); };
                  return Surplus(StoredFiles(directory), limits, NowMs(), in_use);
                })
      .then([this](Files surplus) { return RemoveLibraries(std::move(surplus), 0); });
}

kj::Promise<void> Housekeeping::RemoveLibraries(Files surplus, size_t next) {
  if (next == surplus.size()) return kj::READY_NOW;
  const std::string sha256 = surplus[next].name.substr(0, 64);
  kj::Promise<void> removed = kj::READY_NOW;
  if (!worker_.FilesInUse().contains(sha256)) {  // a job may have named it meanwhile
    LOG(INFO) << "the operator library or side file " << sha256.substr(0, 12)
              << " is removed: no unfinished job names it";
    removed = cache_.Remove(sha256,
                            [directory = options_.lib, file = surplus[next]] { (void)RemoveStored(directory, file); });
  }
  return removed.then(
      [this, surplus = std::move(surplus), next]() mutable { return RemoveLibraries(std::move(surplus), next + 1); });
}

}  // namespace mr::worker
