#include "jobs/expressions/types.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/base/text.h"
#include "jobs/expressions/tokens.h"

namespace mr::expr {
namespace {

constexpr size_t kExampleBytes = 40;

bool Digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

const char* NameOf(Type type) {
  switch (type) {
    case Type::kText: return "text";
    case Type::kInt: return "int";
    case Type::kReal: return "real";
  }
  return "";
}

std::string ShownName(std::string_view name) {
  const bool control = std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7f;
  });
  return control ? PrintableBytes(name) : std::string(name);
}

bool ParseInt(std::string_view field, int64_t* value) {
  if (!field.empty() && field[0] == '+') {
    field.remove_prefix(1);
    if (field.empty() || !Digit(field[0])) return false;
  }
  const char* const end = field.data() + field.size();
  const auto [at, error] = std::from_chars(field.data(), end, *value);
  return error == std::errc() && at == end;
}

bool ParseReal(std::string_view field, char decimal, double* value) {
  if (!field.empty() && field[0] == '+') {
    field.remove_prefix(1);
    if (!field.empty() && field[0] == '-') return false;
  }
  // from_chars accepts inf and nan, too.
  const size_t first = !field.empty() && field[0] == '-' ? 1 : 0;
  if (first == field.size() || (!Digit(field[first]) && field[first] != decimal)) return false;
  char copy[64];
  if (decimal != '.') {
    if (field.size() > sizeof copy || field.find('.') != field.npos) return false;
    field.copy(copy, field.size());
    if (const size_t mark = field.find(decimal); mark != field.npos) copy[mark] = '.';
    field = std::string_view(copy, field.size());
  }
  const char* const end = field.data() + field.size();
  const auto [at, error] = std::from_chars(field.data(), end, *value);
  if (at != end || error == std::errc::invalid_argument) return false;
  return error == std::errc() && std::isfinite(*value);
}

void AppendReal(double value, std::string* out) {
  char text[40];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  const std::string_view shortest(text, static_cast<size_t>(end - text));
  out->append(shortest);
  if (shortest.find_first_of(".en") == shortest.npos) out->append(".0");
}

std::vector<TypeOf> ParseTypes(std::string_view list, std::string* wrong) {
  std::vector<TypeOf> types;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view pair = list.substr(from, comma - from);
    const size_t equals = pair.rfind('=');
    const std::string_view name = pair.substr(0, equals), type = equals == pair.npos ? "" : pair.substr(equals + 1);
    from = comma + 1;
    TypeOf of{std::string(name), Type::kText};
    if (SameName(type, "int") || SameName(type, "integer") || SameName(type, "bigint")) {
      of.type = Type::kInt;
    } else if (SameName(type, "real") || SameName(type, "double") || SameName(type, "float")) {
      of.type = Type::kReal;
    } else if (!SameName(type, "text") && !SameName(type, "string")) {
      *wrong = "'" + std::string(pair) + "' is no COLUMN=TYPE with the type int, real or text";
      return {};
    }
    if (name.empty()) {
      *wrong = "'" + std::string(pair) + "' names no column";
      return {};
    }
    types.push_back(std::move(of));
  }
  return types;
}

void TypeFinder::Take(std::string_view field, const Values& values) {
  if (values.IsNull(field)) return;
  any_ = true;
  int64_t whole;
  double real;
  if (ParseInt(field, &whole)) {
    numbers_ = true;
  } else if (ParseReal(field, values.decimal, &real)) {
    numbers_ = real_ = true;
  } else {
    if (!text_) example_.assign(field.substr(0, kExampleBytes));
    text_ = true;
  }
}

void TypeFinder::Merge(const TypeFinder& other) {
  if (!text_ && other.text_) example_ = other.example_;
  any_ |= other.any_;
  numbers_ |= other.numbers_;
  real_ |= other.real_;
  text_ |= other.text_;
}

std::string TypeFinder::Encode() const {
  const int flags = int{any_} | int{numbers_} << 1 | int{real_} << 2 | int{text_} << 3;
  return static_cast<char>('A' + flags) + example_;
}

bool TypeFinder::Decode(std::string_view bytes, TypeFinder* finder) {
  if (bytes.empty() || bytes[0] < 'A' || bytes[0] > 'A' + 15) return false;
  const int flags = bytes[0] - 'A';
  finder->any_ = (flags & 1) != 0;
  finder->numbers_ = (flags & 2) != 0;
  finder->real_ = (flags & 4) != 0;
  finder->text_ = (flags & 8) != 0;
  finder->example_.assign(bytes.substr(1));
  return true;
}

}  // namespace mr::expr
