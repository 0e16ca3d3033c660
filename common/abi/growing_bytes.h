// A string of bytes that grows by short pieces. Where each record adds a key and a value of some ten bytes, std::string
// spends more time on calls than on copying (measured: a third of the time of a join's map).
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace mr {

// Copies n bytes like memcpy, without a call where n is at most 32.
inline void CopyShort(char* to, const char* from, size_t n) {
  struct Half {
    uint64_t a, b;
  };
  const auto two = [&]<class T>(T) {
    T first, last;  // they overlap
    std::memcpy(&first, from, sizeof(T));
    std::memcpy(&last, from + n - sizeof(T), sizeof(T));
    std::memcpy(to, &first, sizeof(T));
    std::memcpy(to + n - sizeof(T), &last, sizeof(T));
  };
  if (n > 32) {
    std::memcpy(to, from, n);
  } else if (n >= 16) {
    two(Half{});
  } else if (n >= 8) {
    two(uint64_t{});
  } else if (n >= 4) {
    two(uint32_t{});
  } else if (n >= 2) {
    two(uint16_t{});
  } else if (n == 1) {
    *to = *from;
  }
}

// The growing string. Movable, not copyable. Keeps its memory when cleared.
class GrowingBytes {
 public:
  GrowingBytes() = default;
  GrowingBytes(GrowingBytes&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  GrowingBytes& operator=(GrowingBytes&& other) noexcept {
    if (this == &other) return *this;
    std::free(data_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    room_ = std::exchange(other.room_, 0);
    return *this;
  }
  ~GrowingBytes() { std::free(data_); }

  void Append(std::string_view bytes) { CopyShort(Extend(bytes.size()), bytes.data(), bytes.size()); }
  // Appends n bytes and returns their place. The caller must write them before the next call.
  char* Extend(size_t n) {
    if (room_ - size_ < n) Grow(n);
    char* at = data_ + size_;
    size_ += n;
    return at;
  }
  void Clear() { size_ = 0; }
  // Requires: size <= size().
  void Shrink(size_t size) { size_ = size; }
  const char* data() const { return data_; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_, size_}; }

 private:
  void Grow(size_t n) {
    size_t room = room_ < 64 ? 64 : room_ * 2;
    while (room - size_ < n) room *= 2;
    auto* data = static_cast<char*>(std::realloc(data_, room));
    if (data == nullptr) throw std::bad_alloc();
    data_ = data;
    room_ = room;
  }

  char* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

}  // namespace mr
