// A hash table from keys (bytes) to numbers 0, 1, 2, ... in the order of first sight. Operators aggregate by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/abi/growing_bytes.h"
#include "paceline/hash.h"

namespace mr::builtin {

class GroupTable {
 public:
  GroupTable() : slots_(kFirstSlots) {}

  // Returns the key's number. *added: it is new.
  uint32_t Find(std::string_view key, bool* added) {
    const auto tag = static_cast<uint32_t>(sdk::HashBytes(key));
    size_t at = tag & (slots_.size() - 1);
    for (; slots_[at].number != kFree; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tag == tag && sdk::EqualBytes(Key(slots_[at].number), key)) {
        *added = false;
        return slots_[at].number;
      }
    }
    const uint32_t number = size();
    slots_[at] = {tag, number};
    bytes_.Append(key);
    ends_.push_back(bytes_.size());
    if (2 * ends_.size() > slots_.size()) Grow();
    *added = true;
    return number;
  }
  std::string_view Key(uint32_t number) const {
    const size_t from = number == 0 ? 0 : ends_[number - 1];
    return {bytes_.data() + from, ends_[number] - from};
  }
  uint32_t size() const { return static_cast<uint32_t>(ends_.size()); }
  // Returns the memory that it uses, about.
  size_t bytes() const { return bytes_.size() + ends_.size() * sizeof(size_t) + slots_.size() * sizeof(Slot); }
  void Clear() {
    slots_.assign(kFirstSlots, Slot());
    ends_.clear();
    bytes_.Clear();
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  static constexpr size_t kFirstSlots = 1024;

  // tag: the lower half of the hash, so that a larger table is filled without reading the keys.
  struct Slot {
    uint32_t tag = 0, number = kFree;
  };

  void Grow() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.number == kFree) continue;
      size_t at = slot.tag & (slots_.size() - 1);
      while (slots_[at].number != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<size_t> ends_;
  GrowingBytes bytes_;
};

}  // namespace mr::builtin
