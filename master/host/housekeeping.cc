#include "master/host/housekeeping.h"

#include <glog/logging.h>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/retention.h"
#include "dfs/meta/staging.h"
#include "master/host/library_upload.h"

namespace mr::master {

Housekeeping::Housekeeping(const HostOptions& options, MasterCore& core, HostClock& clock, Loop& loop, Outlets& outlets,
                           BlockStore& block_store, const Submissions& submissions, Libraries& libraries,
                           KeptLogs& logs)
    : options_(options),
      core_(core),
      clock_(clock),
      loop_(loop),
      outlets_(outlets),
      block_store_(block_store),
      submissions_(submissions),
      libraries_(libraries),
      logs_(logs) {}

void Housekeeping::Tick() {
  SweepStaging();
  TrimLibraries();
  logs_.Trim();
  loop_.At(Now() + options_.housekeeping, [this] { Tick(); });
}

// An attempt that was stopped late may make its directory once more after its job's end.
void Housekeeping::SweepStaging() {
  const auto entries = core_.files().List(std::string(dfs::kStaging));
  if (!entries.ok()) return;
  const Instant now = clock_.Stamp();
  for (const dfs::FileInfo& entry : *entries) {
    const auto id = ParseJobId(entry.path.substr(entry.path.rfind('/') + 1));
    if (!id) continue;
    const JobView* job = core_.jobs().Find(*id);
    if (job != nullptr && (!job->told || core_.attempts().Live(*id) > 0 || now - job->ended < options_.staging_age)) {
      continue;
    }
    block_store_.FsMutate(
        [path = entry.path](const dfs::Namespace& ns, const dfs::Stamp&) { return ns.PrepareRemove(path, true); },
        nullptr,
        [path = entry.path](const Status& status) {
          LOG_IF(INFO, status.ok()) << path << " is removed: its job has ended";
        });
  }
}

void Housekeeping::RemovePart(const std::string& part) {
  outlets_.InPool([directory = options_.directory + "/lib", part] { master::RemovePart(directory, part); });
}

std::set<std::string> Housekeeping::FilesInUse() const {
  std::set<std::string> used;
  const auto add = [&used](const JobSpec& spec) {
    used.insert(spec.library);
    for (const SideFile& file : spec.files) used.insert(file.sha256);
  };
  for (const JobId id : core_.jobs().OpenJobs()) {
    if (const auto it = core_.jobs().jobs().find(id); it != core_.jobs().jobs().end()) add(it->second.spec);
  }
  submissions_.ForEachPlanned(add);
  return used;
}

void Housekeeping::TrimLibraries() {
  if (trimming_) return;
  trimming_ = true;
  using Files = std::vector<StoredFile>;
  const std::string directory = options_.directory + "/lib";
  const auto done = [this] { trimming_ = false; };
  // A pool thread lists, and another removes. In between this thread checks again: a job may have named a file
  // meanwhile.
  const auto remove = [this, directory, done](const std::shared_ptr<Files>& surplus) {
    const auto used = FilesInUse();
    auto gone = std::make_shared<Files>();
    for (const StoredFile& file : *surplus) {
      const std::string sha256 = file.name.substr(0, 64);
      if (used.contains(sha256)) continue;
      // The library of an unfinished upload may be known from an earlier one.
      if (file.name.ends_with(".part"))
        libraries_.PartRemoved(file.name);
      else
        libraries_.Removed(sha256);
      gone->push_back(file);
    }
    if (gone->empty()) return done();
    LOG(INFO) << gone->size() << " operator libraries and side files that no unfinished job names are removed, beyond "
              << HumanBytes(options_.libraries.bytes) << ", the limit of their owner, or older than "
              << HumanDuration(options_.libraries.age);
    outlets_.InPool([this, directory, gone, done] {
      for (const StoredFile& file : *gone) RemoveLibrary(directory, file);
      loop_.Post(done);
    });
  };
  outlets_.InPool([this, directory, remove, used = FilesInUse(), owners = libraries_.OwnersByFile(),
                   limits = options_.libraries, owner_bytes = libraries_.owner_bytes()] {
    const auto in_use = [&used](const std::string& name) { return used.contains(name.substr(0, 64)); };
    const auto owner_of = [&owners](const std::string& name) {
      const auto it = owners.find(name);
      return it == owners.end() ? std::string() : it->second;
    };
    auto surplus = std::make_shared<Files>(SurplusOfGroups(StoredFiles(directory), limits,
                                                           {owner_bytes, owner_of, kLeastLibraryBytes},
                                                           static_cast<int64_t>(WallClockMs()), in_use));
    loop_.Post([remove, surplus] { remove(surplus); });
  });
}

}  // namespace mr::master
