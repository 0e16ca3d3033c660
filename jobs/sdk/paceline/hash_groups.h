// Groups of one key, each with a total, in an open-addressing table. The base classes HashReducer and HashCombiner work
// with it (operator.h). Not for concurrent use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/growing_bytes.h"
#include "paceline/hash.h"
#include "paceline/key_sort.h"

namespace mr::sdk {

// V: default-constructible and movable. Groups are numbered in the order of first sight.
template <class V>
class HashGroups {
 public:
  HashGroups() { Clear(); }

  // Adds the records of a batch. For each it calls take(total, record, is_new): total is a V&, as default-constructed
  // for a new group. full() is called before a new group, where the table has more than `most_bytes`; it must Clear().
  template <class Take, class Full>
  void Add(const BatchView& view, size_t most_bytes, Take&& take, Full&& full) {
    // The memory of a window's slots and groups is prefetched together. With a million groups that takes a third of the
    // time (measured; the size is a guess).
    constexpr uint32_t kWindow = 32;
    std::array<uint32_t, kWindow> tags;
    for (uint32_t from = 0; from < view.size(); from += kWindow) {
      const uint32_t n = std::min(kWindow, view.size() - from);
      for (uint32_t i = 0; i < n; ++i) {
        tags[i] = static_cast<uint32_t>(HashBytes(view.key(from + i)));
        __builtin_prefetch(&slots_[tags[i] & mask_]);
      }
      for (uint32_t i = 0; i < n; ++i) {
        const Slot& slot = slots_[tags[i] & mask_];
        if (slot.tag == tags[i] && slot.group < size_) __builtin_prefetch(&At(slot.group));
      }
      for (uint32_t i = 0; i < n; ++i) {
        const std::string_view key = view.key(from + i);
        const uint64_t prefix = KeyPrefix(key);
        uint32_t group = Find(tags[i], prefix, key);
        const bool is_new = group == kFree;
        if (is_new) {
          if (bytes() > most_bytes) full();
          group = Insert(tags[i], prefix, key);
        }
        take(At(group).total, from + i, is_new);
      }
    }
  }

  uint32_t size() const { return size_; }
  std::string_view key(uint32_t group) const { return {At(group).key, At(group).key_size}; }
  V& total(uint32_t group) { return At(group).total; }
  // Returns the memory in use, with the memory for a sort by key, without what totals have on the heap. A growing table
  // takes up to 8 bytes per group more for a moment.
  size_t bytes() const { return key_bytes_ + slots_.size() * sizeof(Slot) + size_ * (sizeof(Group) + sizeof(KeyItem)); }

  // Returns the groups in key order; number: the group.
  std::vector<KeyItem> InKeyOrder() const {
    std::vector<KeyItem> items;
    items.reserve(size_);
    for (uint32_t g = 0; g < size_; ++g) items.push_back({At(g).prefix, g});
    KeySort<HashGroups>::Sort(*this, items);
    return items;
  }
  // Prefetch a group, and then, some groups later, its key.
  void Prefetch(uint32_t group) const { __builtin_prefetch(&At(group)); }
  void PrefetchKey(uint32_t group, size_t from = 0) const { __builtin_prefetch(At(group).key + from); }

  // Removes all groups and frees their memory.
  void Clear() {
    slots_.assign(kFirstSlots, Slot());
    mask_ = kFirstSlots - 1;
    chunks_.clear();
    blocks_.clear();
    size_ = 0;
    left_ = key_bytes_ = 0;
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  static constexpr size_t kFirstSlots = 1024;
  static constexpr uint32_t kChunk = 4096;      // groups that are allocated together (guess)
  static constexpr size_t kBlock = 256u << 10;  // bytes of keys that are allocated together (guess)

  // tag: the lower half of the hash, so that a larger table is filled without reading the keys.
  struct Slot {
    uint32_t tag = 0, group = kFree;
  };
  struct Group {
    uint64_t prefix = 0;  // of the key: short keys are compared without reading their memory, and sorted by it
    const char* key = nullptr;
    uint32_t key_size = 0;
    V total{};
  };

  Group& At(uint32_t group) { return chunks_[group / kChunk][group % kChunk]; }
  const Group& At(uint32_t group) const { return chunks_[group / kChunk][group % kChunk]; }

  uint32_t Find(uint32_t tag, uint64_t prefix, std::string_view key) const {
    for (size_t at = tag & mask_; slots_[at].group != kFree; at = (at + 1) & mask_) {
      if (slots_[at].tag != tag) continue;
      const Group& group = At(slots_[at].group);
      if (group.prefix == prefix && group.key_size == key.size() &&
          (key.size() <= 8 || std::memcmp(group.key + 8, key.data() + 8, key.size() - 8) == 0)) {
        return slots_[at].group;
      }
    }
    return kFree;
  }

  uint32_t Insert(uint32_t tag, uint64_t prefix, std::string_view key) {
    if (size_ % kChunk == 0) chunks_.emplace_back(kChunk);
    Group& group = At(size_);
    group.prefix = prefix;
    char* const bytes = Room(key.size());
    CopyShort(bytes, key.data(), key.size());
    group.key = bytes;
    group.key_size = static_cast<uint32_t>(key.size());
    key_bytes_ += key.size();
    Place({tag, size_});
    ++size_;
    if (2 * size_t{size_} > slots_.size()) Grow();
    return size_ - 1;
  }
  void Place(Slot slot) {
    size_t at = slot.tag & mask_;
    while (slots_[at].group != kFree) at = (at + 1) & mask_;
    slots_[at] = slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.group != kFree) Place(slot);
    }
  }
  char* Room(size_t bytes) {
    if (bytes > kBlock / 4) {
      blocks_.push_back(std::unique_ptr<char[]>(new char[bytes]));
      left_ = 0;
      return blocks_.back().get();
    }
    if (left_ < bytes || blocks_.empty()) {
      blocks_.push_back(std::unique_ptr<char[]>(new char[kBlock]));
      left_ = kBlock;
    }
    left_ -= bytes;
    return blocks_.back().get() + (kBlock - left_ - bytes);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  size_t mask_ = 0;
  std::vector<std::vector<Group>> chunks_;  // groups stay where they are
  uint32_t size_ = 0;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t left_ = 0;  // free bytes of the last block
  size_t key_bytes_ = 0;
};

}  // namespace mr::sdk
