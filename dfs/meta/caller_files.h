// The namespace as one caller may use it: the requests and queries of Namespace, each checked against the caller's
// rights first (rules.h, adr/0003). A path that the caller may not see is absent: it is answered with the same words.
//
// Rights:
// - A person reads what is theirs or read=all, and writes what is theirs. "Theirs" also is everything, if the call's
//   annotation lets one of their roles name objects of others.
// - A directory with something below that the caller may see is itself seen, with only that.
// - A worker writes files of attempts below the staging directory: of those that the master gave it and that have not
//   ended (assigned_attempts.h). It reads files that jobs have pinned, by their ids.
// - An open file is its creator's.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/model/caller.h"
#include "dfs/meta/assigned_attempts.h"
#include "dfs/meta/namespace.h"
#include "dfs/meta/rules.h"

namespace mr::dfs {

struct Rights;

// Thread: the namespace's. Lives shorter than the next Apply.
class CallerFiles {
 public:
  // attempts: null: no worker was given any. Requires: files and attempts outlive this object.
  CallerFiles(const Namespace& files, Caller caller, const AssignedAttempts* attempts = nullptr);

  using Prepared = Namespace::Prepared;
  // Each function does what the one of its name in Namespace does. Further errors: kNotFound where the caller does not
  // see the object; kNotAllowed where it sees it and may not change it, and for making something at a path that is not
  // the caller's, whether something is there or not; kRejected where the owner's bytes reach their limit
  // (NamespaceConfig::owner_bytes).
  Prepared PrepareCreate(const Stamp& stamp, const std::string& path, bool overwrite, uint32_t replication,
                         uint64_t block_bytes, const std::string& request_id) const;
  Prepared PrepareAddBlock(const Stamp& stamp, uint64_t lease, uint32_t index, const std::string& near) const;
  Prepared PrepareComplete(const Stamp& stamp, uint64_t lease, std::vector<StagedBlock> blocks) const;
  Prepared PrepareAbandon(uint64_t lease) const;
  Prepared PrepareRenew(const Stamp& stamp, uint64_t lease) const;
  Prepared PrepareMkdir(const Stamp& stamp, const std::string& path) const;
  Prepared PrepareRemove(const std::string& path, bool recursive) const;
  Prepared PrepareRename(const Stamp& stamp, const std::string& from, const std::string& to) const;
  Prepared PrepareSetReplication(const std::string& path, uint32_t replication) const;
  // Gives a path and all below it without an owner of its own to `owner`; only a caller that reaches everybody's paths
  // may. Errors: kInvalidArgument: no name of a person.
  Prepared PrepareOwner(const std::string& path, const std::string& owner) const;
  // Lets all read a path and all below it without a rule of its own, or the owner alone.
  Prepared PrepareReaders(const std::string& path, bool all) const;
  // Returns why a job of this caller cannot write its output there, or Ok. Later changes of rights do not stop the job.
  Status CheckOutput(OutputCommitted request) const;

  Result<FileInfo> Stat(const std::string& path) const;
  Result<std::vector<FileInfo>> List(const std::string& path) const;
  Result<ListedFiles> List(const std::string& path, const std::string& after, size_t bytes) const;
  // Errors: kNotAllowed where a part of what is below the path is not to be read: half an input is not the input.
  Result<std::vector<FileInfo>> FilesUnder(const std::string& path) const;
  Result<LocatedFile> Locate(const std::string& path, uint64_t offset, uint64_t length, const std::string& near) const;
  Result<LocatedFile> LocateFile(uint64_t file, uint64_t offset, uint64_t length, const std::string& near) const;
  // Counts all files, and names those that the caller sees.
  bool AddHealth(HealthWalk* walk, size_t most, size_t max_troubles) const;

 private:
  const struct State& state() const;
  bool Reaches(const Rights& rights) const;  // the caller is the owner, or as good
  bool Reads(const Rights& rights) const;
  bool Sees(uint64_t node, const Rights& rights) const;
  bool SeesPath(const std::string& path) const;
  const std::set<uint64_t>& Passable() const;
  // Returns the right of a worker at a path of so many components in the directory of an attempt.
  StagingRight RightInStaging(const std::string& path, size_t components) const;
  bool OwnsLease(uint64_t lease) const;
  bool OwnsWhole(uint64_t node) const;  // all below it that has an owner
  Status NotWritable(const std::string& what, const std::string& path) const;
  Status CheckBytes(const std::string& path, uint64_t more) const;
  Status CheckMake(const std::string& what, const std::string& path) const;
  Status CheckChange(const std::string& what, const std::string& path) const;
  Status CheckTake(const std::string& what, const std::string& path) const;

  const Namespace& files_;
  const Caller caller_;
  const AssignedAttempts* const attempts_;
  // Directories that are seen for what is below them. Made when first needed. Cost: the rules, with their depths.
  mutable std::optional<std::set<uint64_t>> passable_;
};

}  // namespace mr::dfs
