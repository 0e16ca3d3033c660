// A map whose keys are texts and a number: facts (policy, scope, number, name) and timers (policy, number).
//
// Its order is that of the texts, so images, digests and walks do not depend on how entries are found. A lookup
// compares no texts of entries: texts are interned as small numbers, and a hash table finds the entry by that number
// and the key's own. Nothing outside can observe the interned numbers, nor the order of the hash tables.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/check.h"
#include "common/base/digest.h"

namespace mr::sched {

// A hash table with linear probing. Values move when it grows or something is erased.
template <class V>
class ProbedTable {
 public:
  // Returns the value with this hash for which same(value) is true, or null.
  template <class Same>
  const V* Find(uint64_t hash, Same&& same) const {
    if (size_ == 0) return nullptr;
    for (size_t i = Home(hash); slots_[i].taken; i = Next(i)) {
      if (slots_[i].hash == hash && same(slots_[i].value)) return &slots_[i].value;
    }
    return nullptr;
  }

  // Requires: no such value is in the table.
  void Insert(uint64_t hash, const V& value) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    ++size_;
    Put({hash, true, value});
  }

  // Requires: the value is one that Find has returned since the last change.
  void Erase(const V* value) {
    const auto* slot = reinterpret_cast<const Slot*>(reinterpret_cast<const char*>(value) - offsetof(Slot, value));
    size_t hole = static_cast<size_t>(slot - slots_.data());
    slots_[hole].taken = false;
    --size_;
    // Values that probed past the hole move up, so that every probe still ends at the first free slot.
    for (size_t i = Next(hole); slots_[i].taken; i = Next(i)) {
      const size_t from_home = (i - Home(slots_[i].hash)) & (slots_.size() - 1);
      if (from_home < ((i - hole) & (slots_.size() - 1))) continue;
      slots_[hole] = slots_[i];
      slots_[i].taken = false;
      hole = i;
    }
  }

 private:
  struct Slot {
    uint64_t hash = 0;
    bool taken = false;
    V value;
  };

  size_t Home(uint64_t hash) const { return hash & (slots_.size() - 1); }
  size_t Next(size_t i) const { return (i + 1) & (slots_.size() - 1); }
  void Put(const Slot& slot) {
    size_t i = Home(slot.hash);
    while (slots_[i].taken) i = Next(i);
    slots_[i] = slot;
  }
  void Grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.taken) Put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half of them taken
  size_t size_ = 0;
};

// Interns tuples of texts while something uses them.
template <size_t kTexts>
class NameTable {
 public:
  using Texts = std::array<std::string_view, kTexts>;

  // Returns the number of these texts, from 1; 0: nothing uses them.
  uint32_t Find(const Texts& texts) const { return Find(HashOf(texts), texts); }

  // Adds a use of these texts, and returns their number.
  uint32_t Use(const Texts& texts) {
    const uint64_t hash = HashOf(texts);
    uint32_t number = Find(hash, texts);
    if (number == 0) {
      if (free_.empty()) {
        names_.emplace_back();
        number = static_cast<uint32_t>(names_.size());
      } else {
        number = free_.back();
        free_.pop_back();
      }
      Name& name = names_[number - 1];
      for (size_t i = 0; i < kTexts; ++i) name.texts[i] = texts[i];
      numbers_.Insert(hash, number);
    }
    ++names_[number - 1].uses;
    return number;
  }

  // Removes a use. The number is free after the last one.
  void Drop(uint32_t number) {
    Name& name = names_[number - 1];
    if (--name.uses > 0) return;
    Texts texts;
    for (size_t i = 0; i < kTexts; ++i) texts[i] = name.texts[i];
    numbers_.Erase(numbers_.Find(HashOf(texts), [number](uint32_t other) { return other == number; }));
    free_.push_back(number);
  }

 private:
  struct Name {
    std::array<std::string, kTexts> texts;
    size_t uses = 0;
  };

  static uint64_t HashOf(const Texts& texts) {
    uint64_t hash = 0;
    for (const std::string_view text : texts) hash = Hash64(text, hash);
    return hash;
  }
  uint32_t Find(uint64_t hash, const Texts& texts) const {
    const uint32_t* number = numbers_.Find(hash, [&](uint32_t n) {
      for (size_t i = 0; i < kTexts; ++i) {
        if (names_[n - 1].texts[i] != texts[i]) return false;
      }
      return true;
    });
    return number == nullptr ? 0 : *number;
  }

  std::vector<Name> names_;
  std::vector<uint32_t> free_;
  ProbedTable<uint32_t> numbers_;
};

// Map: a std::map in the order of the keys' texts.
template <class Map, size_t kTexts>
class NamedMap {
 public:
  using Key = typename Map::key_type;
  using Value = typename Map::mapped_type;
  using Texts = typename NameTable<kTexts>::Texts;

  const Map& All() const { return map_; }

  // Returns null if there is none. Valid until the entry is erased.
  const Value* Find(const Texts& texts, uint64_t id) const {
    const Place* place = FindPlace(texts, id);
    return place == nullptr ? nullptr : &place->entry->second;
  }

  // Requires: there is none with this key. texts, id: those of the key.
  void Insert(const Texts& texts, uint64_t id, Key key, const Value& value) {
    const auto [entry, added] = map_.emplace(std::move(key), value);
    MR_CHECK(added, "a key is added once");
    const uint32_t name = names_.Use(texts);
    places_.Insert(HashOf(name, id), {id, name, entry});
  }

  void Update(const Value* found, const Value& value) { const_cast<Value&>(*found) = value; }

  // No-op if there is none.
  void Erase(const Texts& texts, uint64_t id) {
    const Place* place = FindPlace(texts, id);
    if (place == nullptr) return;
    const Place erased = *place;
    places_.Erase(place);
    names_.Drop(erased.name);
    map_.erase(erased.entry);
  }

 private:
  struct Place {
    uint64_t id = 0;
    uint32_t name = 0;
    typename Map::iterator entry;
  };

  static uint64_t HashOf(uint32_t name, uint64_t id) { return MixHash(name, id); }
  const Place* FindPlace(const Texts& texts, uint64_t id) const {
    const uint32_t name = names_.Find(texts);
    if (name == 0) return nullptr;
    return places_.Find(HashOf(name, id), [&](const Place& p) { return p.name == name && p.id == id; });
  }

  Map map_;
  NameTable<kTexts> names_;
  ProbedTable<Place> places_;
};

}  // namespace mr::sched
