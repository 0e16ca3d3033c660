// Computes digests, and converts the hard state to and from bytes.
#include "dfs/meta/snapshot.h"

#include "dfs/meta/state.h"

namespace mr::dfs {
namespace {

template <class K, class V>
std::vector<ImageEntry<K, V>> Dump(const Table<K, V>& table) {
  std::vector<ImageEntry<K, V>> out;
  for (const auto& [key, value] : table.all()) out.push_back({key, value});
  return out;
}

template <class K, class V>
void Fill(std::vector<ImageEntry<K, V>> entries, Table<K, V>* table) {
  table->Clear();
  for (auto& e : entries) table->Put(e.key, std::move(e.value));
}

std::vector<OwnerEntry> DumpOwners(const Table<uint64_t, std::string>& table) {
  std::vector<OwnerEntry> out;
  for (const auto& [id, owner] : table.all()) out.push_back({id, owner});
  return out;
}

void FillOwners(std::vector<OwnerEntry> entries, Table<uint64_t, std::string>* table) {
  table->Clear();
  for (OwnerEntry& e : entries) table->Put(e.id, std::move(e.owner));
}

}  // namespace

uint64_t Namespace::HardDigest() const {
  const State& s = impl_->state;
  uint64_t h = HashFields(s.counters);
  for (const uint64_t part : {s.nodes.digest(), s.leases.digest(), s.blocks.digest(), s.pins.digest(), s.next_pin,
                              s.rules.digest(), s.lease_owners.digest(), s.placed.digest()}) {
    h = MixHash(h, part);
  }
  for (const LostIds& ids : s.lost_ids) h = MixHash(h, HashFields(ids));
  return h;
}

uint64_t Namespace::Digest() const {
  const State& s = impl_->state;
  uint64_t h = MixHash(HardDigest(), HashFields(s.safe_mode));
  for (const WorkerId w : s.safe_mode.awaited) h = MixHash(h, w.value);
  for (const uint64_t part :
       {s.workers.digest(), s.holders.digest(), s.copies.digest(), s.queue.digest(), s.garbage.digest(),
        s.deadlines.digest(), s.tried.digest(), s.short_of_workers.digest()}) {
    h = MixHash(h, part);
  }
  return h;
}

std::string Namespace::Snapshot() const {
  const State& s = impl_->state;
  HardState hard;
  hard.counters = s.counters;
  hard.nodes = Dump(s.nodes);
  hard.leases = Dump(s.leases);
  hard.blocks = Dump(s.blocks);
  const OwnersTail owners{Dump(s.rules), DumpOwners(s.lease_owners), {}};
  const PlacedTail placed{Dump(s.placed)};
  std::string bytes = EncodeFields(hard) + EncodeFields(PinsTail{s.next_pin, Dump(s.pins)});
  // A tail follows all tails before it.
  const bool has_owners = !owners.empty() || !placed.blocks.empty();
  if (!s.lost_ids.empty() || has_owners) bytes += EncodeFields(s.lost_ids);
  if (has_owners) bytes += EncodeFields(owners);
  if (!placed.blocks.empty()) bytes += EncodeFields(placed);
  return bytes;
}

Status Namespace::Restore(const std::string& bytes) {
  HardState hard;
  PinsTail tail;
  std::vector<LostIds> lost_ids;
  OwnersTail owners;
  PlacedTail placed;
  FieldReader reader(bytes);
  reader.Get(hard);
  if (reader.ok() && !reader.AtEnd()) reader.Get(tail);
  if (reader.ok() && !reader.AtEnd()) reader.Get(lost_ids);
  if (reader.ok() && !reader.AtEnd()) reader.Get(owners);
  if (reader.ok() && !reader.AtEnd()) reader.Get(placed);
  if (!reader.ok() || !reader.AtEnd() || hard.version != kSnapshotVersion) {
    return Corrupted("the namespace's snapshot cannot be read (damaged, or from another release)");
  }
  State& s = impl_->state;
  s.counters = hard.counters;
  s.lost_ids = std::move(lost_ids);
  Fill(std::move(hard.nodes), &s.nodes);
  Fill(std::move(hard.leases), &s.leases);
  Fill(std::move(hard.blocks), &s.blocks);
  Fill(std::move(tail.pins), &s.pins);
  s.next_pin = tail.next_pin;
  Fill(std::move(owners.rules), &s.rules);
  FillOwners(std::move(owners.leases), &s.lease_owners);
  Fill(std::move(placed.blocks), &s.placed);
  s.Reindex();
  return Status::Ok();
}

}  // namespace mr::dfs
