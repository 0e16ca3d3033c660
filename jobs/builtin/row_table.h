// Rows by key, for one side of a hash join. Rows of one key are returned in the order of their addition. `hash` is
// HashBytes(key). Fast while it fits into a core's cache (a probe beyond is ten times as slow, measured), so tables are
// kept small by RowFiles.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "paceline/hash.h"

namespace mr::builtin {

class RowTable {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  RowTable() { Clear(0); }

  // Adds a row without copying it. `data`: the bytes of the key, then those of the rest.
  void Add(uint64_t hash, const char* data, size_t key_bytes, size_t rest_bytes) {
    const auto number = static_cast<uint32_t>(rows_.size());
    rows_.push_back({data, static_cast<uint32_t>(key_bytes), static_cast<uint32_t>(rest_bytes), kNone, number});
    Slot& slot = slots_[Place(hash, {data, key_bytes})];
    if (slot.head == kNone) {
      slot = {static_cast<uint32_t>(hash >> 32), number};
      hashes_.push_back(hash);
      heads_.push_back({number, number});
      rows_[number].head = static_cast<uint32_t>(heads_.size() - 1);
      if (2 * heads_.size() > slots_.size()) Grow();
      return;
    }
    Head& head = heads_[rows_[slot.head].head];
    rows_[number].head = rows_[slot.head].head;
    rows_[head.last].next = number;
    head.last = number;
  }
  // Adds a copy of a row.
  void AddCopy(uint64_t hash, std::string_view key, std::string_view rest) {
    char* data = Room(key.size() + rest.size());
    copied_ += key.size() + rest.size();
    std::memcpy(data, key.data(), key.size());
    std::memcpy(data + key.size(), rest.data(), rest.size());
    Add(hash, data, key.size(), rest.size());
  }

  // Returns the first row with the key, or kNone.
  uint32_t Find(uint64_t hash, std::string_view key) const { return slots_[Place(hash, key)].head; }
  uint32_t next(uint32_t row) const { return rows_[row].next; }
  std::string_view key(uint32_t row) const { return {rows_[row].data, rows_[row].key_bytes}; }
  std::string_view rest(uint32_t row) const { return {rows_[row].data + rows_[row].key_bytes, rows_[row].rest_bytes}; }

  // Marks a key, given any of its rows.
  void Mark(uint32_t row) { heads_[rows_[row].head].marked = true; }
  bool marked(uint32_t row) const { return heads_[rows_[row].head].marked; }

  uint32_t size() const { return static_cast<uint32_t>(rows_.size()); }
  // Returns the bytes in use, without the memory that Clear keeps. The memory is at most twice that.
  size_t bytes() const {
    return copied_ + rows_.size() * sizeof(Row) + slots_.size() * sizeof(Slot) + heads_.size() * (sizeof(Head) + 8);
  }
  // Removes all rows and makes slots for `rows` rows; more may be added.
  void Clear(size_t rows) {
    size_t slots = 1024;
    while (slots < 2 * rows) slots *= 2;
    slots_.assign(slots, {0, kNone});
    rows_.clear();
    heads_.clear();
    hashes_.clear();
    blocks_.clear();
    left_ = copied_ = 0;
  }

 private:
  static constexpr size_t kBlock = 1u << 20;
  struct Row {
    const char* data;
    uint32_t key_bytes, rest_bytes;
    uint32_t next;
    uint32_t head;  // index in heads_
  };
  struct Head {
    uint32_t first, last;
    bool marked = false;
  };
  struct Slot {
    uint32_t tag;
    uint32_t head;  // first row of the key
  };

  size_t Place(uint64_t hash, std::string_view key) const {
    size_t at = hash & (slots_.size() - 1);
    for (; slots_[at].head != kNone; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].tag == static_cast<uint32_t>(hash >> 32) && sdk::EqualBytes(this->key(slots_[at].head), key))
        break;
    }
    return at;
  }
  char* Room(size_t bytes) {
    if (bytes > kBlock / 4) {
      blocks_.push_back(std::make_unique<char[]>(bytes));
      left_ = 0;
      return blocks_.back().get();
    }
    if (left_ < bytes || blocks_.empty()) {  // an empty row has a place, too
      blocks_.push_back(std::unique_ptr<char[]>(new char[kBlock]));
      left_ = kBlock;
    }
    left_ -= bytes;
    return blocks_.back().get() + (kBlock - left_ - bytes);
  }
  void Grow() {
    slots_.assign(slots_.size() * 2, {0, kNone});
    for (size_t h = 0; h < heads_.size(); ++h) {
      size_t at = hashes_[h] & (slots_.size() - 1);
      while (slots_[at].head != kNone) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {static_cast<uint32_t>(hashes_[h] >> 32), heads_[h].first};
    }
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::vector<Row> rows_;
  std::vector<Head> heads_;       // one per key
  std::vector<uint64_t> hashes_;  // parallel to heads_
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t left_ = 0;    // free bytes of the last block
  size_t copied_ = 0;  // bytes of copied rows
};

}  // namespace mr::builtin
