// Asks memory for bytes that will be read soon, so that the reader need not wait for them. Costs about a cycle a line;
// never faults, wherever the bytes are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mr {

inline constexpr size_t kCacheLineBytes = 64;
// Of what is longer the hardware asks for the rest by itself, once the first lines are read.
inline constexpr size_t kMostAskedBytes = 256;

// All of its lines. Always inline: gcc takes a function that does no more than this for one without effect, and drops
// its calls.
[[gnu::always_inline]] inline void AskMemory(const void* begin, size_t bytes) {
  for (size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(static_cast<const char*>(begin) + at);
}
[[gnu::always_inline]] inline void AskMemory(std::string_view bytes) {
  AskMemory(bytes.data(), std::min(bytes.size(), kMostAskedBytes));
}

}  // namespace mr
