// The state behind Namespace, shared by its parts (prepare, apply, repair, query, snapshot). Private to dfs/meta.
// Entities are in tables that keep a digest of themselves. Indexes are derived from the tables and never hashed.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "dfs/meta/namespace.h"
#include "dfs/meta/owner_bytes.h"
#include "dfs/meta/record.h"
#include "dfs/meta/rules.h"

namespace mr::dfs {

// An ordered map with the sum of its entries' hashes. Equal contents have equal digests, whatever their history. Values
// change through Change only.
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
  // Calls f(V&) on the entry, which is created if it is missing.
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
  uint64_t parent = 0;  // 0: the root
  std::string name;
  bool directory = false;
  uint32_t replication = 0;
  uint64_t block_bytes = 0;
  std::vector<BlockId> blocks;
  uint64_t modified_unix_ms = 0;
  uint64_t lease = 0;  // the lease that made the file
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
  std::vector<BlockId> blocks;  // by index; 0 = not requested yet
  std::vector<WorkerId> avoid;  // failed in the pipeline of the block being written
  template <class V>
  static void Fields(V&& v) {
    using T = Lease;
    v(&T::path, &T::overwrite, &T::replication, &T::block_bytes, &T::request_id, &T::blocks, &T::avoid);
  }
};

// The files that a job reads. A pinned file that is removed or overwritten leaves the tree, but stays among the nodes
// without a parent until its last pin is released. It is like an open file of POSIX that was unlinked.
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
  bool sealed = false;            // length and digest are final
  uint64_t node = 0, lease = 0;   // its owner: exactly one of them is not 0
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
  std::string disk_failed;   // reason; empty: the disk works
  bool full = false;         // less free than it must keep: no new replicas; those it has count
  // Returns whether it may take new blocks, and whether its replicas count toward what files ask for.
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
  bool aside = false;  // good; damaged bytes of an earlier replica are in quarantine
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

// The workers on which the master ordered a replica of a block, and has not ordered to delete it. Only their replicas
// count toward what the file asks for. Any worker can report any block, so others are read and copied only where no
// placed replica is good (adr/0004).
struct Placed {
  std::vector<WorkerId> workers;
  template <class V>
  static void Fields(V&& v) {
    v(&Placed::workers);
  }
};

// A copy that was requested and not yet reported.
struct Copying {
  WorkerId from, to;
  Instant since;
  template <class V>
  static void Fields(V&& v) {
    v(&Copying::from, &Copying::to, &Copying::since);
  }
};

// Sources and targets of failed copies of one block. The next copy avoids them if it can.
struct Tried {
  std::vector<WorkerId> sources, targets;
  uint32_t failures = 0;
  Instant again;                  // no copy before this instant
  std::vector<WorkerId> ordered;  // all targets since the block needs a copy; one of them may still report it
  template <class V>
  static void Fields(V&& v) {
    v(&Tried::sources, &Tried::targets, &Tried::failures, &Tried::again, &Tried::ordered);
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
  std::set<WorkerId> awaited;  // alive before the master's start, and absent since, even after safe mode
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

// Finds the next repair without a walk over all waiting blocks. Derived from `queue`, `copies` and `holders`. A block
// of `queue` is in either by_time or ready.
struct RepairIndex {
  // Fewest counting replicas first: the order in which copies start.
  using Rank = std::pair<size_t, BlockId>;
  struct Ready {
    size_t good = 0;
    std::vector<WorkerId> sources;  // workers that a copy may be read from
  };
  std::set<std::pair<Instant, BlockId>> by_time;
  std::map<BlockId, Ready> ready;               // examined; waits until one of its sources is free
  std::map<WorkerId, std::set<Rank>> ready_at;  // the same, by source
  std::map<WorkerId, uint32_t> sending;         // copies in progress, by source
  std::set<WorkerId> wake;                      // sources that may have a free slot for a copy since the last pass
};

// Block ids that lost records of the journal may have assigned.
struct LostIds {
  uint64_t begin = 0, end = 0;
  template <class V>
  static void Fields(V&& v) {
    v(&LostIds::begin, &LostIds::end);
  }
};

struct State {
  explicit State(NamespaceConfig c);
  ~State();

  const NamespaceConfig config;

  // Hard part.
  std::vector<LostIds> lost_ids;
  Table<uint64_t, Node> nodes{1};
  Table<uint64_t, Lease> leases{2};
  Table<BlockId, Block> blocks{3};
  Counters counters;
  Table<uint64_t, Pin> pins{10};
  uint64_t next_pin = 1;
  Table<uint64_t, Rule> rules{12};                // by node
  Table<uint64_t, std::string> lease_owners{13};  // subjects of writers; a lease without an entry is kNoOwner's
  // By block. A block without an entry is of a release that did not note them: all of its replicas count.
  Table<BlockId, Placed> placed{15};
  // Derived from the hard part.
  std::map<uint64_t, uint32_t> pinned;  // file -> number of its pins
  std::map<std::pair<uint64_t, std::string>, uint64_t> children;
  std::map<uint64_t, uint64_t> completed;    // lease -> the node of its file
  std::map<std::string, uint64_t> requests;  // request id -> open lease
  OwnerBytes owner_bytes;

  // Soft part.
  Table<WorkerId, Worker> workers{4};
  Table<BlockId, Holders> holders{5};
  Table<BlockId, Copying> copies{6};
  Table<BlockId, Instant> queue{7};        // to be examined, not before the instant
  Table<ReplicaKey, BlockRef> garbage{8};  // unreferenced, to be deleted after safe mode
  Table<uint64_t, Instant> deadlines{9};   // of leases
  SafeMode safe_mode;
  Table<BlockId, Tried> tried{10};  // failed copies of blocks that still need one
  // Blocks with all possible replicas, which are fewer than their files ask for. Examined again when a worker
  // registers, returns to service or has space again.
  Table<BlockId, bool> short_of_workers{11};
  // Derived from the soft part.
  std::map<WorkerId, std::set<BlockId>> on_worker;
  RepairIndex repair;

  // The tree. These return a node's id; 0 = not found.
  uint64_t Resolve(const std::string& path) const;
  uint64_t Child(uint64_t directory, const std::string& name) const;
  std::string PathOf(uint64_t node) const;
  bool IsUnder(uint64_t node, uint64_t ancestor) const;
  std::vector<uint64_t> ChildrenOf(uint64_t directory) const;
  // Returns the first file among `path` and the directories above it, or "".
  std::string FileOnTheWay(const std::string& path) const;
  uint64_t MakeDirectories(const std::string& path, uint64_t unix_ms);
  uint64_t AddNode(Node node);
  // Removes the node and all below it from the tree. Drops the blocks of files that are not pinned.
  void RemoveTree(uint64_t node, std::vector<Effect>* effects);

  // Drops a node that left the tree, and its blocks.
  void DropNode(uint64_t node, std::vector<Effect>* effects);

  // Pins (pins.cc).
  void AddPin(uint64_t pin, std::vector<uint64_t> files);
  void ReleasePin(uint64_t pin, std::vector<Effect>* effects);

  // Blocks.
  uint32_t WantedOf(const Block& block) const;  // configured, not limited to the number of workers
  bool Matches(const Block& block, const BlockRef& said) const;
  BlockRef RefOf(BlockId id) const;
  std::vector<WorkerId> GoodHolders(BlockId id) const;    // not suspect, on registered workers
  bool IsPlaced(BlockId id, WorkerId worker) const;       // see Placed; true for a block without an entry
  std::vector<WorkerId> PlacedHolders(BlockId id) const;  // the good holders that count
  uint32_t EligibleWorkers() const;                       // registered, not draining, with a working disk
  // Returns the number of replicas that must be durable before a write is acknowledged: max(1, min(2, R, K)). K counts
  // the eligible workers and those awaited since the master's start.
  size_t MinDurable(uint32_t replication) const;
  void AddReplica(WorkerId worker, const BlockRef& said);
  void RemoveReplica(WorkerId worker, BlockId block);
  // Marks the replica as damaged, or notes damaged bytes in quarantine beside a good one (aside). Adds the replica if
  // it was not known.
  void SetDamaged(WorkerId worker, const BlockRef& said, bool aside);
  void Seal(const BlockRef& ref);
  void CloseTargets(Block* block);
  // Drops a block that nothing references any more.
  void DropBlock(BlockId id, std::vector<Effect>* effects);
  // Deletes an unreferenced replica, now or after safe mode.
  void Discard(WorkerId worker, const BlockRef& said, std::vector<Effect>* effects);

  // Repair (repair.cc). LookAt: queues a block that has changed, to be examined at the instant or later.
  void LookAt(BlockId id, Instant not_before);
  // Examines the blocks that are due, then starts copies at free sources.
  void Repair(Instant now, std::vector<Effect>* effects);
  void EndCopy(BlockId id);
  // Notes a failed copy of this block. source_failed decides which worker the next copy avoids.
  void CopyFailed(BlockId id, Instant now, bool source_failed);
  void Unqueue(BlockId id);
  void ClearRepairs();
  // Returns whether lost records may have assigned this id.
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

  // Fills the derived indexes after Restore.
  void Reindex();
};

inline bool Contains(const std::vector<WorkerId>& list, WorkerId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

struct Namespace::Impl {
  explicit Impl(NamespaceConfig config);
  State state;
};

// Returns the components of a path that passed CheckPath; none for "/".
std::vector<std::string> Components(const std::string& path);
// Returns directory and last component of a path other than "/".
std::pair<std::string, std::string> SplitPath(const std::string& path);

}  // namespace mr::dfs
