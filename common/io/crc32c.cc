#include "common/io/crc32c.h"

#include <isa-l/crc.h>

#include <algorithm>

namespace mr {
namespace {

// ISA-L's code for AVX-512 leaves the upper halves of the vector registers in use. Code for SSE that runs afterwards
// then waits for them, until some other function clears them (measured: 1.1 times the time of a whole word count).
[[gnu::noinline]] void ClearUpperHalves() {
#ifdef __x86_64__
  static const bool has_avx = __builtin_cpu_supports("avx") != 0;
  if (has_avx) asm volatile("vzeroupper");
#endif
}

}  // namespace

uint32_t Crc32c(std::string_view bytes, uint32_t crc) {
  constexpr size_t kMost = 1 << 30;  // ISA-L takes the length as an int
  crc = ~crc;
  while (!bytes.empty()) {
    const size_t n = std::min(bytes.size(), kMost);
    // It does not write to the bytes; its prototype lacks the const.
    auto* data = reinterpret_cast<unsigned char*>(const_cast<char*>(bytes.data()));
    crc = crc32_iscsi(data, static_cast<int>(n), crc);
    bytes.remove_prefix(n);
  }
  ClearUpperHalves();
  return ~crc;
}

}  // namespace mr
