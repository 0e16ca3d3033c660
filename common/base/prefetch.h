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

// Always inline: gcc takes a function that does no more than this for one without effect, and drops its calls.
[[gnu::always_inline]] inline void AskMemory(std::string_view bytes) {
  const size_t size = std::min(bytes.size(), kMostAskedBytes);
  for (size_t at = 0; at < size; at += kCacheLineBytes) __builtin_prefetch(bytes.data() + at);
}

}  // namespace mr
