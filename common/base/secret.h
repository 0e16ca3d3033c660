// Secret<T>: a value that must not be printed, logged or left in freed memory: keys, tokens, proofs of daemons.
#pragma once

#include <string.h>

#include <array>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <utility>

namespace mr {

// Overwrites the bytes of a value; the compiler does not remove the writes.
inline void Wipe(std::string& value) {
  value.resize(value.capacity());
  explicit_bzero(value.data(), value.size());
  value.clear();
}
template <size_t kSize>
void Wipe(std::array<uint8_t, kSize>& value) {
  explicit_bzero(value.data(), kSize);
}

// Owns a value of a type that Wipe() takes. It has no stream operator and no conversion: a use is visible as Reveal().
// Movable; a copy is explicit. Thread: as T. Cost: as T, and one pass over its bytes at its end.
template <class T>
class Secret {
 public:
  Secret() = default;
  // Values are exchanged, because a short string that was moved from still has its bytes, and may not be used.
  explicit Secret(T value) {
    std::swap(value_, value);
    Wipe(value);
  }
  Secret(Secret&& other) noexcept {
    std::swap(value_, other.value_);
    Wipe(other.value_);
  }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    Wipe(value_);
    std::swap(value_, other.value_);
    Wipe(other.value_);
    return *this;
  }
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { Wipe(value_); }

  // Returns the value, for the one use that needs it. Do not keep a copy outside of a Secret.
  const T& Reveal() const { return value_; }
  Secret Copy() const { return Secret(value_); }

 private:
  T value_{};
};

template <class T>
std::ostream& operator<<(std::ostream&, const Secret<T>&) = delete;

}  // namespace mr
