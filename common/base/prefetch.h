// Prefetches bytes that will be read soon, so that the reader need not wait for memory. Never faults, wherever the
// bytes are. Cost: about a cycle per cache line.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mr {

inline constexpr size_t kCacheLineBytes = 64;
// The longest prefetch of a string. The hardware prefetches the rest once the first lines are read.
inline constexpr size_t kMostAskedBytes = 256;

// Prefetches all cache lines of the bytes. Always inline: gcc drops the calls of a function that only prefetches, as if
// it had no effect.
[[gnu::always_inline]] inline void AskMemory(const void* begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(static_cast<const char*>(begin) + at);
}
[[gnu::always_inline]] inline void AskMemory(std::string_view bytes) {
  AskMemory(bytes.data(), std::min(bytes.size(), kMostAskedBytes));
}

}  // namespace mr
