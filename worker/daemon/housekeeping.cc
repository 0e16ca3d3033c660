#include "worker/daemon/housekeeping.h"

#include <glog/logging.h>

#include <set>

#include "common/io/clock.h"

namespace mr::worker {
namespace {

using Files = std::vector<StoredFile>;

int64_t NowMs() { return static_cast<int64_t>(WallClockMs()); }

}  // namespace

Housekeeping::Housekeeping(rpc::KjThread& loop, PostToPool post, Worker& worker, LibraryCache& cache, Options options)
    : loop_(loop),
      post_(std::move(post)),
      worker_(worker),
      cache_(cache),
      options_(std::move(options)),
      running_(Run().eagerlyEvaluate([](kj::Exception&& e) {
        LOG(ERROR) << "logs and libraries are not trimmed any more: " << e.getDescription().cStr();
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
  return OnPool(post_, [directory = options_.log, limits = options_.logs, running] {
    const auto in_use = [&running](const std::string& name) { return running.contains(name); };
    size_t removed = 0;
    for (const StoredFile& file : Surplus(StoredFiles(directory), limits, NowMs(), in_use)) {
      removed += RemoveStored(directory, file);
    }
    return removed;
  }).then([](size_t removed) { LOG_IF(INFO, removed > 0) << removed << " old logs of attempts are removed"; });
}

kj::Promise<void> Housekeeping::TrimLibraries() {
  return OnPool(post_, [directory = options_.lib, limits = options_.libraries, used = worker_.FilesInUse()] {
           const auto in_use = [&used](const std::string& name) { return used.contains(name.substr(0, 64)); };
           return Surplus(StoredFiles(directory), limits, NowMs(), in_use);
         })
      .then([this](Files surplus) -> kj::Promise<void> {
        // A job may have named one meanwhile.
        const auto used = worker_.FilesInUse();
        Files gone;
        for (StoredFile& file : surplus) {
          const std::string sha256 = file.name.substr(0, 64);
          if (!used.contains(sha256) && cache_.Forget(sha256)) gone.push_back(std::move(file));
        }
        if (gone.empty()) return kj::READY_NOW;
        LOG(INFO) << gone.size() << " operator libraries and side files that no unfinished job names are removed";
        return OnPool(post_, [directory = options_.lib, gone] {
                 for (const StoredFile& file : gone) (void)RemoveStored(directory, file);
                 return true;
               }).ignoreResult();
      });
}

}  // namespace mr::worker
