// Read-only queries: files, places of their blocks, and their replication.
#include <algorithm>
#include <limits>

#include "dfs/meta/query.h"

namespace mr::dfs {
namespace {

// About 100 bytes each on the wire; a control message may have 4 MiB.
constexpr size_t kMaxLocated = 8192;
// Size of a list's entry in a message, without its path (dfs.capnp, FileStatus).
constexpr size_t kEntryBytes = 72;

}  // namespace

FileInfo InfoOf(const State& s, uint64_t id, std::string path, const Rights& rights) {
  const Node& node = *s.nodes.Find(id);
  FileInfo info;
  info.id = id;
  info.path = std::move(path);
  info.owner = rights.owner;
  info.read_by_all = rights.read_by_all;
  info.is_directory = node.directory;
  info.bytes = BytesOf(s, node);
  info.replication = node.replication;
  info.block_bytes = node.block_bytes;
  info.blocks = static_cast<uint32_t>(node.blocks.size());
  info.modified_unix_ms = node.modified_unix_ms;
  if (!node.directory) info.least_replicas = node.replication;
  bool first = true;
  for (const BlockId b : node.blocks) {
    info.missing_blocks += s.GoodHolders(b).empty() ? 1 : 0;
    const auto counting = static_cast<uint32_t>(s.PlacedHolders(b).size());
    info.least_replicas = first ? counting : std::min(info.least_replicas, counting);
    first = false;
  }
  return info;
}

std::string Join(const std::string& directory, const std::string& name) {
  return directory == "/" ? "/" + name : directory + "/" + name;
}

Status Missing(const std::string& path) { return NotFound(path + " does not exist"); }

Status MissingFile(uint64_t file) {
  return NotFound("the file with id " + std::to_string(file) + " is not in the block store any more");
}

namespace {

std::vector<std::string> DamagedReplicas(const State& s, BlockId id) {
  std::vector<std::string> out;
  const Holders* h = s.holders.Find(id);
  if (h == nullptr) return out;
  for (const auto& r : h->replicas) {
    if (r.suspect) out.push_back(Name(r.worker) + " (" + s.workers.Find(r.worker)->address + ")");
  }
  return out;
}

// Adds the good holders of a block: the placed ones before the others, then nearest to `near` first: the same worker,
// its rack, the others. Equally near holders are in an order drawn from the block and the reader, so that readers
// spread. With a turn the order is drawn from the block alone, and each turn starts at another holder.
void AddHolders(const State& s, BlockId id, const std::string& near, uint32_t turn, LocatedBlock* out) {
  std::string rack;
  bool near_known = false;
  for (const auto& [w, worker] : s.workers.all()) {
    if (near.empty() || worker.address != near) continue;
    rack = worker.rack;
    near_known = true;
  }
  const auto distance = [&](WorkerId w) {
    const Worker& worker = *s.workers.Find(w);
    const int near_by = !near_known ? 2 : worker.address == near ? 0 : worker.rack == rack ? 1 : 2;
    return std::pair(!s.IsPlaced(id, w), near_by);
  };
  const uint64_t draw = Hash64(turn == 0 ? near : "", id.value);
  const auto rank = [&](WorkerId w) { return std::tuple(distance(w), MixHash(draw, w.value), w); };
  out->workers = s.GoodHolders(id);
  std::sort(out->workers.begin(), out->workers.end(), [&](WorkerId a, WorkerId b) { return rank(a) < rank(b); });
  for (auto from = out->workers.begin(); turn > 0 && from != out->workers.end();) {
    const auto to = std::find_if(from, out->workers.end(), [&](WorkerId w) { return distance(w) != distance(*from); });
    std::rotate(from, from + turn % (to - from), to);
    from = to;
  }
  for (const WorkerId w : out->workers) out->addresses.push_back(s.workers.Find(w)->address);
  out->damaged = DamagedReplicas(s, id);
}

// Returns the faults of one file; there are none if missing, corrupt and under_replicated are 0.
StoreHealth::Trouble TroubleOf(const State& s, const Node& node, uint32_t workers) {
  StoreHealth::Trouble t;
  t.blocks = static_cast<uint32_t>(node.blocks.size());
  const uint32_t possible = std::max(1u, std::min(node.replication, workers));
  std::set<std::string> damaged;
  for (const BlockId b : node.blocks) {
    if (s.PlacedHolders(b).size() >= possible) continue;
    const auto bad = DamagedReplicas(s, b);
    damaged.insert(bad.begin(), bad.end());
    ++(!s.GoodHolders(b).empty() ? t.under_replicated : bad.empty() ? t.missing : t.corrupt);
  }
  t.damaged.assign(damaged.begin(), damaged.end());
  return t;
}

}  // namespace

bool Collect(const State& s, uint64_t id, const std::string& path, const Rights& rights, const SeesFn& sees,
             std::vector<FileInfo>* out) {
  if (sees && !sees(id, rights)) return false;
  if (!s.nodes.Find(id)->directory) {
    out->push_back(InfoOf(s, id, path, rights));
    return true;
  }
  for (const uint64_t child : s.ChildrenOf(id)) {
    const std::string& name = s.nodes.Find(child)->name;
    if (name[0] == '_' || name[0] == '.') continue;
    if (!Collect(s, child, Join(path, name), RightsBelow(s, rights, child, name), sees, out)) return false;
  }
  return true;
}

Result<FileInfo> Namespace::Stat(const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const uint64_t id = impl_->state.Resolve(path);
  if (id == 0) return Missing(path);
  return InfoOf(impl_->state, id, path, RightsAt(impl_->state, path));
}

Result<std::vector<FileInfo>> Namespace::List(const std::string& path) const {
  MR_ASSIGN_OR_RETURN(ListedFiles all, List(path, "", SIZE_MAX));
  return std::move(all.entries);
}

Result<ListedFiles> Namespace::List(const std::string& path, const std::string& after, size_t bytes) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const State& s = impl_->state;
  const uint64_t id = s.Resolve(path);
  if (id == 0) return Missing(path);
  return ListIn(s, id, path, after, bytes, nullptr);
}

ListedFiles ListIn(const State& s, uint64_t id, const std::string& path, const std::string& after, size_t bytes,
                   const SeesFn& sees) {
  const Rights rights = RightsAt(s, path);
  if (!s.nodes.Find(id)->directory) return ListedFiles{{InfoOf(s, id, path, rights)}, false};
  ListedFiles out;
  size_t used = 0;
  auto it = after.empty() ? s.children.lower_bound({id, ""}) : s.children.upper_bound({id, after});
  for (; it != s.children.end() && it->first.first == id; ++it) {
    const std::string& name = it->first.second;
    // Unfinished outputs are hidden from lists. They are shown if asked for by name.
    if (id == kRoot && name == ".staging") continue;
    const Rights below = RightsBelow(s, rights, it->second, name);
    if (sees && !sees(it->second, below)) continue;
    const size_t size = kEntryBytes + path.size() + name.size();
    if (!out.entries.empty() && size > bytes - used) {
      out.more = true;
      break;
    }
    used += std::min(size, bytes - used);
    out.entries.push_back(InfoOf(s, it->second, Join(path, name), below));
  }
  return out;
}

Result<std::vector<FileInfo>> Namespace::FilesUnder(const std::string& path) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const uint64_t id = impl_->state.Resolve(path);
  if (id == 0) return Missing(path);
  std::vector<FileInfo> out;
  Collect(impl_->state, id, path, RightsAt(impl_->state, path), nullptr, &out);
  return out;
}

LocatedFile LocateIn(const State& s, uint64_t id, std::string path, uint64_t offset, uint64_t length,
                     const std::string& near, uint32_t turn) {
  const Node& node = *s.nodes.Find(id);
  LocatedFile out;
  const Rights rights = RightsAt(s, path);
  out.info = InfoOf(s, id, std::move(path), rights);
  out.inline_data = node.inline_data;
  const uint64_t end = length == 0 || length > UINT64_MAX - offset ? UINT64_MAX : offset + length;
  uint64_t at = 0;
  for (const BlockId b : node.blocks) {
    LocatedBlock located;
    located.block = s.RefOf(b);
    located.offset = at;
    at += located.block.length;
    if (at <= offset) continue;
    if (located.offset >= end || out.blocks.size() == kMaxLocated) break;
    AddHolders(s, b, near, turn, &located);
    out.blocks.push_back(std::move(located));
  }
  return out;
}

Result<LocatedFile> Namespace::Locate(const std::string& path, uint64_t offset, uint64_t length,
                                      const std::string& near, uint32_t turn) const {
  MR_RETURN_IF_ERROR(CheckPath(path));
  const State& s = impl_->state;
  const uint64_t id = s.Resolve(path);
  if (id == 0) return Missing(path);
  if (s.nodes.Find(id)->directory) return Rejected(path + " is a directory");
  return LocateIn(s, id, path, offset, length, near, turn);
}

Result<LocatedFile> Namespace::LocateFile(uint64_t file, uint64_t offset, uint64_t length, const std::string& near,
                                          uint32_t turn) const {
  const State& s = impl_->state;
  const Node* node = s.nodes.Find(file);
  if (node == nullptr || node->directory) return MissingFile(file);
  return LocateIn(s, file, s.PathOf(file), offset, length, near, turn);
}

LocatedBlock Namespace::Pipeline(const BlockAdded& added) const {
  const State& s = impl_->state;
  LocatedBlock out;
  out.block.id = added.block;
  for (const WorkerId w : added.targets) {
    const Worker* worker = s.workers.Find(w);
    if (worker == nullptr) continue;
    out.workers.push_back(w);
    out.addresses.push_back(worker->address);
  }
  return out;
}

std::optional<LocatedBlock> Namespace::Find(BlockId block) const {
  const State& s = impl_->state;
  if (!s.blocks.Has(block)) return std::nullopt;
  LocatedBlock out;
  out.block = s.RefOf(block);
  AddHolders(s, block, "", 0, &out);
  return out;
}

std::vector<MissingBlock> Namespace::MissingIn(uint64_t file) const {
  const State& s = impl_->state;
  std::vector<MissingBlock> missing;
  const Node* node = s.nodes.Find(file);
  if (node == nullptr) return missing;
  uint64_t at = 0;
  for (const BlockId b : node->blocks) {
    const uint64_t length = s.blocks.Find(b)->length;
    const Holders* h = s.holders.Find(b);
    if (h == nullptr || h->replicas.empty()) missing.push_back({b, at, length});
    at += length;
  }
  return missing;
}

bool Namespace::Unreadable(BlockId block) const {
  return impl_->state.blocks.Has(block) && impl_->state.PlacedHolders(block).empty();
}

StoreHealth Namespace::Health(size_t max_troubles) const {
  HealthWalk walk;
  AddHealth(&walk, std::numeric_limits<size_t>::max(), max_troubles);
  return std::move(walk.health);
}

bool Namespace::AddHealth(HealthWalk* walk, size_t most, size_t max_troubles, const NamesFn& names) const {
  const State& s = impl_->state;
  StoreHealth& out = walk->health;
  const uint32_t workers = s.EligibleWorkers();
  const uint64_t staging = s.Child(kRoot, ".staging");
  auto it = s.nodes.all().lower_bound(walk->from);
  for (size_t left = most; it != s.nodes.all().end() && left > 0; ++it) {
    const auto& [id, node] = *it;
    left -= std::min(left, 1 + node.blocks.size());
    // A node without a parent was removed, and a pin keeps it.
    if (node.directory || node.parent == 0 || (staging != 0 && s.IsUnder(id, staging))) continue;
    ++out.files;
    StoreHealth::Trouble t = TroubleOf(s, node, workers);
    if (t.missing + t.corrupt + t.under_replicated == 0) continue;
    const size_t kind = t.missing > 0 ? 0 : t.corrupt > 0 ? 1 : 2;
    ++(kind == 0 ? out.missing_files : kind == 1 ? out.corrupt_files : out.under_replicated_files);
    if (walk->troubles[kind].size() == max_troubles) continue;
    t.path = s.PathOf(id);
    if (names && !names(t.path)) continue;
    walk->troubles[kind].push_back(std::move(t));
  }
  if (it != s.nodes.all().end()) {
    walk->from = it->first;
    return false;
  }
  out.safe_mode = s.safe_mode.on;
  out.awaited.assign(s.safe_mode.awaited.begin(), s.safe_mode.awaited.end());
  for (const auto& [id, w] : s.workers.all()) {
    if (!w.disk_failed.empty()) out.failed_disks.push_back({id, w.address, w.disk_failed});
  }
  for (auto& kind : walk->troubles) {
    for (auto& t : kind) {
      if (out.troubles.size() < max_troubles) out.troubles.push_back(std::move(t));
    }
  }
  return true;
}

bool Namespace::in_safe_mode() const { return impl_->state.safe_mode.on; }
uint64_t Namespace::NextBlock() const { return impl_->state.counters.next_block; }
const NamespaceConfig& Namespace::config() const { return impl_->state.config; }

uint64_t Namespace::BytesOfOwner(const std::string& owner) const { return impl_->state.owner_bytes.Of(owner); }

uint64_t Namespace::BlocksOn(WorkerId worker) const {
  const auto it = impl_->state.on_worker.find(worker);
  return it == impl_->state.on_worker.end() ? 0 : it->second.size();
}

uint64_t Namespace::UsedOn(WorkerId worker) const {
  const Worker* found = impl_->state.workers.Find(worker);
  return found == nullptr ? 0 : found->used_bytes;
}

RepairCounts Namespace::Counts() const {
  RepairCounts counts;
  BlockId from;
  AddCounts(&from, std::numeric_limits<size_t>::max(), &counts);
  return counts;
}

void Namespace::AddCounts(BlockId* from, size_t most, RepairCounts* counts) const {
  const State& s = impl_->state;
  const uint32_t workers = s.EligibleWorkers();
  auto it = s.blocks.all().lower_bound(*from);
  for (; it != s.blocks.all().end() && most > 0; ++it, --most) {
    const auto& [id, block] = *it;
    if (const Holders* h = s.holders.Find(id)) {
      for (const auto& r : h->replicas) counts->suspect += r.suspect ? 1 : 0;
    }
    if (!block.sealed) continue;
    ++counts->blocks;
    counts->missing += s.GoodHolders(id).empty() ? 1 : 0;
    counts->under_replicated += s.PlacedHolders(id).size() < std::max(1u, std::min(s.WantedOf(block), workers)) ? 1 : 0;
  }
  counts->copying = s.copies.size();
  *from = it == s.blocks.all().end() ? BlockId{} : it->first;
}

}  // namespace mr::dfs
