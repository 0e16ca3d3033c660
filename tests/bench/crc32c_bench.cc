// CRC-32C as it is used (ISA-L) beside the loop of one SSE4.2 instruction for each 8 bytes, in the same run: at the
// sizes of journal records, of a page and of chunks up to 1 MiB. Processor time of this thread, which other load on the
// machine disturbs little. Medians of 21 rounds in turn.
#include <time.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "common/io/crc32c.h"
#include "tests/bench/report.h"

namespace mr::bench {
namespace {

double Seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) uint32_t Loop(std::string_view bytes) {
  const char* at = bytes.data();
  size_t n = bytes.size();
  uint64_t wide = ~0u;
  for (; n >= 8; at += 8, n -= 8) {
    uint64_t word;
    std::memcpy(&word, at, 8);
    wide = __builtin_ia32_crc32di(wide, word);
  }
  auto crc = static_cast<uint32_t>(wide);
  for (; n > 0; ++at, --n) crc = __builtin_ia32_crc32qi(crc, static_cast<uint8_t>(*at));
  return ~crc;
}
#else
uint32_t Loop(std::string_view) { Die("the loop is written for x86-64"); }
#endif

// Returns the nanoseconds of one call. It reads the buffer at changing places, as records and chunks lie.
template <class F>
double Once(const std::string& buffer, size_t size, F crc) {
  const size_t calls = (8u << 20) / std::max<size_t>(size, 64);
  uint32_t sum = 0;
  size_t at = 0;
  const double begin = Seconds();
  for (size_t i = 0; i < calls; ++i) {
    sum ^= crc(std::string_view(buffer).substr(at, size));
    at = (at + size + 8) % (buffer.size() - size);
  }
  const double seconds = Seconds() - begin;
  if (sum == 1) std::printf(" ");  // uses the sums
  return seconds / static_cast<double>(calls) * 1e9;
}

int Main() {
  std::string buffer(3 << 20, '\0');
  for (size_t i = 0; i < buffer.size(); ++i) buffer[i] = static_cast<char>(i * 31 + (i >> 8));
  std::printf("%10s %12s %12s %12s %12s %8s\n", "bytes", "loop ns", "ISA-L ns", "loop GB/s", "ISA-L GB/s", "ratio");
  for (const size_t size : {4, 16, 32, 64, 128, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576}) {
    const std::string_view bytes = std::string_view(buffer).substr(1, size);
    if (Loop(bytes) != Crc32c(bytes)) Die("the two differ at " + std::to_string(size) + " bytes");
    std::vector<double> loop, isal;
    for (int round = 0; round < 21; ++round) {
      loop.push_back(Once(buffer, size, Loop));
      isal.push_back(Once(buffer, size, [](std::string_view b) { return Crc32c(b); }));
    }
    const double a = Median(loop), b = Median(isal);
    std::printf("%10zu %12.1f %12.1f %12.2f %12.2f %8.2f\n", size, a, b, static_cast<double>(size) / a,
                static_cast<double>(size) / b, b / a);
  }
  return 0;
}

}  // namespace
}  // namespace mr::bench

int main() { return mr::bench::Main(); }
