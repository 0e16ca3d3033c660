// The part of CallerFiles that changes things. The part that reads: caller_files.cc.
#include <algorithm>
#include <utility>

#include "common/base/text.h"
#include "dfs/meta/caller_files.h"
#include "dfs/meta/query.h"
#include "dfs/meta/rights.h"
#include "dfs/meta/staging.h"
#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

// "/.staging/JOB/ATTEMPT" and a file in it.
constexpr size_t kAttemptComponents = 3, kPartComponents = 4;

// The same names as of people in tokens (common/secure/names.h), which a pure core does not link.
Status CheckOwner(const std::string& owner) {
  constexpr size_t kMostBytes = 56;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); };
  const bool good = !owner.empty() && owner.size() <= kMostBytes && plain(owner[0]) &&
                    std::all_of(owner.begin(), owner.end(), [&](char c) {
                      return plain(c) || std::string_view("._@-").find(c) != std::string_view::npos;
                    });
  if (good) return Status::Ok();
  return InvalidArgument(
      "the owner must be the name of a person: 1 to 56 letters, digits and ._@-, beginning with a "
      "letter or a digit (mrctl token list shows names)");
}

}  // namespace

StagingRight CallerFiles::RightInStaging(const std::string& path, size_t components) const {
  const bool asks = attempts_ != nullptr && caller_.identity.HasAny(kWorker) && Components(path).size() == components;
  const std::optional<AttemptId> attempt = asks ? AttemptOf(path) : std::nullopt;
  return attempt ? attempts_->RightOf(caller_.identity.subject, *attempt) : StagingRight::kNone;
}

Status CallerFiles::NotWritable(const std::string& what, const std::string& path) const {
  const Identity& who = caller_.identity;
  if (!who.HasAny(kAllPeople)) {
    return {Code::kNotAllowed,
            what + ": '" + who.subject +
                "' is a worker and writes only files of attempts that it was given and that have not ended, below " +
                std::string(kStaging)};
  }
  return {Code::kNotAllowed,
          what + ": " + path + " does not belong to '" + who.subject + "'; yours is " + std::string(kHomes) + "/" +
              who.subject + ", and an administrator gives other paths: " + "mrctl fs chown " + who.subject + " PATH"};
}

// Returns why the owner of the path may not have so many bytes more, what the path has now aside.
Status CallerFiles::CheckBytes(const std::string& path, uint64_t more) const {
  const State& s = state();
  const uint64_t limit = s.config.owner_bytes;
  if (limit == 0 || caller_.identity.HasAny(caller_.others) || IsStaging(path)) return Status::Ok();
  const std::string owner = RightsAt(s, path).owner;
  const Node* old = s.nodes.Find(s.Resolve(path));
  const uint64_t used = s.owner_bytes.Of(owner);
  const uint64_t kept = used - std::min(used, old == nullptr || old->directory ? 0 : BytesOf(s, *old));
  if (more <= limit && kept <= limit - more) return Status::Ok();
  return Rejected(path + " cannot be written: the files of '" + owner + "' have " + HumanBytes(kept) + ", this one " +
                  HumanBytes(more) + ", and all together may have " + HumanBytes(limit) +
                  " (mrmaster --owner_bytes); remove what is not needed (mrctl fs du " + std::string(kHomes) + "/" +
                  owner + ")");
}

// For a path where something is to be made. The answer does not depend on whether it exists.
Status CallerFiles::CheckMake(const std::string& what, const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const bool own = RightInStaging(path, kPartComponents) == StagingRight::kWrite;
  if (own || Reaches(RightsAt(state(), path))) return Status::Ok();
  return NotWritable(what, path);
}

// For a path that is to be changed.
Status CallerFiles::CheckChange(const std::string& what, const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (!SeesPath(path)) return Missing(path);
  return Reaches(RightsAt(state(), path)) ? Status::Ok() : NotWritable(what, path);
}

bool CallerFiles::OwnsWhole(uint64_t node) const {
  const State& s = state();
  // Homes belong to their persons without a rule.
  const uint64_t homes = s.Resolve(std::string(kHomes));
  if (homes != 0 && (node == homes || s.IsUnder(homes, node))) {
    for (auto at = s.children.lower_bound({homes, ""}); at != s.children.end() && at->first.first == homes; ++at) {
      if (!Reaches(RightsAt(s, s.PathOf(at->second)))) return false;
    }
  }
  return std::all_of(s.rules.all().begin(), s.rules.all().end(), [&](const auto& entry) {
    const auto& [at, rule] = entry;
    return rule.owner.empty() || at == node || !s.IsUnder(at, node) || Reaches(RightsAt(s, s.PathOf(at)));
  });
}

// For a path that is to leave its place, with all below it.
Status CallerFiles::CheckTake(const std::string& what, const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckChange(what, path));
  const State& s = state();
  const uint64_t node = s.Resolve(path);
  const Rule* rule = s.rules.Find(node);
  // Its owner has it from whoever owns the directory above, and could not make it again.
  if (rule != nullptr && !rule->owner.empty() && path != "/") {
    if (const std::string above = SplitPath(path).first; !Reaches(RightsAt(s, above))) {
      return {Code::kNotAllowed, what + ": " + path + " was given to its owner, and " + above +
                                     " does not belong to '" + caller_.identity.subject + "'; what is in " + path +
                                     " can be removed"};
    }
  }
  if (OwnsWhole(node)) return Status::Ok();
  return {Code::kNotAllowed, what + ": something in " + path + " does not belong to '" + caller_.identity.subject +
                                 "' (mrctl fs ls -R " + path + " shows owners); ask an administrator"};
}

bool CallerFiles::OwnsLease(uint64_t lease) const {
  const State& s = state();
  if (caller_.identity.HasAny(caller_.others)) return true;
  if (const auto done = s.completed.find(lease); done != s.completed.end()) {
    const std::string path = s.PathOf(done->second);
    return RightInStaging(path, kPartComponents) == StagingRight::kWrite || Reaches(RightsAt(s, path));
  }
  const std::string* owner = s.lease_owners.Find(lease);
  return owner == nullptr ? caller_.identity.subject == kNoOwner : *owner == caller_.identity.subject;
}

Namespace::Prepared CallerFiles::PrepareCreate(const Stamp& stamp, const std::string& path, bool overwrite,
                                               uint32_t replication, uint64_t block_bytes,
                                               const std::string& request_id) const {
  MR_RETURN_IF_ERROR(CheckMake("cannot create " + path, path));
  if (const uint64_t open = files_.LeaseOf(request_id); open != 0 && !OwnsLease(open)) {
    return Rejected("request id " + request_id + " was used for another file");
  }
  MR_ASSIGN_OR_RETURN(std::optional<Record> record,
                      files_.PrepareCreate(stamp, path, overwrite, replication, block_bytes, request_id));
  if (record) std::get<FileCreated>(*record).owner = caller_.identity.subject;
  return record;
}

Namespace::Prepared CallerFiles::PrepareAddBlock(const Stamp& stamp, uint64_t lease, uint32_t index,
                                                 const std::string& near) const {
  if (!OwnsLease(lease)) return NoLease(lease);
  // The blocks before are full; how many bytes this one gets is known when it is complete.
  if (const Lease* open = state().leases.Find(lease); open != nullptr) {
    // The attempt of a worker may have ended since.
    if (IsStaging(open->path)) MR_RETURN_IF_ERROR(CheckMake("cannot write " + open->path, open->path));
    MR_RETURN_IF_ERROR(CheckBytes(open->path, index * open->block_bytes + 1));
  }
  return files_.PrepareAddBlock(stamp, lease, index, near);
}

Namespace::Prepared CallerFiles::PrepareComplete(const Stamp& stamp, uint64_t lease,
                                                 std::vector<StagedBlock> blocks) const {
  if (!OwnsLease(lease)) return NoLease(lease);
  // Rights may have changed since the file was opened.
  if (const std::string path = files_.PathOfLease(lease); !path.empty()) {
    MR_RETURN_IF_ERROR(CheckMake("cannot complete " + path, path));
    uint64_t bytes = 0;
    for (const StagedBlock& block : blocks) bytes += block.block.length;
    if (bytes > 0) MR_RETURN_IF_ERROR(CheckBytes(path, bytes));
  }
  return files_.PrepareComplete(stamp, lease, std::move(blocks));
}

Namespace::Prepared CallerFiles::PrepareAbandon(uint64_t lease) const {
  if (!OwnsLease(lease)) return std::optional<Record>();  // as where there is none
  return files_.PrepareAbandon(lease);
}

Namespace::Prepared CallerFiles::PrepareRenew(const Stamp& stamp, uint64_t lease) const {
  if (!OwnsLease(lease)) return NoLease(lease);
  return files_.PrepareRenew(stamp, lease);
}

Namespace::Prepared CallerFiles::PrepareMkdir(const Stamp& stamp, const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckMake("cannot make directory " + path, path));
  return files_.PrepareMkdir(stamp, path);
}

Namespace::Prepared CallerFiles::PrepareRemove(const std::string& path, bool recursive) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const bool person = caller_.identity.HasAny(kAllPeople);
  const bool own = RightInStaging(path, kAttemptComponents) != StagingRight::kNone ||
                   RightInStaging(path, kPartComponents) != StagingRight::kNone;
  if (!person && !own) return NotWritable("cannot remove " + path, path);
  if (person) MR_RETURN_IF_ERROR(CheckTake("cannot remove " + path, path));
  return files_.PrepareRemove(path, recursive);
}

Namespace::Prepared CallerFiles::PrepareRename(const Stamp& stamp, const std::string& from,
                                               const std::string& to) const {
  const std::string what = "cannot rename " + from + " to " + to;
  MR_RETURN_IF_ERROR(CheckTake(what, from));
  MR_RETURN_IF_ERROR(CheckMake(what, to));
  return files_.PrepareRename(stamp, from, to);
}

Namespace::Prepared CallerFiles::PrepareSetReplication(const std::string& path, uint32_t replication) const {
  MR_RETURN_IF_ERROR(CheckChange("cannot set the replication of " + path, path));
  return files_.PrepareSetReplication(path, replication);
}

Namespace::Prepared CallerFiles::PrepareOwner(const std::string& path, const std::string& owner) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  MR_RETURN_IF_ERROR(CheckOwner(owner));
  const std::string what = "cannot give " + path + " to " + owner;
  if (!caller_.identity.HasAny(caller_.others)) return Status(Code::kNotAllowed, what + ": only an administrator may");
  return files_.PrepareRule(path, [&](Rule* rule) { rule->owner = owner; });
}

Namespace::Prepared CallerFiles::PrepareReaders(const std::string& path, bool all) const {
  MR_RETURN_IF_ERROR(CheckChange("cannot set who reads " + path, path));
  return files_.PrepareRule(path, [&](Rule* rule) { rule->read = all ? ReadBy::kAll : ReadBy::kOwner; });
}

Status CallerFiles::CheckOutput(OutputCommitted request) const {
  const std::string path = request.directory;
  MR_RETURN_IF_ERROR(CheckMake("output dfs://" + path + " cannot be written", path));
  if (const uint64_t node = state().Resolve(path); node != 0 && request.overwrite && !OwnsWhole(node)) {
    return {Code::kNotAllowed, "output dfs://" + path + " cannot be replaced: something in it does not belong to '" +
                                   caller_.identity.subject + "'; give another --output"};
  }
  MR_RETURN_IF_ERROR(CheckBytes(path, 1));
  return files_.PrepareCommit(std::move(request)).status();
}

}  // namespace mr::dfs
