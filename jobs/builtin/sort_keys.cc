#include "jobs/builtin/sort_keys.h"

#include <algorithm>
#include <charconv>

#include "paceline/codec.h"

namespace mr::builtin {
namespace {

bool Blank(char c) { return c == ' ' || c == '\t'; }

void Turn(size_t from, std::string* bytes) {
  for (size_t i = from; i < bytes->size(); ++i) (*bytes)[i] = static_cast<char>(~(*bytes)[i]);
}

// Appends the number at the start of a text, parsed like sort -n (blanks, a sign, digits, a point, digits; else 0).
// Encoded as 16 bytes in units of 1e-18 that sort like the number. Numbers beyond 1e20 count as 1e20.
void AppendNumber(std::string_view text, std::string* out) {
  size_t i = 0;
  while (i < text.size() && Blank(text[i])) ++i;
  const bool negative = i < text.size() && text[i] == '-';
  i += negative;
  constexpr __int128 kOne = 1'000'000'000'000'000'000, kMost = kOne * 100 * kOne;
  __int128 units = 0;
  for (; i < text.size() && text[i] >= '0' && text[i] <= '9'; ++i) {
    units = units >= kMost / 10 ? kMost : units * 10 + (text[i] - '0') * kOne;
  }
  if (i < text.size() && text[i] == '.') {
    __int128 place = kOne / 10;
    for (++i; i < text.size() && text[i] >= '0' && text[i] <= '9' && place > 0; ++i, place /= 10) {
      units = std::min(units + (text[i] - '0') * place, kMost);
    }
  }
  if (negative) units = -units;
  const auto biased = static_cast<unsigned __int128>(units) ^ static_cast<unsigned __int128>(1) << 127;
  for (int shift = 120; shift >= 0; shift -= 8) out->push_back(static_cast<char>(biased >> shift));
}

}  // namespace

Config SortOptions::Encode() const {
  std::string list;
  for (const SortField& f : fields) {
    list += std::to_string(f.from) + " " + std::to_string(f.to) + " " + (f.numeric ? "1 " : "0 ") +
            (f.reverse ? "1 " : "0 ");
  }
  Config config;
  return config.Set("fields", list)
      .Set("field_separator", separator)
      .Set("reverse", reverse)
      .Set("numeric", numeric)
      .Set("stable", stable)
      .Set("unique", unique)
      .Set("key_bytes", key_bytes);
}

SortOptions SortOptions::Decode(const Config& config) {
  SortOptions o;
  std::vector<uint32_t> numbers;
  const std::string& list = config.Text("fields");
  for (size_t at = 0; at < list.size(); at = list.find(' ', at) + 1) {
    uint32_t n = 0;
    std::from_chars(list.data() + at, list.data() + list.size(), n);
    numbers.push_back(n);
  }
  for (size_t i = 0; i + 3 < numbers.size(); i += 4) {
    o.fields.push_back({numbers[i], numbers[i + 1], numbers[i + 2] != 0, numbers[i + 3] != 0});
  }
  o.separator = config.Text("field_separator");
  o.reverse = config.Bool("reverse");
  o.numeric = config.Bool("numeric");
  o.stable = config.Bool("stable");
  o.unique = config.Bool("unique");
  o.key_bytes = static_cast<uint64_t>(config.Int("key_bytes"));
  return o;
}

SortField ParseSortField(const Args& args, const std::string& text) {
  SortField field;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&](uint32_t* n) {
    const auto [stop, error] = std::from_chars(at, end, *n);
    if (error != std::errc() || *n == 0)
      args.Refuse("-k '" + text +
                  "' is no key; write FIELD or FIELD,FIELD, optionally with n or r after it, such as 2,2nr");
    at = stop;
  };
  number(&field.from);
  const auto letters = [&] {
    for (; at != end && (*at == 'n' || *at == 'r'); ++at) (*at == 'n' ? field.numeric : field.reverse) = true;
  };
  letters();
  if (at != end && *at == ',') {
    ++at;
    number(&field.to);
    letters();
  }
  if (at != end) args.Refuse("-k '" + text + "' has '" + std::string(at, end) + "'; only n and r may follow a field");
  if (field.to != 0 && field.to < field.from) args.Refuse("-k '" + text + "' ends before it begins");
  return field;
}

std::string_view SortKeys::Field(std::string_view record, const SortField& field) const {
  size_t at = 0, begin = record.size(), end = record.size();
  for (uint32_t number = 1;; ++number) {
    if (number == field.from) begin = at;
    size_t stop;
    if (options_.separator.empty()) {
      stop = at;
      while (stop < record.size() && Blank(record[stop])) ++stop;
      while (stop < record.size() && !Blank(record[stop])) ++stop;
    } else {
      stop = std::min(record.find(options_.separator[0], at), record.size());
    }
    if (number == field.to) end = stop;
    if (stop >= record.size() || (number >= field.from && (field.to == 0 || number >= field.to))) break;
    at = stop + (options_.separator.empty() ? 0 : 1);
  }
  return begin < record.size() ? record.substr(begin, std::max(begin, end) - begin) : std::string_view();
}

std::pair<std::string_view, std::string_view> SortKeys::Split(std::string_view record, std::string* scratch) const {
  if (!options_.keeps_record()) {
    const size_t n = options_.key_bytes == 0 ? record.size() : std::min<size_t>(options_.key_bytes, record.size());
    std::string_view key = record.substr(0, n);
    if (options_.reverse) {
      // Escaped and terminated before its bits are inverted, since a longer key must then come first.
      scratch->clear();
      KeyCodec<std::string>::AppendPart(key, scratch);
      Turn(0, scratch);
      key = *scratch;
    }
    return {key, record.substr(n)};
  }
  scratch->clear();
  const auto add = [&](std::string_view text, bool numeric, bool reverse) {
    const size_t from = scratch->size();
    if (numeric) {
      AppendNumber(text, scratch);
    } else {
      KeyCodec<std::string>::AppendPart(text, scratch);
    }
    if (reverse) Turn(from, scratch);
  };
  for (const SortField& f : options_.fields) {
    // The options of the whole sort apply to keys without options of their own.
    const bool own = f.numeric || f.reverse;
    add(Field(record, f), own ? f.numeric : options_.numeric, own ? f.reverse : options_.reverse);
  }
  if (options_.fields.empty()) add(record, options_.numeric, options_.reverse);
  if (!options_.stable && !options_.unique && (options_.numeric || !options_.fields.empty()))
    add(record, false, options_.reverse);
  return {*scratch, record};
}

std::string_view SortKeys::Original(std::string_view key, std::string* scratch) const {
  if (options_.keeps_record()) return {};
  if (!options_.reverse) return key;
  std::string turned(key);
  Turn(0, &turned);
  std::string_view in = turned;
  *scratch = KeyCodec<std::string>::TakePart(&in);
  return *scratch;
}

}  // namespace mr::builtin
