// The state behind Namespace: what its parts (prepare, apply, repair, query, snapshot) share. Not
// for other folders. Entities live in tables that keep a digest of themselves; indexes beside them
// are derived and never hashed.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dfs/meta/namespace.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

// An ordered map that keeps the sum of its entries' hashes: equal contents, equal digest, however
// they came about. Values change through Change only.
template <class K, class V>
class Table {
 public:
  explicit Table(uint64_t salt) : salt_(salt) {}

  const V* Find(const K& key) const {
    const auto it = map_.find(key);
    return it == map_.end() ? nullptr : &it->second;
  }
  bool Has(const K& key) const { return map_.contains(key); }
  void Put(const K& key, V value) {
    Erase(key);
    digest_ += Hash(key, value);
    map_.emplace(key, std::move(value));
  }
  // f(V&) on the entry, which is made where missing.
  template <class F>
  void Change(const K& key, F f) {
    const auto [it, made] = map_.try_emplace(key);
    if (!made) digest_ -= Hash(key, it->second);
    f(it->second);
    digest_ += Hash(key, it->second);
  }
  void Erase(const K& key) {
    const auto it = map_.find(key);
    if (it == map_.end()) return;
    digest_ -= Hash(key, it->second);
    map_.erase(it);
  }
  void Clear() {
    map_.clear();
    digest_ = 0;
  }
  size_t size() const { return map_.size(); }
  const std::map<K, V>& all() const { return map_; }
  uint64_t digest() const { return digest_; }

 private:
  uint64_t Hash(const K& key, const V& value) const {
    std::string bytes;
    FieldWriter writer(&bytes);
    writer.Put(key);
    writer.Put(value);
    return Hash64(bytes, salt_);
  }
  uint64_t salt_;
  uint64_t digest_ = 0;
  std::map<K, V> map_;
};

inline constexpr uint64_t kRoot = 1;

struct Node {
  uint64_t parent = 0;  // 0 for the root
  std::string name;
  bool directory = false;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  std::vector<BlockId> blocks;
  uint64_t modified_unix_ms = 0;
  uint64_t lease = 0;  // the one that made the file
  std::string inline_data;
  template <class V>
  static void Fields(V&& v) {
    using T = Node;
    v(&T::parent, &T::name, &T::directory, &T::replication, &T::block_bytes, &T::blocks, &T::modified_unix_ms,
      &T::lease, &T::inline_data);
  }
};

struct Lease {
  std::string path;
  bool overwrite = false;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  std::string request_id;
  std::vector<BlockId> blocks;  // by index; 0 = not asked for yet
  std::vector<WorkerId> avoid;  // failed in the pipeline of the block being written
  template <class V>
  static void Fields(V&& v) {
    using T = Lease;
    v(&T::path, &T::overwrite, &T::replication, &T::block_bytes, &T::request_id, &T::blocks, &T::avoid);
  }
};

// The files that a job reads. A pinned file that is removed or overwritten leaves the tree and stays among the nodes,
// without a parent, until its last pin goes: as an open file of POSIX that was unlinked.
struct Pin {
  std::vector<uint64_t> files;
  template <class V>
  static void Fields(V&& v) {
    v(&Pin::files);
  }
};

struct Block {
  uint32_t generation = 1;
  uint64_t length = 0;
  uint64_t digest = 0;
  bool sealed = false;            // length and digest are known and final
  uint64_t node = 0, lease = 0;   // its owner: exactly one is not 0
  std::vector<WorkerId> targets;  // of its pipeline; empty once sealed
  template <class V>
  static void Fields(V&& v) {
    using T = Block;
    v(&T::generation, &T::length, &T::digest, &T::sealed, &T::node, &T::lease, &T::targets);
  }
};

struct Worker {
  Incarnation incarnation = 0;
  std::string address;
  std::string rack;
  bool draining = false;
  uint64_t capacity_bytes = 0;
  uint64_t used_bytes = 0;
  uint32_t open_blocks = 0;  // placed there and not sealed yet
  std::string disk_failed;   // why; empty: it works
  bool full = false;         // below what its disk keeps free: its replicas count, and it gets no new ones
  // Whether it may take new blocks, and whether its replicas count toward what files ask for.
  bool Eligible() const { return !draining && disk_failed.empty(); }
  template <class V>
  static void Fields(V&& v) {
    using T = Worker;
    v(&T::incarnation, &T::address, &T::rack, &T::draining, &T::capacity_bytes, &T::used_bytes, &T::open_blocks,
      &T::disk_failed, &T::full);
  }
};

struct Replica {
  WorkerId worker;
  BlockRef said;  // as the holder reported it
  bool suspect = false;
  bool aside = false;  // good, and damaged bytes of before are in the worker's quarantine
  template <class V>
  static void Fields(V&& v) {
    v(&Replica::worker, &Replica::said, &Replica::suspect, &Replica::aside);
  }
};

struct Holders {
  std::vector<Replica> replicas;  // by worker
  template <class V>
  static void Fields(V&& v) {
    v(&Holders::replicas);
  }
};

// A copy that was asked for and not yet reported.
struct Copying {
  WorkerId from, to;
  Instant since;
  template <class V>
  static void Fields(V&& v) {
    v(&Copying::from, &Copying::to, &Copying::since);
  }
};

// Sources and targets of copies of one block that failed. The next copy avoids them where it can.
struct Tried {
  std::vector<WorkerId> sources, targets;
  uint32_t failures = 0;
  Instant again;  // no copy before
  template <class V>
  static void Fields(V&& v) {
    v(&Tried::sources, &Tried::targets, &Tried::failures, &Tried::again);
  }
};

struct ReplicaKey {
  WorkerId worker;
  BlockId block;
  auto operator<=>(const ReplicaKey&) const = default;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaKey::worker, &ReplicaKey::block);
  }
};

struct SafeMode {
  bool on = true;
  Instant until;
  bool held = false;  // until an operator ends it
  std::vector<WorkerId> expected;
  std::set<WorkerId> awaited;  // alive before the master's start, and not back yet; also after safe mode
  template <class V>
  static void Fields(V&& v) {
    v(&SafeMode::on, &SafeMode::until, &SafeMode::expected, &SafeMode::held);
  }
};

struct Counters {
  uint64_t next_node = kRoot + 1, next_lease = 1, next_block = 1;
  template <class V>
  static void Fields(V&& v) {
    v(&Counters::next_node, &Counters::next_lease, &Counters::next_block);
  }
};

// Finds the next thing to repair without a walk over all that waits. Derived from `queue`, `copies`
// and `holders`. A block of `queue` is either in by_time or ready.
struct RepairIndex {
  // Fewest good replicas first: the order in which copies begin.
  using Rank = std::pair<size_t, BlockId>;
  struct Ready {
    size_t good = 0;
    std::vector<WorkerId> sources;  // that a copy may be read from
  };
  std::set<std::pair<Instant, BlockId>> by_time;
  std::map<BlockId, Ready> ready;               // examined; waits for one of its sources to be free
  std::map<WorkerId, std::set<Rank>> ready_at;  // the same, by source
  std::map<WorkerId, uint32_t> sending;         // copies under way, by source
  std::set<WorkerId> wake;                      // sources that may have room for a copy since the last pass
};

// Block ids that lost records of the journal may have given.
struct LostIds {
  uint64_t begin = 0, end = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&LostIds::begin, &LostIds::end);
  }
};

struct State {
  explicit State(NamespaceConfig c);

  const NamespaceConfig config;

  // Hard.
  std::vector<LostIds> lost_ids;
  Table<uint64_t, Node> nodes{1};
  Table<uint64_t, Lease> leases{2};
  Table<BlockId, Block> blocks{3};
  Counters counters;
  Table<uint64_t, Pin> pins{10};
  uint64_t next_pin = 1;
  // Derived from the hard part.
  std::map<uint64_t, uint32_t> pinned;  // file -> how many pins name it
  std::map<std::pair<uint64_t, std::string>, uint64_t> children;
  std::map<uint64_t, uint64_t> completed;    // lease -> the node that it made
  std::map<std::string, uint64_t> requests;  // request id -> open lease

  // Soft.
  Table<WorkerId, Worker> workers{4};
  Table<BlockId, Holders> holders{5};
  Table<BlockId, Copying> copies{6};
  Table<BlockId, Instant> queue{7};        // to be looked at, not before the instant
  Table<ReplicaKey, BlockRef> garbage{8};  // unreferenced, to be deleted after safe mode
  Table<uint64_t, Instant> deadlines{9};   // of leases
  SafeMode safe_mode;
  Table<BlockId, Tried> tried{10};  // failed copies of blocks that still need one
  // Has what is possible, which is less than its file asks for: looked at again when a worker comes, is back in service
  // or has room again.
  Table<BlockId, bool> short_of_workers{11};
  // Derived from the soft part.
  std::map<WorkerId, std::set<BlockId>> on_worker;
  RepairIndex repair;

  // Tree. 0 = there is none.
  uint64_t Resolve(const std::string& path) const;
  uint64_t Child(uint64_t directory, const std::string& name) const;
  std::string PathOf(uint64_t node) const;
  bool IsUnder(uint64_t node, uint64_t ancestor) const;
  std::vector<uint64_t> ChildrenOf(uint64_t directory) const;
  // The first of `path` and the directories above it that is a file, or "".
  std::string FileOnTheWay(const std::string& path) const;
  uint64_t MakeDirectories(const std::string& path, uint64_t unix_ms);
  uint64_t AddNode(Node node);
  // Takes the node and all below it out of the tree; the blocks of files that are not pinned are dropped.
  void RemoveTree(uint64_t node, std::vector<Effect>* effects);

  // Drops the blocks of a node that left the tree, and the node.
  void DropNode(uint64_t node, std::vector<Effect>* effects);

  // Pins (pins.cc).
  void AddPin(uint64_t pin, std::vector<uint64_t> files);
  void ReleasePin(uint64_t pin, std::vector<Effect>* effects);

  // Blocks.
  uint32_t WantedOf(const Block& block) const;  // configured, not cut to the number of workers
  bool Matches(const Block& block, const BlockRef& said) const;
  BlockRef RefOf(BlockId id) const;
  std::vector<WorkerId> GoodHolders(BlockId id) const;  // not suspect, on workers that are there
  uint32_t EligibleWorkers() const;                     // there, not draining, with a disk that works
  // Replicas that must be durable before a write of a file is acknowledged: max(1, min(2, R, K)), where
  // K counts the eligible workers and those that are awaited since the master's start.
  size_t MinDurable(uint32_t replication) const;
  void AddReplica(WorkerId worker, const BlockRef& said);
  void RemoveReplica(WorkerId worker, BlockId block);
  // The replica is damaged, or damaged bytes are in quarantine beside a good one (aside). One that was
  // not known here is known from now on.
  void SetDamaged(WorkerId worker, const BlockRef& said, bool aside);
  void Seal(const BlockRef& ref);
  void CloseTargets(Block* block);
  // The block is referenced no more.
  void DropBlock(BlockId id, std::vector<Effect>* effects);
  // A replica that nothing references: deleted now, or after safe mode.
  void Discard(WorkerId worker, const BlockRef& said, std::vector<Effect>* effects);

  // Repair (repair.cc). LookAt: something about the block changed; it is examined not before the instant.
  void LookAt(BlockId id, Instant not_before);
  // Examines what is due, then begins copies wherever a source is free.
  void Repair(Instant now, std::vector<Effect>* effects);
  void EndCopy(BlockId id);
  // The copy of this block failed; what is known of the cause decides whom the next one avoids.
  void CopyFailed(BlockId id, Instant now, bool source_failed);
  void Unqueue(BlockId id);
  void ClearRepairs();
  // Lost records may have given this id.
  bool Lost(BlockId id) const {
    return std::any_of(lost_ids.begin(), lost_ids.end(),
                       [id](const LostIds& ids) { return ids.begin <= id.value && id.value < ids.end; });
  }
  void MaybeLeaveSafeMode(Instant now, std::vector<Effect>* effects);

  // Parts of Repair.
  void SetDue(BlockId id, Instant not_before);
  void Examine(BlockId id, Instant now, std::vector<Effect>* effects);
  void BeginCopies(Instant now, std::vector<Effect>* effects);
  void BeginCopy(BlockId id, Instant now, std::vector<Effect>* effects);

  // After Restore: fills the derived indexes.
  void Reindex();
};

struct Namespace::Impl {
  explicit Impl(NamespaceConfig config) : state(config) {}
  State state;
};

// Components of a path that CheckPath took; none for "/".
std::vector<std::string> Components(const std::string& path);
// Of a path that is not "/": its directory and its last component.
std::pair<std::string, std::string> SplitPath(const std::string& path);

}  // namespace mr::dfs
