// Finds the ends of CSV records, by the rules of Python's csv module (strict=True, files opened with newline=''):
// - A record ends at LF, CR or CR LF outside of quotes.
// - A quote opens at the start of a field only; elsewhere in an unquoted field it is data.
// - A doubled quote within quotes is one quote. After a closing quote, any byte but a separator or a line end makes the
//   record bad: the record ends with the current line, and reading resumes after it.
// Works on 64 bytes at a time, with SSE2 where the processor has it. The SDK includes it.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

#include "common/base/csv_dialect.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace mr {

// The state of a reader between two bytes.
enum class CsvState : uint8_t {
  kRecordStart,
  kFieldStart,      // after a separator
  kUnquoted,        // within a field without quotes
  kQuoted,          // between quotes
  kQuoteSeen,       // after a quote that closes the field, or is the first of a doubled one
  kSkipLine,        // after the byte that makes the record bad
  kCarriageReturn,  // after a CR that ends a record; a LF that follows belongs to it
};
inline constexpr int kCsvStates = 7;

// A scan's state, which carries over from one piece of a text to the next.
struct CsvScan {
  CsvState state = CsvState::kRecordStart;
  bool bad = false;  // the current record is bad
};

// Returns the state after one more byte. This automaton defines the results of all functions below.
inline CsvState NextCsvState(CsvState state, char c, const CsvDialect& dialect) {
  if (state == CsvState::kCarriageReturn) {
    if (c == '\n') return CsvState::kRecordStart;
    state = CsvState::kRecordStart;
  }
  if (state == CsvState::kQuoted) return c == dialect.quote ? CsvState::kQuoteSeen : CsvState::kQuoted;
  if (c == '\n') return CsvState::kRecordStart;
  if (c == '\r') return CsvState::kCarriageReturn;
  switch (state) {
    case CsvState::kSkipLine: return CsvState::kSkipLine;
    case CsvState::kQuoteSeen:
      if (c == dialect.quote) return CsvState::kQuoted;
      return c == dialect.separator ? CsvState::kFieldStart : CsvState::kSkipLine;
    case CsvState::kRecordStart:
    case CsvState::kFieldStart:
      if (dialect.quotes && c == dialect.quote) return CsvState::kQuoted;
      break;
    default: break;
  }
  return c == dialect.separator ? CsvState::kFieldStart : CsvState::kUnquoted;
}

// Returns 64 bits; bit i is set if p[i] == c.
inline uint64_t EqualMask64(const char* p, char c) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(c);
  const auto part = [&](int i) {
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i));
    return uint64_t(static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(v, wanted)))) << (16 * i);
  };
  return part(0) | part(1) | part(2) | part(3);
#else
  uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= uint64_t{p[i] == c} << i;
  return mask;
#endif
}

// Returns whether one of 64 bytes is c.
inline bool AnyEqual64(const char* p, char c) {
#if defined(__SSE2__)
  const __m128i wanted = _mm_set1_epi8(c);
  const auto equal = [&](int i) {
    return _mm_cmpeq_epi8(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 16 * i)), wanted);
  };
  return _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(equal(0), equal(1)), _mm_or_si128(equal(2), equal(3)))) != 0;
#else
  return std::memchr(p, c, 64) != nullptr;
#endif
}

// Returns 64 bits; bit i is set if bits 0 to i have an odd number of ones.
inline uint64_t PrefixParity(uint64_t bits) {
  for (int shift = 1; shift < 64; shift *= 2) bits ^= bits << shift;
  return bits;
}

namespace csv_internal {

inline bool OutsideOfQuotes(CsvState s) {
  return s == CsvState::kRecordStart || s == CsvState::kFieldStart || s == CsvState::kUnquoted;
}

// Returns the state after byte c, which is outside of quotes and opens none.
inline CsvState BehindByte(char c, char separator) {
  if (c == '\n') return CsvState::kRecordStart;
  if (c == '\r') return CsvState::kCarriageReturn;
  return c == separator ? CsvState::kFieldStart : CsvState::kUnquoted;
}

// Masks of up to 64 bytes; bits after the last byte are 0.
struct CsvBlock {
  CsvBlock(const char* p, size_t n, const CsvDialect& dialect) : bytes(p), size(n) {
    const uint64_t valid = n < 64 ? (uint64_t{1} << n) - 1 : ~uint64_t{0};
    quotes = dialect.quotes ? EqualMask64(p, dialect.quote) & valid : 0;
    lf = EqualMask64(p, '\n') & valid;
    ends = lf;
    if (AnyEqual64(p, '\r')) {
      cr = EqualMask64(p, '\r') & valid;
      // A CR ends a record unless a LF follows. For the last byte that is not known yet.
      ends |= cr & ~(lf >> 1) & (valid >> 1);
    }
  }
  const char* bytes;
  size_t size;
  uint64_t quotes, lf, cr = 0, ends;
};

// Calls on_end(i) for each record that ends before byte i of the block. Returns false where on_end ended the walk.
template <class OnEnd>
bool ReportEnds(uint64_t ends, OnEnd&& on_end) {
  for (; ends != 0; ends &= ends - 1) {
    if (!on_end(static_cast<size_t>(__builtin_ctzll(ends)) + 1)) return false;
  }
  return true;
}

// Scans any block, from quote to quote.
template <class OnEnd>
bool WalkQuotes(const CsvBlock& block, const CsvDialect& dialect, CsvScan* scan, OnEnd&& on_end) {
  const uint64_t stops = EqualMask64(block.bytes, dialect.separator) | block.lf | block.cr;
  const auto from = [](size_t i) { return i < 64 ? ~uint64_t{0} << i : uint64_t{0}; };
  CsvState& state = scan->state;
  for (size_t i = 0; i < block.size;) {
    if (state == CsvState::kQuoted) {
      const uint64_t quotes = block.quotes & from(i);
      if (quotes == 0) return true;
      i = static_cast<size_t>(__builtin_ctzll(quotes)) + 1;
      state = CsvState::kQuoteSeen;
    } else if (state == CsvState::kQuoteSeen) {
      if (block.quotes >> i & 1) {
        ++i;
        state = CsvState::kQuoted;
      } else {
        const bool ends = (stops >> i & 1) != 0;
        state = ends ? CsvState::kUnquoted : CsvState::kSkipLine;
        scan->bad |= !ends;
      }
    } else if (state == CsvState::kSkipLine) {
      const uint64_t lines = (block.lf | block.cr) & from(i);
      if (lines == 0) return true;
      i = static_cast<size_t>(__builtin_ctzll(lines));
      state = CsvState::kUnquoted;
    } else {
      const uint64_t here = state != CsvState::kUnquoted ? uint64_t{1} << i : 0;
      const uint64_t opens = block.quotes & (stops << 1 | here) & from(i);
      const size_t stop = opens == 0 ? 64 : static_cast<size_t>(__builtin_ctzll(opens));
      if (!ReportEnds(block.ends & from(i) & ~from(stop), on_end)) return false;
      if (opens == 0) {
        state = BehindByte(block.bytes[block.size - 1], dialect.separator);
        return true;
      }
      state = CsvState::kQuoted;
      i = stop + 1;
    }
  }
  return true;
}

template <class OnEnd>
bool ScanBlock(const CsvBlock& block, const CsvDialect& dialect, CsvScan* scan, OnEnd&& on_end) {
  CsvState& state = scan->state;
  const char last = block.bytes[block.size - 1];
  if (block.quotes == 0) {
    if (state == CsvState::kQuoted) return true;
    if (!OutsideOfQuotes(state)) return WalkQuotes(block, dialect, scan, on_end);
    state = BehindByte(last, dialect.separator);
    return ReportEnds(block.ends, on_end);
  }
  if (state == CsvState::kSkipLine) return WalkQuotes(block, dialect, scan, on_end);
  // Where each quote opens or closes by the rules, parity shows which bytes are within quotes.
  const uint64_t stops = EqualMask64(block.bytes, dialect.separator) | block.lf | block.cr;
  const uint64_t inside = PrefixParity(block.quotes) ^ (state == CsvState::kQuoted ? ~uint64_t{0} : 0);
  const uint64_t opens = block.quotes & inside, closes = block.quotes & ~inside;
  const uint64_t may_follow = stops | block.quotes;
  const uint64_t last_bit = uint64_t{1} << (block.size - 1);
  const bool fits = state == CsvState::kRecordStart || state == CsvState::kFieldStart || state == CsvState::kQuoteSeen;
  uint64_t wrong = (opens & ~((stops | closes) << 1 | uint64_t{fits})) | (closes & ~(may_follow >> 1) & ~last_bit);
  if (state == CsvState::kQuoteSeen) wrong |= ~may_follow & 1;
  if (wrong != 0) return WalkQuotes(block, dialect, scan, on_end);
  state = (inside & last_bit) != 0         ? CsvState::kQuoted
          : (block.quotes & last_bit) != 0 ? CsvState::kQuoteSeen
                                           : BehindByte(last, dialect.separator);
  return ReportEnds(block.ends & ~inside, on_end);
}

}  // namespace csv_internal

// Calls f(end, bad) for each record that ends in `text`, in order. end: the index after its line end. bad: it breaks
// the rules above. f returns false to end the walk. *scan: the state at the start of the text; afterwards the state at
// its end, or after the last record that f received. A CR as the last byte ends its record only with the next byte
// (kCarriageReturn).
template <class F>
void ForEachCsvEnd(std::string_view text, const CsvDialect& dialect, CsvScan* scan, F&& f) {
  // A local, so that the compiler may keep it in registers.
  CsvScan now = *scan;
  for (size_t at = 0; at < text.size(); at += 64) {
    const auto on_end = [&](size_t end) {
      if (f(at + end, std::exchange(now.bad, false))) return true;
      now.state = CsvState::kRecordStart;
      return false;
    };
    const char* p = text.data() + at;
    const size_t size = text.size() - at < 64 ? text.size() - at : 64;
    char padded[64];
    if (size < 64) {
      std::memset(padded, 0, sizeof padded);
      std::memcpy(padded, p, size);
      p = padded;
    }
    if (now.state == CsvState::kCarriageReturn) {
      now.state = CsvState::kRecordStart;
      if (p[0] != '\n' && !on_end(0)) break;
    }
    if (!csv_internal::ScanBlock(csv_internal::CsvBlock(p, size, dialect), dialect, &now, on_end)) break;
  }
  *scan = now;
}

// The UTF-8 byte order mark. A file may begin with it; it is no part of the first field.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
inline std::string_view WithoutByteOrderMark(std::string_view file) {
  return file.substr(file.substr(0, 3) == kByteOrderMark ? 3 : 0);
}

// A record of a text.
struct CsvRecord {
  std::string_view text;      // without its line end
  std::string_view with_end;  // the last record of a text may have none
  bool bad = false;           // breaks the rules: text follows a closing quote, or a quote is never closed
};

// Calls f(record) for each record of a text. Requires: the text begins with a record and ends with one, or with the end
// of the file.
template <class F>
void ForEachCsvRecord(std::string_view text, const CsvDialect& dialect, F&& f) {
  size_t from = 0;
  CsvScan scan;
  const auto give = [&](size_t end, bool bad) {
    const std::string_view with_end = text.substr(from, end - from);
    std::string_view record = with_end;
    if (!record.empty() && record.back() == '\n') record.remove_suffix(1);
    if (!record.empty() && record.back() == '\r') record.remove_suffix(1);
    f(CsvRecord{record, with_end, bad});
    from = end;
    return true;
  };
  ForEachCsvEnd(text, dialect, &scan, give);
  if (from < text.size()) give(text.size(), scan.bad || scan.state == CsvState::kQuoted);
}

// Returns the number of lines in the bytes of a record, which are skipped where it is bad.
inline uint64_t CsvLines(std::string_view with_end) {
  uint64_t lines = 0;
  for (size_t i = 0; i < with_end.size(); ++i) {
    const bool crlf = with_end[i] == '\r' && i + 1 < with_end.size() && with_end[i + 1] == '\n';
    lines += (with_end[i] == '\n' || with_end[i] == '\r') && !crlf;
  }
  return lines + (with_end.empty() || with_end.back() == '\n' || with_end.back() == '\r' ? 0 : 1);
}

// Maps each state at the start of a piece of a file to the state at its end. The maps of a file's splits, applied one
// after the other, give the state at each split's start without reading the file in order.
class CsvStateMap {
 public:
  CsvStateMap() {
    for (int s = 0; s < kCsvStates; ++s) exits_[static_cast<size_t>(s)] = static_cast<CsvState>(s);
  }
  CsvState operator[](CsvState entry) const { return exits_[static_cast<size_t>(entry)]; }
  void Set(CsvState entry, CsvState exit) { exits_[static_cast<size_t>(entry)] = exit; }

  // Appends the next bytes of the file.
  void Add(std::string_view text, const CsvDialect& dialect) {
    // In parts that stay in the cache: each is read once per distinct state, mostly two and soon one.
    constexpr size_t kPart = 16 << 10;
    for (size_t at = 0; at < text.size(); at += kPart) AddPart(text.substr(at, kPart), dialect);
  }

 private:
  void AddPart(std::string_view text, const CsvDialect& dialect) {
    const bool any = dialect.quotes && std::memchr(text.data(), dialect.quote, text.size()) != nullptr;
    std::array<CsvState, kCsvStates> behind{};
    unsigned known = 0;
    for (CsvState& state : exits_) {
      const auto i = static_cast<size_t>(state);
      if ((known >> i & 1) == 0) behind[i] = any ? Scanned(state, text, dialect) : WithoutQuotes(state, text, dialect);
      known |= 1u << i;
      state = behind[i];
    }
  }
  static CsvState Scanned(CsvState state, std::string_view text, const CsvDialect& dialect) {
    CsvScan scan{state, false};
    ForEachCsvEnd(text, dialect, &scan, [](size_t, bool) { return true; });
    return scan.state;
  }
  // Returns the state after a text without quotes: only line ends and the last byte matter.
  static CsvState WithoutQuotes(CsvState state, std::string_view text, const CsvDialect& dialect) {
    state = NextCsvState(state, text[0], dialect);
    if (text.size() == 1 || state == CsvState::kQuoted) return state;
    const std::string_view rest = text.substr(1);
    if (state == CsvState::kSkipLine && rest.find_first_of("\r\n") == rest.npos) return state;
    return csv_internal::BehindByte(rest.back(), dialect.separator);
  }

  std::array<CsvState, kCsvStates> exits_;
};

}  // namespace mr
