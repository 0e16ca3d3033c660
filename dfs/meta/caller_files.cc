// The part of CallerFiles that reads. The part that changes things: caller_writes.cc.
#include "dfs/meta/caller_files.h"

#include <utility>

#include "dfs/meta/query.h"
#include "dfs/meta/rights.h"
#include "dfs/meta/state.h"

namespace mr::dfs {

CallerFiles::CallerFiles(const Namespace& files, Caller caller, const AssignedAttempts* attempts)
    : files_(files), caller_(std::move(caller)), attempts_(attempts) {}

const State& CallerFiles::state() const { return files_.impl_->state; }

// A worker's subject is no owner, not even where a directory below /user has its name.
bool CallerFiles::Reaches(const Rights& rights) const {
  if (caller_.identity.HasAny(caller_.others)) return true;
  return caller_.identity.HasAny(kAllPeople) && caller_.identity.subject == rights.owner;
}

bool CallerFiles::Reads(const Rights& rights) const {
  return Reaches(rights) || (rights.read_by_all && caller_.identity.HasAny(kAllPeople));
}

bool CallerFiles::Sees(uint64_t node, const Rights& rights) const {
  return Reads(rights) || (state().nodes.Find(node)->directory && Passable().contains(node));
}

bool CallerFiles::SeesPath(const std::string& path) const {
  const uint64_t id = state().Resolve(path);
  return id != 0 && Sees(id, RightsAt(state(), path));
}

const std::set<uint64_t>& CallerFiles::Passable() const {
  if (passable_) return *passable_;
  const State& s = state();
  std::set<uint64_t>& passable = passable_.emplace();
  passable.insert(kRoot);
  const auto add_above = [&](uint64_t node) {
    for (uint64_t at = s.nodes.Find(node)->parent; at != 0 && passable.insert(at).second;)
      at = s.nodes.Find(at)->parent;
  };
  if (const uint64_t home = s.Resolve(std::string(kHomes) + "/" + caller_.identity.subject); home != 0) {
    if (Reads(RightsAt(s, s.PathOf(home)))) add_above(home);
  }
  for (const auto& [node, rule] : s.rules.all()) {
    if (Reads(RightsAt(s, s.PathOf(node)))) add_above(node);
  }
  return passable;
}

Result<FileInfo> CallerFiles::Stat(const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (!SeesPath(path)) return Missing(path);
  return files_.Stat(path);
}

Result<std::vector<FileInfo>> CallerFiles::List(const std::string& path) const {
  MR_ASSIGN_OR_RETURN(ListedFiles all, List(path, "", SIZE_MAX));
  return std::move(all.entries);
}

Result<ListedFiles> CallerFiles::List(const std::string& path, const std::string& after, size_t bytes) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (!SeesPath(path)) return Missing(path);
  return ListIn(state(), state().Resolve(path), path, after, bytes,
                [this](uint64_t node, const Rights& rights) { return Sees(node, rights); });
}

Result<std::vector<FileInfo>> CallerFiles::FilesUnder(const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (!SeesPath(path)) return Missing(path);
  const State& s = state();
  std::vector<FileInfo> out;
  const SeesFn reads = [this](uint64_t, const Rights& rights) { return Reads(rights); };
  if (Collect(s, s.Resolve(path), path, RightsAt(s, path), reads, &out)) return out;
  return Status(Code::kNotAllowed, "'" + caller_.identity.subject + "' may not read all that is in " + path +
                                       "; name what is yours or shared in it (mrctl fs ls -R " + path +
                                       "), or ask its owner: mrctl fs chmod read=all");
}

Result<LocatedFile> CallerFiles::Locate(const std::string& path, uint64_t offset, uint64_t length,
                                        const std::string& near) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (!SeesPath(path)) return Missing(path);
  return files_.Locate(path, offset, length, near);
}

Result<LocatedFile> CallerFiles::LocateFile(uint64_t file, uint64_t offset, uint64_t length,
                                            const std::string& near) const {
  const State& s = state();
  const Node* node = s.nodes.Find(file);
  const bool pinned = caller_.identity.HasAny(kWorker) && s.pinned.contains(file);
  // Rules hold in the tree. A file that only a pin keeps is for workers, and for those who reach everything.
  if (node != nullptr && !pinned) {
    const Rights rights = InTree(s, file) ? RightsAt(s, s.PathOf(file)) : Rights{};
    if (!Reads(rights)) return MissingFile(file);
  }
  return files_.LocateFile(file, offset, length, near);
}

bool CallerFiles::AddHealth(HealthWalk* walk, size_t most, size_t max_troubles) const {
  return files_.AddHealth(walk, most, max_troubles, [this](const std::string& path) { return SeesPath(path); });
}

}  // namespace mr::dfs
