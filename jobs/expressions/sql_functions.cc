#include "jobs/expressions/sql_functions.h"

#include <re2/re2.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>

#include "jobs/expressions/times.h"
#include "jobs/expressions/types.h"

namespace mr::expr {
namespace {

std::string_view TextOf(sqlite3_value* value) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
  return text == nullptr ? std::string_view() : std::string_view(text, static_cast<size_t>(sqlite3_value_bytes(value)));
}
re2::StringPiece PieceOf(std::string_view text) { return {text.data(), text.size()}; }

bool IsNull(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_NULL; }

void Give(sqlite3_context* context, std::string_view text) {
  sqlite3_result_text64(context, text.empty() ? "" : text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
}

// Returns argument `index` as a pattern. SQLite keeps it if the argument is a constant. Returns null after an error.
const RE2* PatternOf(sqlite3_context* context, sqlite3_value** args, int index) {
  if (const auto* kept = static_cast<const RE2*>(sqlite3_get_auxdata(context, index)); kept != nullptr) return kept;
  RE2::Options options;
  options.set_log_errors(false);
  auto made = std::make_unique<RE2>(PieceOf(TextOf(args[index])), options);
  if (!made->ok()) {
    const std::string why = std::string(kInvalidPattern) + made->pattern() + "' is not valid: " + made->error();
    sqlite3_result_error(context, why.c_str(), static_cast<int>(why.size()));
    return nullptr;
  }
  sqlite3_set_auxdata(context, index, made.release(), [](void* kept) { delete static_cast<RE2*>(kept); });
  // SQLite deletes it when the call returns, if the argument is no constant.
  const auto* kept = static_cast<const RE2*>(sqlite3_get_auxdata(context, index));
  if (kept == nullptr) sqlite3_result_error_nomem(context);
  return kept;
}

void Regexp(sqlite3_context* context, int, sqlite3_value** args) {
  if (IsNull(args[0])) return;
  const RE2* pattern = PatternOf(context, args, 0);
  if (pattern == nullptr || IsNull(args[1])) return;
  sqlite3_result_int(context, int{RE2::PartialMatch(PieceOf(TextOf(args[1])), *pattern)});
}

void RegexpExtract(sqlite3_context* context, int n, sqlite3_value** args) {
  if (IsNull(args[1])) return;
  const RE2* pattern = PatternOf(context, args, 1);
  if (pattern == nullptr) return;
  const int group = n > 2 ? sqlite3_value_int(args[2]) : 0;
  constexpr int kMostGroups = 100;
  if (group < 0 || group > std::min(pattern->NumberOfCapturingGroups(), kMostGroups)) {
    const std::string why =
        std::string(kInvalidPattern) + pattern->pattern() + "' has no group " + std::to_string(group);
    return sqlite3_result_error(context, why.c_str(), static_cast<int>(why.size()));
  }
  if (IsNull(args[0])) return;
  re2::StringPiece groups[kMostGroups + 1];
  const std::string_view text = TextOf(args[0]);
  if (!pattern->Match(PieceOf(text), 0, text.size(), RE2::UNANCHORED, groups, group + 1)) return;
  if (groups[group].data() != nullptr) Give(context, {groups[group].data(), groups[group].size()});
}

void RegexpReplace(sqlite3_context* context, int, sqlite3_value** args) {
  if (IsNull(args[1])) return;
  const RE2* pattern = PatternOf(context, args, 1);
  if (pattern == nullptr || IsNull(args[0]) || IsNull(args[2])) return;
  const std::string_view rewrite = TextOf(args[2]);
  if (std::string why; !pattern->CheckRewriteString(PieceOf(rewrite), &why)) {
    return sqlite3_result_error(context, why.c_str(), static_cast<int>(why.size()));
  }
  std::string text(TextOf(args[0]));
  RE2::GlobalReplace(&text, *pattern, PieceOf(rewrite));
  Give(context, text);
}

void SplitPart(sqlite3_context* context, int, sqlite3_value** args) {
  if (IsNull(args[0]) || IsNull(args[1]) || IsNull(args[2])) return;
  std::string_view text = TextOf(args[0]);
  const std::string_view separator = TextOf(args[1]);
  sqlite3_int64 part = sqlite3_value_int64(args[2]);
  if (part == 0 || separator.empty()) {
    return sqlite3_result_error(context, "split_part(X, SEPARATOR, N) takes a separator, and parts from 1 or -1", -1);
  }
  for (; part > 1; --part) {
    const size_t at = text.find(separator);
    if (at == text.npos) return Give(context, {});
    text.remove_prefix(at + separator.size());
  }
  for (; part < -1; ++part) {
    const size_t at = text.rfind(separator);
    if (at == text.npos) return Give(context, {});
    text = text.substr(0, at);
  }
  const size_t at = part > 0 ? text.find(separator) : text.rfind(separator);
  if (at == text.npos) return Give(context, text);
  Give(context, part > 0 ? text.substr(0, at) : text.substr(at + separator.size()));
}

void Fail(sqlite3_context* context, const std::string& why) {
  sqlite3_result_error(context, why.data(), static_cast<int>(why.size()));
}

// Returns argument 1 as a format of times, or auto if there is none. SQLite keeps it if the argument is a constant.
// Returns null after an error, and for NULL.
const TimeFormat* TimeFormatOf(sqlite3_context* context, int n, sqlite3_value** args) {
  static const TimeFormat automatic;
  if (n < 2) return &automatic;
  if (const auto* kept = static_cast<const TimeFormat*>(sqlite3_get_auxdata(context, 1)); kept != nullptr) return kept;
  if (IsNull(args[1])) return nullptr;
  std::string wrong;
  const auto parsed = TimeFormat::Parse(std::string(TextOf(args[1])), &wrong);
  if (!parsed) {
    Fail(context, std::string(kInvalidTimeFormat) + wrong);
    return nullptr;
  }
  auto made = std::make_unique<TimeFormat>(*parsed);
  sqlite3_set_auxdata(context, 1, made.release(), [](void* kept) { delete static_cast<TimeFormat*>(kept); });
  // SQLite deletes it when the call returns, if the argument is no constant.
  const auto* kept = static_cast<const TimeFormat*>(sqlite3_get_auxdata(context, 1));
  if (kept == nullptr) sqlite3_result_error_nomem(context);
  return kept;
}

void ToTimeFunction(sqlite3_context* context, int n, sqlite3_value** args) {
  const TimeFormat* const format = TimeFormatOf(context, n, args);
  if (format == nullptr || IsNull(args[0])) return;
  std::string number;  // SQLite's own text of a real number has 15 digits only
  if (sqlite3_value_type(args[0]) == SQLITE_FLOAT) AppendReal(sqlite3_value_double(args[0]), &number);
  const std::string_view text = number.empty() ? TextOf(args[0]) : number;
  constexpr size_t kShownBytes = 60;
  int64_t micros = 0;
  if (!ParseTime(text, *format, &micros)) {
    return Fail(context, "'" + std::string(text.substr(0, kShownBytes)) +
                             "' is no time for to_time(): " + format->Wanted("to_time(X, FORMAT)"));
  }
  constexpr int64_t kSecond = 1'000'000;
  if (micros % kSecond == 0) return sqlite3_result_int64(context, micros / kSecond);
  sqlite3_result_double(context, static_cast<double>(micros) / 1e6);
}

void TimeTextFunction(sqlite3_context* context, int n, sqlite3_value** args) {
  const TimeFormat* const format = TimeFormatOf(context, n, args);
  if (format == nullptr || IsNull(args[0])) return;
  const int type = sqlite3_value_numeric_type(args[0]);
  const double seconds = sqlite3_value_double(args[0]);
  constexpr double kMost = 1e12;
  if ((type != SQLITE_INTEGER && type != SQLITE_FLOAT) || !(seconds > -kMost && seconds < kMost)) {
    return Fail(context, "time_text() takes seconds since 1970; to_time(X) makes them of a text");
  }
  const int64_t micros = type == SQLITE_INTEGER ? sqlite3_value_int64(args[0]) * 1'000'000
                                                : static_cast<int64_t>(std::llround(seconds * 1e6));
  std::string text;
  AppendTime(micros, *format, &text);
  Give(context, text);
}

// Returns the argument of a CAST to a number. A text must be a number as a whole.
void CastArgument(sqlite3_context* context, int, sqlite3_value** args) {
  const int type = sqlite3_value_type(args[0]);
  if (type != SQLITE_TEXT && type != SQLITE_BLOB) return sqlite3_result_value(context, args[0]);
  const std::string_view all = TextOf(args[0]);
  std::string_view text = all;
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);
  constexpr size_t kShownBytes = 60;
  const std::string to(TextOf(args[1]));
  int64_t whole = 0;
  double real = 0;
  if (ParseInt(text, &whole)) return sqlite3_result_int64(context, whole);
  if (!ParseReal(text, '.', &real)) {
    return Fail(context, "'" + std::string(all.substr(0, kShownBytes)) + "' is no number for CAST(... AS " + to +
                             "); nullif(X, 'TEXT') makes such a text NULL, replace(X, ',', '') takes marks out");
  }
  constexpr double kLargest = 9223372036854775808.0;
  if (to == kCastToInteger && !(real >= -kLargest && real < kLargest)) {
    return Fail(context, "'" + std::string(all.substr(0, kShownBytes)) + "' is too large for CAST(... AS INTEGER)");
  }
  // NUMERIC is a whole number where the value is one.
  constexpr double kExact = 4503599627370496.0;
  if (to == kCastToNumeric && std::trunc(real) == real && std::abs(real) < kExact)
    return sqlite3_result_int64(context, static_cast<sqlite3_int64>(real));
  sqlite3_result_double(context, real);
}

// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), of the row's position and the number of the call.
void Random(sqlite3_context* context, int, sqlite3_value**) {
  auto* random = static_cast<RowRandom*>(sqlite3_user_data(context));
  const auto mix = [](uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
  };
  const uint64_t x = mix(mix(random->seed) ^ random->position) + 0x9e3779b97f4a7c15 * ++random->calls;
  sqlite3_result_int64(context, static_cast<sqlite3_int64>(mix(x)));
}

}  // namespace

void AddFunctions(sqlite3* db, RowRandom* random) {
  struct Function {
    const char* name;
    int args;
    void (*call)(sqlite3_context*, int, sqlite3_value**);
    int flags;
  };
  constexpr int kPure = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
  constexpr Function kFunctions[] = {
      {"regexp", 2, Regexp, kPure},
      {"regexp_extract", 2, RegexpExtract, kPure},
      {"regexp_extract", 3, RegexpExtract, kPure},
      {"regexp_replace", 3, RegexpReplace, kPure},
      {"split_part", 3, SplitPart, kPure},
      {"to_time", 1, ToTimeFunction, kPure},
      {"to_time", 2, ToTimeFunction, kPure},
      {"time_text", 1, TimeTextFunction, kPure},
      {"time_text", 2, TimeTextFunction, kPure},
      {kCastArgument, 2, CastArgument, kPure},
      {"random", 0, Random, SQLITE_UTF8 | SQLITE_INNOCUOUS},
  };
  for (const Function& f : kFunctions) {
    if (sqlite3_create_function_v2(db, f.name, f.args, f.flags, random, f.call, nullptr, nullptr, nullptr) !=
        SQLITE_OK) {
      throw std::bad_alloc();
    }
  }
}

bool MayCall(const char* function) {
  static constexpr const char* kRefused[] = {"randomblob",        "load_extension", "changes",   "total_changes",
                                             "last_insert_rowid", "match",          "matchinfo", "offsets",
                                             "snippet",           "optimize",       "highlight", "bm25"};
  for (const char* refused : kRefused) {
    if (sqlite3_stricmp(function, refused) == 0) return false;
  }
  for (const char* prefix : {"sqlite_", "fts", "rtree"}) {
    if (sqlite3_strnicmp(function, prefix, static_cast<int>(std::strlen(prefix))) == 0) return false;
  }
  return true;
}

}  // namespace mr::expr
