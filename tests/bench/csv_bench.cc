// Measures the scan for the ends of CSV records and for the states of splits. Beside it runs a scan by the parity of
// quotes, which is wrong for quotes within unquoted fields. GB/s of one core, the best of nine passes over 64 MB in
// memory.
#include <bit>
#include <chrono>
#include <cstdio>
#include <functional>
#include <string>

#include "common/abi/csv_scan.h"
#include "common/base/rng.h"

namespace mr {
namespace {

// Scans by counting quotes only.
template <class F>
void ForEachEndByParity(std::string_view text, F&& f) {
  bool quoted = false;
  for (size_t at = 0; at + 64 <= text.size(); at += 64) {
    const char* p = text.data() + at;
    const uint64_t inside = PrefixParity(EqualMask64(p, '"')) ^ (quoted ? ~uint64_t{0} : 0);
    for (uint64_t ends = EqualMask64(p, '\n') & ~inside; ends != 0; ends &= ends - 1) {
      f(at + static_cast<size_t>(std::countr_zero(ends)) + 1);
    }
    quoted = inside >> 63 != 0;
  }
}

volatile uint64_t g_sink;  // keeps the compiler from removing a pass

double Speed(size_t bytes, const std::function<uint64_t()>& pass) {
  double best = 1e9;
  for (int i = 0; i < 9; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    g_sink = pass();
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return static_cast<double>(bytes) / best / 1e9;
}

void Report(const char* name, const CsvDialect& dialect, const std::function<std::string(Rng&)>& line) {
  Rng rng(1);
  std::string text;
  while (text.size() < 64'000'000) text += line(rng) + "\n";
  const double ends_parity = Speed(text.size(), [&] {
    uint64_t sum = 0;
    ForEachEndByParity(text, [&](size_t end) { sum += end; });
    return sum;
  });
  const double ends = Speed(text.size(), [&] {
    uint64_t sum = 0;
    CsvScan scan;
    ForEachCsvEnd(text, dialect, &scan, [&](size_t end, bool) {
      sum += end;
      return true;
    });
    return sum;
  });
  const double count = Speed(text.size(), [&] {
    uint64_t quotes = 0;
    for (size_t at = 0; at + 64 <= text.size(); at += 64) quotes ^= EqualMask64(text.data() + at, '"');
    return quotes;
  });
  const double states = Speed(text.size(), [&] {
    CsvStateMap map;
    map.Add(text, dialect);
    return static_cast<uint64_t>(map[CsvState::kRecordStart]);
  });
  std::printf("%-28s ends of records: parity %5.1f, this %5.1f; a split's state: parity %5.1f, this %5.1f\n", name,
              ends_parity, ends, count, states);
}

std::string Number(Rng& rng, uint64_t below) { return std::to_string(rng.Below(below)); }

}  // namespace
}  // namespace mr

int main() {
  using mr::Number;
  using mr::Rng;
  mr::Report("rows without quotes", {}, [](Rng& r) {
    return Number(r, 1'000'000) + ",city" + Number(r, 1000) + "," + Number(r, 99'999) + ".5,name";
  });
  mr::Report("each field quoted", {}, [](Rng& r) {
    return "\"" + Number(r, 1'000'000) + "\",\"some, text " + Number(r, 1000) + "\",\"" + Number(r, 99'999) + "\"";
  });
  mr::Report("lines of a web server's log", ' ', [](Rng& r) {
    return "10.0." + Number(r, 256) + ".1 - - [01/Jan/2024] \"GET /index/" + Number(r, 99'999) + " HTTP/1.1\" 200 " +
           Number(r, 99'999) + " \"-\" \"Mozilla/5.0 (X11; Linux x86_64)\"";
  });
  mr::Report("quotes as inch marks", '\t',
             [](Rng& r) { return Number(r, 1000) + "\tHe said \"hi\" of a 5\" pipe\t" + Number(r, 1000); });
}
