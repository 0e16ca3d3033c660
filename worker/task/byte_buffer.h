// Bytes that a reader has fetched and not yet delivered. New bytes are read into it without being cleared first.
// Records that are whole can be delivered in place, as a batch whose header is written in front of them.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "common/abi/batch.h"
#include "worker/task/kept_memory.h"

namespace mr::task {

class ByteBuffer {
 public:
  ByteBuffer() = default;
  ~ByteBuffer() { std::free(data_); }
  ByteBuffer(const ByteBuffer&) = delete;
  ByteBuffer& operator=(const ByteBuffer&) = delete;

  std::string_view unread() const { return {data_ + begin_, end_ - begin_}; }
  size_t size() const { return end_ - begin_; }
  // Appends n bytes and returns their place, which the caller fills. Views become invalid.
  char* Extend(size_t n) {
    Reserve(n);
    char* at = data_ + end_;
    end_ += n;
    return at;
  }
  void Append(std::string_view bytes) { std::memcpy(Extend(bytes.size()), bytes.data(), bytes.size()); }
  // Removes the last n bytes.
  void Shorten(size_t n) { end_ -= n; }
  // Marks the first n bytes as delivered. They stay in memory until Compact or Extend.
  void Consume(size_t n) { begin_ += n; }
  // Moves the unread bytes to the front.
  void Compact() {
    if (data_ == nullptr || begin_ == kFront) return;
    std::memmove(data_ + kFront, data_ + begin_, size());
    end_ = kFront + size();
    begin_ = kFront;
  }
  // Returns a batch of n records with the first n * record_bytes unread bytes as values and without keys, or an empty
  // view where these bytes are not aligned as a batch must be. Overwrites delivered bytes. Valid as long as the bytes.
  std::string_view BatchInPlace(uint32_t n, uint64_t record_bytes) {
    char* const bytes = data_ + begin_;
    char* const at = bytes - sizeof(BatchHeader);
    if (begin_ < sizeof(BatchHeader) || reinterpret_cast<uintptr_t>(at) % 4 != 0) return {};
    BatchHeader h{};
    h.magic = kBatchMagic;
    h.version = kBatchVersion;
    h.flags = kFixedKeys | kFixedValues;
    h.n = n;
    h.fixed_value = static_cast<uint32_t>(record_bytes);
    h.value_bytes = static_cast<uint32_t>(n * record_bytes);
    std::memcpy(at, &h, sizeof h);
    return {at, sizeof h + n * record_bytes};
  }

 private:
  static constexpr size_t kFront = 64;  // room for a header before the first unread byte, and for its alignment
  static_assert(kFront >= sizeof(BatchHeader));

  void Reserve(size_t n) {
    if (data_ != nullptr && end_ + n <= room_) return;
    // The first read leaves the rest of a record, before which the next one needs room.
    size_t room = room_ == 0 ? kFront + n + n / 4 : room_ * 2;
    while (room < end_ + n) room *= 2;
    data_ = static_cast<char*>(AllocateOrThrow([&] { return std::realloc(data_, room); }));
    room_ = room;
  }

  char* data_ = nullptr;
  size_t begin_ = kFront, end_ = kFront, room_ = 0;
};

}  // namespace mr::task
