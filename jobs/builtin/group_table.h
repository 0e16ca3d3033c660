// A hash table from keys (bytes) to numbers 0, 1, 2, ... in the order of first sight. Operators aggregate by it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/builtin/hash.h"

namespace mr::builtin {

class GroupTable {
 public:
  GroupTable() : slots_(kFirstSlots, kFree) {}

  // Returns the key's number. *added: it is new.
  uint32_t Find(std::string_view key, bool* added) {
    const uint64_t hash = HashBytes(key);
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at] != kFree; at = (at + 1) & (slots_.size() - 1)) {
      const uint32_t number = slots_[at];
      if (hashes_[number] == hash && Key(number) == key) {
        *added = false;
        return number;
      }
    }
    const auto number = static_cast<uint32_t>(hashes_.size());
    slots_[at] = number;
    hashes_.push_back(hash);
    bytes_.append(key);
    ends_.push_back(bytes_.size());
    if (2 * hashes_.size() > slots_.size()) Grow();
    *added = true;
    return number;
  }
  std::string_view Key(uint32_t number) const {
    const size_t from = number == 0 ? 0 : ends_[number - 1];
    return std::string_view(bytes_).substr(from, ends_[number] - from);
  }
  uint32_t size() const { return static_cast<uint32_t>(hashes_.size()); }
  // Returns the memory that it uses, about.
  size_t bytes() const { return bytes_.size() + hashes_.size() * 16 + slots_.size() * 4; }
  void Clear() {
    slots_.assign(kFirstSlots, kFree);
    hashes_.clear();
    ends_.clear();
    bytes_.clear();
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};
  static constexpr size_t kFirstSlots = 1024;

  void Grow() {
    slots_.assign(slots_.size() * 2, kFree);
    for (uint32_t number = 0; number < hashes_.size(); ++number) {
      size_t at = hashes_[number] & (slots_.size() - 1);
      while (slots_[at] != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = number;
    }
  }

  std::vector<uint32_t> slots_;  // a power of two, at most half full
  std::vector<uint64_t> hashes_;
  std::vector<size_t> ends_;
  std::string bytes_;
};

}  // namespace mr::builtin
