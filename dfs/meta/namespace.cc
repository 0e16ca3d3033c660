// The Prepare functions. They check requests against the present state; no other code does.
#include "dfs/meta/namespace.h"

#include <algorithm>

#include "common/base/count.h"
#include "common/base/text.h"
#include "dfs/meta/placement.h"
#include "dfs/meta/query.h"
#include "dfs/meta/staging.h"
#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

// Pieces have 1 MiB. Below 1 KiB a block is mostly overhead (tests use 4 KiB).
constexpr uint64_t kMinBlockBytes = 1024;
constexpr uint64_t kMaxBlockBytes = 4ull << 30;
constexpr uint32_t kMaxReplication = 100;
constexpr size_t kMaxInline = 64 << 10;
constexpr size_t kMaxRequestId = 128;
constexpr uint32_t kMaxBlocksOfFile = 1'000'000;

Status CheckReplication(uint32_t replication) {
  if (replication >= 1 && replication <= kMaxReplication) return Status::Ok();
  return InvalidArgument("replication " + std::to_string(replication) + " is not between 1 and 100");
}

// Returns an error if no new file can be made at `path`.
Status CheckNewFile(const State& s, const std::string& path, bool overwrite) {
  if (path == "/") return Rejected("/ is the root directory");
  if (const auto file = s.FileOnTheWay(SplitPath(path).first); !file.empty()) {
    return Rejected(file + " is a file, not a directory");
  }
  const uint64_t id = s.Resolve(path);
  if (id == 0) return Status::Ok();
  if (s.nodes.Find(id)->directory) return Rejected(path + " exists and is a directory");
  if (!overwrite) return Rejected(path + " exists");
  return Status::Ok();
}

// Returns why fewer workers have a block than an acknowledgement needs, and what to do; "" if no worker is awaited.
std::string AwaitedText(const State& s) {
  const auto& awaited = s.safe_mode.awaited;
  if (awaited.empty()) return "";
  constexpr size_t kNamed = 5;
  std::string names;
  size_t n = 0;
  for (const WorkerId w : awaited) {
    if (n++ < kNamed) names += (names.empty() ? "" : ", ") + Name(w);
  }
  if (n > kNamed) names += " and " + std::to_string(n - kNamed) + " more";
  const bool one = n == 1;
  return names + (one ? " was" : " were") + " alive before the master's restart and " + (one ? "has" : "have") +
         " not come back; start " + (one ? "it" : "them") + " again, or exclude what is lost for good: `mrctl worker " +
         "exclude " + Name(*awaited.begin()) + "`";
}

std::string WhoIsFull(const State& s) {
  constexpr size_t kNamed = 5;
  std::string names;
  size_t n = 0;
  for (const auto& [id, w] : s.workers.all()) {
    if (!w.full || !w.Eligible()) continue;
    if (n++ < kNamed) names += (names.empty() ? "" : ", ") + Name(id);
  }
  if (n == 0) return "";
  if (n > kNamed) names += " and " + std::to_string(n - kNamed) + " more";
  return names + (n == 1 ? " has" : " have") +
         " less free than is kept free (mrworker --min_free), or a write there found no space a moment ago; remove " +
         "what is not needed (`mrctl fs du /`), or add workers";
}

// Returns the targets of an open block's pipeline that have reported it. Reports of other workers count for nothing.
std::vector<WorkerId> GoodTargets(const State& s, BlockId block) {
  const auto& targets = s.blocks.Find(block)->targets;
  std::vector<WorkerId> good = s.GoodHolders(block);
  std::erase_if(good, [&](WorkerId w) { return std::find(targets.begin(), targets.end(), w) == targets.end(); });
  return good;
}

// Returns the workers that most likely broke the pipeline of the previous block: the head if no worker got the block,
// else those that did not get it.
std::vector<WorkerId> Avoid(const State& s, const Lease& lease, uint32_t index) {
  if (index >= lease.blocks.size() || !lease.blocks[index].valid()) return {};
  std::vector<WorkerId> avoid = lease.avoid;
  const auto& targets = s.blocks.Find(lease.blocks[index])->targets;
  const auto good = GoodTargets(s, lease.blocks[index]);
  for (const WorkerId target : targets) {
    if (std::find(good.begin(), good.end(), target) != good.end()) continue;
    if (std::find(avoid.begin(), avoid.end(), target) == avoid.end()) avoid.push_back(target);
    if (good.empty()) break;
  }
  return avoid;
}

std::vector<WorkerId> PlaceNew(const State& s, const Lease& lease, BlockId block, const std::string& near,
                               const std::vector<WorkerId>& avoid) {
  PlacementRequest request;
  request.count = lease.replication;
  request.seed = block.value;
  for (const auto& [id, w] : s.workers.all()) {
    if (!w.Eligible() || w.full || std::find(avoid.begin(), avoid.end(), id) != avoid.end()) continue;
    Candidate c;
    c.worker = id;
    c.rack = w.rack;
    c.used_bytes = w.used_bytes + w.open_blocks * s.config.block_bytes;
    c.full = w.capacity_bytes != 0 && c.used_bytes + lease.block_bytes > w.capacity_bytes;
    if (!near.empty() && w.address == near) request.writer = id;
    request.candidates.push_back(std::move(c));
  }
  return Place(request);
}

}  // namespace

Status NoLease(uint64_t lease) {
  return NotFound("there is no open file with lease " + std::to_string(lease) +
                  " (it was completed, given up, or not renewed in time); write the file again");
}

Namespace::Impl::Impl(NamespaceConfig config) : state(config) {}

Namespace::Namespace(NamespaceConfig config) : impl_(std::make_unique<Impl>(config)) {}
Namespace::~Namespace() = default;

Namespace::Prepared Namespace::PrepareCreate(const Stamp& stamp, const std::string& path, bool overwrite,
                                             uint32_t replication, uint64_t block_bytes,
                                             const std::string& request_id) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (replication == 0) replication = s.config.replication;
  if (block_bytes == 0) block_bytes = s.config.block_bytes;
  MR_RETURN_IF_ERROR(CheckReplication(replication));
  if (block_bytes < kMinBlockBytes || block_bytes > kMaxBlockBytes) {
    return InvalidArgument("a block size of " + HumanBytes(block_bytes) + " is not between 1 KiB and 4 GiB");
  }
  if (request_id.size() > kMaxRequestId) return InvalidArgument("a request id is longer than 128 bytes");
  if (const uint64_t open = LeaseOf(request_id); open != 0) {
    if (s.leases.Find(open)->path == path) return std::optional<Record>();
    return Rejected("request id " + request_id + " was used for another file");
  }
  MR_RETURN_IF_ERROR(CheckNewFile(s, path, overwrite).With("cannot create"));
  FileCreated r{stamp, s.counters.next_lease, path, overwrite, replication, block_bytes, request_id};
  return std::optional<Record>(std::move(r));
}

uint64_t Namespace::LeaseOf(const std::string& request_id) const {
  const auto& requests = impl_->state.requests;
  const auto it = request_id.empty() ? requests.end() : requests.find(request_id);
  return it == requests.end() ? 0 : it->second;
}

Namespace::Prepared Namespace::PrepareAddBlock(const Stamp& stamp, uint64_t lease_id, uint32_t index,
                                               const std::string& near) const {
  const State& s = impl_->state;
  const Lease* lease = s.leases.Find(lease_id);
  if (lease == nullptr) return NoLease(lease_id);
  if (index > lease->blocks.size() || index >= kMaxBlocksOfFile) {
    return InvalidArgument("block " + std::to_string(index) + " of " + lease->path + " was requested after " +
                           std::to_string(lease->blocks.size()) + " blocks");
  }
  BlockAdded r;
  r.stamp = stamp;
  r.lease = lease_id;
  r.index = index;
  r.block = {s.counters.next_block};
  r.avoid = Avoid(s, *lease, index);
  r.targets = PlaceNew(s, *lease, r.block, near, r.avoid);
  const size_t need = s.MinDurable(lease->replication);
  if (r.targets.size() < need) {
    r.avoid.clear();  // too few are left: all of them get another chance
    r.targets = PlaceNew(s, *lease, r.block, near, r.avoid);
  }
  if (const std::string full = WhoIsFull(s); r.targets.size() < need && !full.empty()) {
    return Status{Code::kOverloaded, "No space left on device for a block of " + lease->path + ": " + full};
  }
  const std::string awaited = AwaitedText(s);
  if (r.targets.empty()) {
    return Unavailable("no worker can take a block of " + lease->path +
                       ": no registered worker is in service (not draining, with a working disk)" +
                       (awaited.empty() ? "; start a worker and try again" : "; " + awaited));
  }
  if (r.targets.size() < need) {
    return Unavailable("a block of " + lease->path + " must be on " + std::to_string(need) +
                       " workers before it is acknowledged, and " + std::to_string(r.targets.size()) + " can take it" +
                       (awaited.empty() ? "" : "; " + awaited));
  }
  return std::optional<Record>(std::move(r));
}

std::string Namespace::PathOfLease(uint64_t lease) const {
  const Lease* found = impl_->state.leases.Find(lease);
  return found == nullptr ? "" : found->path;
}

Namespace::Prepared Namespace::PrepareComplete(const Stamp& stamp, uint64_t lease_id,
                                               std::vector<StagedBlock> blocks) const {
  const State& s = impl_->state;
  const Lease* lease = s.leases.Find(lease_id);
  if (lease == nullptr) {
    if (s.completed.contains(lease_id)) return std::optional<Record>();
    return NoLease(lease_id);
  }
  if (blocks.size() != lease->blocks.size()) {
    return InvalidArgument("complete of " + lease->path + " lists " + std::to_string(blocks.size()) + " blocks, but " +
                           std::to_string(lease->blocks.size()) + " were requested");
  }
  MR_RETURN_IF_ERROR(CheckNewFile(s, lease->path, lease->overwrite).With("cannot complete"));
  const size_t need = s.MinDurable(lease->replication);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const BlockRef& b = blocks[i].block;
    const std::string what = "block " + std::to_string(i) + " of " + lease->path;
    if (b.id != lease->blocks[i] || b.generation != s.blocks.Find(b.id)->generation) {
      return InvalidArgument(what + " is not the block that was assigned for it");
    }
    if (b.length == 0 || b.length > lease->block_bytes) {
      return InvalidArgument(what + " has " + std::to_string(b.length) + " bytes");
    }
    // A worker that had the block on disk and is gone since then still counts if another one has it. The block was
    // durable when acknowledged, and repair restores the rest.
    const auto& targets = s.blocks.Find(b.id)->targets;
    const auto good = GoodTargets(s, b.id);
    std::set<WorkerId> durable(good.begin(), good.end());
    bool readable = !good.empty();
    for (const WorkerId w : blocks[i].workers) {
      if (std::find(targets.begin(), targets.end(), w) == targets.end()) continue;
      durable.insert(w);
      readable = readable || s.workers.Has(w);
    }
    if (durable.size() < need || !readable) {
      const std::string awaited = AwaitedText(s);
      return Unavailable(what + " is durable on " + CountOf(durable.size(), "worker") + ", but must be on " +
                         std::to_string(need) + (awaited.empty() ? "; write it again" : "; " + awaited));
    }
  }
  return std::optional<Record>(FileCompleted{stamp, lease_id, std::move(blocks)});
}

Namespace::Prepared Namespace::PrepareAbandon(uint64_t lease) const {
  if (!impl_->state.leases.Has(lease)) return std::optional<Record>();
  return std::optional<Record>(LeaseEnded{lease, false});
}

Namespace::Prepared Namespace::PrepareRenew(const Stamp& stamp, uint64_t lease) const {
  if (!impl_->state.leases.Has(lease)) return NoLease(lease);
  return std::optional<Record>(LeaseRenewed{stamp.at, lease});
}

Namespace::Prepared Namespace::PrepareMkdir(const Stamp& stamp, const std::string& path) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (const auto file = s.FileOnTheWay(path); !file.empty()) {
    return Rejected("cannot make directory " + path + ": " + file + " is a file");
  }
  if (s.Resolve(path) != 0) return std::optional<Record>();
  return std::optional<Record>(DirectoryMade{stamp, path});
}

Namespace::Prepared Namespace::PrepareRemove(const std::string& path, bool recursive) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (path == "/") return InvalidArgument("the root directory cannot be removed");
  const uint64_t id = s.Resolve(path);
  if (id == 0) return NotFound(path + " does not exist");
  if (s.nodes.Find(id)->directory && !recursive && !s.ChildrenOf(id).empty()) {
    return Rejected("cannot remove " + path + ": the directory is not empty; use -r");
  }
  return std::optional<Record>(Removed{path});
}

Namespace::Prepared Namespace::PrepareRename(const Stamp& stamp, const std::string& from, const std::string& to) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(from));
  MR_RETURN_IF_ERROR(CheckPath(to));
  const std::string what = "cannot rename " + from + " to " + to + ": ";
  if (from == "/" || to == "/") return InvalidArgument(what + "the root directory cannot be renamed");
  const uint64_t id = s.Resolve(from);
  if (id == 0) return NotFound(from + " does not exist");
  if (from == to) return std::optional<Record>();
  if (s.Resolve(to) != 0) return Rejected(what + to + " exists");
  const uint64_t parent = s.Resolve(SplitPath(to).first);
  if (parent == 0) return NotFound(what + SplitPath(to).first + " does not exist");
  if (!s.nodes.Find(parent)->directory) return Rejected(what + SplitPath(to).first + " is a file");
  if (s.IsUnder(parent, id)) return InvalidArgument(what + "the target is inside the source");
  return std::optional<Record>(Renamed{stamp, from, to});
}

Namespace::Prepared Namespace::PrepareSetReplication(const std::string& path, uint32_t replication) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(path));
  MR_RETURN_IF_ERROR(CheckReplication(replication));
  const uint64_t id = s.Resolve(path);
  if (id == 0) return NotFound(path + " does not exist");
  if (s.nodes.Find(id)->directory) return Rejected(path + " is a directory; replication belongs to files");
  if (s.nodes.Find(id)->replication == replication) return std::optional<Record>();
  return std::optional<Record>(ReplicationSet{path, replication});
}

Namespace::Prepared Namespace::PrepareRule(const std::string& path, const std::function<void(Rule*)>& change) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(path));
  if (IsStaging(path)) return Rejected(path + " belongs to running jobs and gets no rules");
  const uint64_t id = s.Resolve(path);
  if (id == 0) return NotFound(path + " does not exist");
  const Rule* found = s.rules.Find(id);
  const Rule before = found == nullptr ? Rule{} : *found;
  Rule rule = before;
  change(&rule);
  if (rule.owner == before.owner && rule.read == before.read) return std::optional<Record>();
  return std::optional<Record>(RuleSet{path, std::move(rule)});
}

namespace {

Status CheckCommittedBlocks(const State& s, const OutputCommitted& r, const OutputFile& file) {
  const uint64_t staging = r.staging.empty() ? 0 : s.Resolve(r.staging);
  for (const BlockRef& b : file.blocks) {
    const std::string what = "block " + std::to_string(b.id.value) + " of " + file.name;
    const Block* block = s.blocks.Find(b.id);
    if (block == nullptr || !block->sealed || block->node == 0) {
      return Corrupted(what + " is not in the block store any more");
    }
    if (s.RefOf(b.id) != b) return Corrupted(what + " differs from what its writer reported");
    if (staging == 0 || !s.IsUnder(block->node, staging)) {
      return Rejected(what + " does not belong to the job's staging directory " + r.staging);
    }
  }
  return Status::Ok();
}

}  // namespace

Namespace::Prepared Namespace::PrepareCommit(OutputCommitted request) const {
  const State& s = impl_->state;
  MR_RETURN_IF_ERROR(CheckPath(request.directory));
  if (request.replication != 0) MR_RETURN_IF_ERROR(CheckReplication(request.replication));
  const std::string what = "output " + request.directory + " ";
  if (IsStaging(request.directory)) return Rejected(what + "cannot be made: /.staging belongs to running jobs");
  if (const auto file = s.FileOnTheWay(SplitPath(request.directory).first); !file.empty()) {
    return Rejected(what + "cannot be made: " + file + " is a file");
  }
  const uint64_t id = s.Resolve(request.directory);
  if (id == kRoot) return Rejected("the root directory cannot be an output");
  if (id != 0) {
    if (!s.nodes.Find(id)->directory) return Rejected(what + "is a file; give another --output, or remove it");
    const bool empty = s.ChildrenOf(id).empty();
    if (!empty && !request.overwrite) return Rejected(what + "exists; use --overwrite to replace it");
  }
  if (!request.staging.empty()) {
    MR_RETURN_IF_ERROR(CheckPath(request.staging));
    const uint64_t staging = s.Resolve(request.staging);
    if (staging == kRoot || (staging != 0 && id != 0 && (s.IsUnder(staging, id) || s.IsUnder(id, staging)))) {
      return InvalidArgument(what + "and its staging directory overlap");
    }
  }
  std::set<std::string> names;
  std::set<BlockId> blocks;
  for (const auto& file : request.files) {
    MR_RETURN_IF_ERROR(CheckPath("/" + file.name));
    if (file.name.find('/') != std::string::npos || !names.insert(file.name).second) {
      return InvalidArgument(what + "has a part with the bad or repeated name '" + file.name + "'");
    }
    if (file.inline_data.size() > kMaxInline || (!file.inline_data.empty() && !file.blocks.empty())) {
      return InvalidArgument(what + ": " + file.name + " has too much inline data");
    }
    for (const auto& b : file.blocks) {
      if (!blocks.insert(b.id).second) return InvalidArgument(what + "names a block twice");
    }
    MR_RETURN_IF_ERROR(CheckCommittedBlocks(s, request, file));
  }
  return std::optional<Record>(std::move(request));
}

std::vector<Record> Namespace::Due(Instant now) const {
  std::vector<Record> due;
  for (const auto& [lease, deadline] : impl_->state.deadlines.all()) {
    if (deadline <= now) due.push_back(LeaseEnded{lease, true});
  }
  due.push_back(Ticked{now});
  return due;
}

}  // namespace mr::dfs
