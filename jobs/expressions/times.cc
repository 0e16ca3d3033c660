#include "jobs/expressions/times.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "jobs/expressions/decimal.h"

namespace mr::expr {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000, kSecondsPerDay = 86400;
constexpr std::string_view kMonthNames[] = {"january", "february", "march",     "april",   "may",      "june",
                                            "july",    "august",   "september", "october", "november", "december"};
constexpr std::string_view kDayNames[] = {"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"};
constexpr std::pair<const char*, int> kTimeKinds[] = {{"auto", 0},     {"epoch", 1}, {"epoch_ms", 2},
                                                      {"epoch_us", 3}, {"iso", 4},   {"apache", 5}};
// Conversions that TimeText reads, besides blanks and literal text.
constexpr std::string_view kTimeConversions = "YymdejHIMSfpbBhaAzZsTFDRnt%";

bool IsTimeDigit(char c) { return c >= '0' && c <= '9'; }
char LowerTimeLetter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

int DaysOfCivilMonth(int64_t year, int month) {
  constexpr std::array<int, 12> kDays = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
  return kDays[static_cast<size_t>(month - 1)] + (month == 2 && leap ? 1 : 0);
}

// The parts of a time as they are read, and the text that is left.
class TimeText {
 public:
  explicit TimeText(std::string_view text) : rest_(text) {}

  bool done() const { return rest_.empty(); }
  bool Skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool NextIsDigit() const { return !rest_.empty() && IsTimeDigit(rest_.front()); }

  // Reads the date YYYY-MM-DD, and then a time of the day and a zone if they are there.
  bool Iso() {
    if (!Number(4, 4, &year_) || !Skip('-') || !Number(2, 2, &month_) || !Skip('-') || !Number(2, 2, &day_))
      return false;
    if (done()) return true;
    if (!Skip('T') && !Skip('t') && !Skip(' ')) return false;
    if (!Number(2, 2, &hour_) || !Skip(':') || !Number(2, 2, &minute_)) return false;
    if (Skip(':')) {
      if (!Number(2, 2, &second_)) return false;
      if ((Skip('.') || Skip(',')) && !Fraction()) return false;
    }
    return done() || Zone();
  }
  // Reads 10/Oct/2000:13:55:36 -0700, also in brackets. The zone is optional.
  bool Apache() {
    const bool bracket = Skip('[');
    if (!Number(1, 2, &day_) || !Skip('/') || !Name(kMonthNames, &month_) || !Skip('/') || !Number(4, 4, &year_) ||
        !Skip(':') || !Clock()) {
      return false;
    }
    ++month_;
    if (Skip(' ') && !Zone()) return false;
    return (!bracket || Skip(']')) && done();
  }
  // Reads the whole text by a format of strftime.
  bool Pattern(std::string_view pattern) { return Conversions(pattern) && done(); }

  // Returns false if a part is out of its range.
  bool Micros(int64_t* micros) {
    if (epoch_) {
      *micros = *epoch_ * kMicrosPerSecond + micros_;
      return true;
    }
    if (afternoon_ >= 0) {
      if (hour_ < 1 || hour_ > 12) return false;
      hour_ = hour_ % 12 + 12 * afternoon_;
    }
    if (month_ < 1 || month_ > 12 || day_ < 1 || day_ > DaysOfCivilMonth(year_, static_cast<int>(month_))) return false;
    if (hour_ > 24 || minute_ > 59 || second_ > 60 || (hour_ == 24 && minute_ + second_ + micros_ > 0)) return false;
    int64_t days = DaysSince1970({year_, static_cast<int>(month_), static_cast<int>(day_)});
    if (day_of_year_ != 0) {
      days = DaysSince1970({year_, 1, 1}) + day_of_year_ - 1;
      if (CivilDayOf(days).year != year_) return false;
    }
    const int64_t seconds = days * kSecondsPerDay + hour_ * 3600 + minute_ * 60 + second_ - zone_;
    *micros = seconds * kMicrosPerSecond + micros_;
    return true;
  }

 private:
  bool Number(size_t least, size_t most, int64_t* number) {
    size_t n = 0;
    int64_t value = 0;
    for (; n < most && n < rest_.size() && IsTimeDigit(rest_[n]); ++n) value = value * 10 + (rest_[n] - '0');
    if (n < least) return false;
    rest_.remove_prefix(n);
    *number = value;
    return true;
  }
  bool Fraction() {
    size_t n = 0;
    for (; n < rest_.size() && IsTimeDigit(rest_[n]); ++n) {
      if (n < 6) micros_ = micros_ * 10 + (rest_[n] - '0');
    }
    for (size_t i = n; i < 6; ++i) micros_ *= 10;
    rest_.remove_prefix(n);
    return n > 0;
  }
  // Reads Z, +hh, +hhmm or +hh:mm.
  bool Zone() {
    if (Skip('Z') || Skip('z')) return done() || rest_.front() == ' ' || rest_.front() == ']';
    const bool west = !rest_.empty() && rest_.front() == '-';
    int64_t hours = 0, minutes = 0;
    if (!Skip('+') && !Skip('-')) return false;
    if (!Number(2, 2, &hours)) return false;
    if (Skip(':') || NextIsDigit()) {
      if (!Number(2, 2, &minutes)) return false;
    }
    if (hours > 18 || minutes > 59) return false;
    zone_ = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
    return true;
  }
  bool Clock() {
    return Number(2, 2, &hour_) && Skip(':') && Number(2, 2, &minute_) && Skip(':') && Number(2, 2, &second_);
  }
  void Blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  // Reads one of the names, or its first three letters.
  template <size_t N>
  bool Name(const std::string_view (&names)[N], int64_t* index) {
    for (size_t i = 0; i < N; ++i) {
      for (const size_t n : {names[i].size(), size_t{3}}) {
        if (rest_.size() < n) continue;
        const auto same = [](char a, char b) { return LowerTimeLetter(a) == b; };
        if (!std::equal(rest_.begin(), rest_.begin() + static_cast<ptrdiff_t>(n), names[i].begin(), same)) continue;
        rest_.remove_prefix(n);
        *index = static_cast<int64_t>(i);
        return true;
      }
    }
    return false;
  }
  bool AmPm() {
    if (rest_.size() < 2 || LowerTimeLetter(rest_[1]) != 'm') return false;
    const char c = LowerTimeLetter(rest_[0]);
    if (c != 'a' && c != 'p') return false;
    afternoon_ = c == 'p' ? 1 : 0;
    rest_.remove_prefix(2);
    return true;
  }
  bool ZoneName() {
    for (const std::string_view name : {"UTC", "GMT", "Z"}) {
      if (!rest_.starts_with(name)) continue;
      rest_.remove_prefix(name.size());
      return true;
    }
    return false;
  }
  bool Epoch() {
    const bool negative = Skip('-');
    int64_t seconds = 0;
    if (!Number(1, 12, &seconds)) return false;
    epoch_ = negative ? -seconds : seconds;
    return true;
  }
  bool Conversion(char c) {
    int64_t ignored = 0;
    switch (c) {
      case 'Y': return Number(4, 4, &year_);
      case 'y':
        if (!Number(2, 2, &year_)) return false;
        year_ += year_ < 69 ? 2000 : 1900;  // as POSIX has it
        return true;
      case 'm': return Number(1, 2, &month_);
      case 'd': return Number(1, 2, &day_);
      case 'e': Blanks(); return Number(1, 2, &day_);
      case 'j': return Number(1, 3, &day_of_year_) && day_of_year_ != 0;
      case 'H':
      case 'I': return Number(1, 2, &hour_);
      case 'M': return Number(1, 2, &minute_);
      case 'S': return Number(1, 2, &second_);
      case 'f': return Fraction();
      case 'p': return AmPm();
      case 'b':
      case 'B':
      case 'h':
        if (!Name(kMonthNames, &month_)) return false;
        ++month_;
        return true;
      case 'a':
      case 'A': return Name(kDayNames, &ignored);
      case 'z': return Zone();
      case 'Z': return ZoneName();
      case 's': return Epoch();
      case 'T': return Clock();
      case 'R': return Number(2, 2, &hour_) && Skip(':') && Number(2, 2, &minute_);
      case 'F': return Number(4, 4, &year_) && Skip('-') && Number(2, 2, &month_) && Skip('-') && Number(2, 2, &day_);
      case 'D': return Conversions("%m/%d/%y");
      case 'n':
      case 't': Blanks(); return true;
      case '%': return Skip('%');
      default: return false;
    }
  }
  // Requires: a character follows each % of the pattern.
  bool Conversions(std::string_view pattern) {
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == ' ') {
        Blanks();
      } else if (pattern[i] != '%') {
        if (!Skip(pattern[i])) return false;
      } else if (!Conversion(pattern[++i])) {
        return false;
      }
    }
    return true;
  }

  std::string_view rest_;
  int64_t year_ = 1970, month_ = 1, day_ = 1, day_of_year_ = 0, hour_ = 0, minute_ = 0, second_ = 0, micros_ = 0;
  int64_t zone_ = 0;    // seconds east of UTC
  int afternoon_ = -1;  // 1: p.m., 0: a.m., -1: a clock of 24 hours
  std::optional<int64_t> epoch_;
};

// Reads a number of seconds, or of smaller units; per_second: their number in a second.
bool EpochMicros(std::string_view text, int64_t per_second, int64_t* micros) {
  Decimal number;
  if (!Decimal::Parse(text, &number)) return false;
  const double value = number.AsDouble(), seconds = value / static_cast<double>(per_second);
  if (!(seconds < 1e12 && seconds > -1e12)) return false;
  const int64_t factor = kMicrosPerSecond / per_second;
  if (!number.exact()) {
    *micros = static_cast<int64_t>(std::floor(value * static_cast<double>(factor)));
    return true;
  }
  const __int128 step = Decimal::kOne / factor;
  *micros = static_cast<int64_t>(number.units() / step - (number.units() % step < 0));
  return true;
}

// The parts of a time in UTC, and the text of a conversion of strftime for it.
class TimeParts {
 public:
  explicit TimeParts(int64_t micros) {
    constexpr int64_t kDay = kSecondsPerDay * kMicrosPerSecond;
    days_ = micros / kDay - (micros % kDay < 0 ? 1 : 0);
    const int64_t rest = micros - days_ * kDay;
    day_ = CivilDayOf(days_);
    second_of_day_ = static_cast<int>(rest / kMicrosPerSecond);
    part_ = static_cast<int>(rest % kMicrosPerSecond);
  }

  // Requires: a conversion follows each % of the pattern.
  void Append(std::string_view pattern, std::string* out) const {
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (pattern[i] == '%') {
        AppendConversion(pattern[++i], out);
      } else {
        out->push_back(pattern[i]);
      }
    }
  }

 private:
  // Appends a number of at least `width` characters.
  static void AppendNumber(int64_t number, size_t width, std::string* out, char pad = '0') {
    char text[24];
    const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
    const auto digits = static_cast<size_t>(end - text);
    if (digits < width) out->append(width - digits, pad);
    out->append(text, digits);
  }
  static void AppendYear(int64_t year, std::string* out) {
    if (year < 0 || year > 9999) out->push_back(year < 0 ? '-' : '+');
    AppendNumber(year < 0 ? -year : year, 4, out);
  }
  void AppendConversion(char c, std::string* out) const {
    const int hour = second_of_day_ / 3600;
    const std::string_view month = kMonthNames[static_cast<size_t>(day_.month - 1)];
    const std::string_view day = kDayNames[static_cast<size_t>(((days_ + 4) % 7 + 7) % 7)];  // 1970 began on a Thursday
    switch (c) {
      case 'Y': return AppendYear(day_.year, out);
      case 'y': return AppendNumber((day_.year % 100 + 100) % 100, 2, out);
      case 'm': return AppendNumber(day_.month, 2, out);
      case 'd': return AppendNumber(day_.day, 2, out);
      case 'e': return AppendNumber(day_.day, 2, out, ' ');
      case 'j': return AppendNumber(days_ - DaysSince1970({day_.year, 1, 1}) + 1, 3, out);
      case 'H': return AppendNumber(hour, 2, out);
      case 'I': return AppendNumber((hour + 11) % 12 + 1, 2, out);
      case 'M': return AppendNumber(second_of_day_ / 60 % 60, 2, out);
      case 'S': return AppendNumber(second_of_day_ % 60, 2, out);
      case 'f': return AppendNumber(part_, 6, out);
      case 'p': out->append(hour < 12 ? "AM" : "PM"); return;
      case 'b':
      case 'h': return AppendName(month.substr(0, 3), out);
      case 'B': return AppendName(month, out);
      case 'a': return AppendName(day.substr(0, 3), out);
      case 'A': return AppendName(day, out);
      case 'z': out->append("+0000"); return;
      case 'Z': out->append("UTC"); return;
      case 's': return AppendNumber(days_ * kSecondsPerDay + second_of_day_, 1, out);
      case 'T': return Append("%H:%M:%S", out);
      case 'R': return Append("%H:%M", out);
      case 'F': return Append("%Y-%m-%d", out);
      case 'D': return Append("%m/%d/%y", out);
      case 'n': out->push_back('\n'); return;
      case 't': out->push_back('\t'); return;
      default: out->push_back(c);
    }
  }
  static void AppendName(std::string_view lower, std::string* out) {
    out->push_back(static_cast<char>(lower[0] & ~0x20));
    out->append(lower.substr(1));
  }

  CivilDay day_;
  int64_t days_ = 0;  // since 1970
  int second_of_day_ = 0, part_ = 0;
};

}  // namespace

std::optional<TimeFormat> TimeFormat::Parse(const std::string& text, std::string* wrong) {
  TimeFormat format;
  format.text_ = text;
  for (const auto& [name, kind] : kTimeKinds) {
    if (text != name) continue;
    format.kind_ = static_cast<Kind>(kind);
    return format;
  }
  if (text.find('%') == text.npos) {
    *wrong = "'" + text +
             "' is no format of times; give auto, epoch, epoch_ms, epoch_us, iso, apache, or a format of "
             "strftime such as '%d/%b/%Y:%H:%M:%S %z'";
    return {};
  }
  for (size_t at = text.find('%'); at != text.npos; at = text.find('%', at + 2)) {
    if (at + 1 < text.size() && kTimeConversions.find(text[at + 1]) != kTimeConversions.npos) continue;
    *wrong = "'" + text + "' has '" + text.substr(at, 2) + "'; possible are " +
             "%Y %y %m %d %e %j %b %B %a %A %H %I %p %M %S %f %z %Z %s %F %T %R %D and %%";
    return {};
  }
  format.kind_ = Kind::kPattern;
  return format;
}

std::string TimeFormat::Wanted(const std::string& how) const {
  switch (kind_) {
    case Kind::kAuto:
      return "give seconds, YYYY-MM-DD HH:MM:SS or 10/Oct/2000:13:55:36 -0700, or name its format with " + how;
    case Kind::kEpoch: return "give seconds since 1970";
    case Kind::kEpochMs: return "give milliseconds since 1970";
    case Kind::kEpochUs: return "give microseconds since 1970";
    case Kind::kIso: return "give YYYY-MM-DD HH:MM:SS";
    case Kind::kApache: return "give 10/Oct/2000:13:55:36 -0700";
    case Kind::kPattern: return "its format is '" + text_ + "' (" + how + ")";
  }
  return "";
}

bool ParseTime(std::string_view text, const TimeFormat& format, int64_t* micros) {
  TimeText parts(text);
  switch (format.kind_) {
    case TimeFormat::Kind::kAuto:
      if (text.size() > 4 && text[4] == '-') {
        if (parts.Iso() && parts.done()) return parts.Micros(micros);
        return EpochMicros(text, 1, micros);  // such as 100e-3
      }
      if (text.find('/') != text.npos) return parts.Apache() && parts.Micros(micros);
      return EpochMicros(text, 1, micros);
    case TimeFormat::Kind::kEpoch: return EpochMicros(text, 1, micros);
    case TimeFormat::Kind::kEpochMs: return EpochMicros(text, 1000, micros);
    case TimeFormat::Kind::kEpochUs: return EpochMicros(text, kMicrosPerSecond, micros);
    case TimeFormat::Kind::kIso: return parts.Iso() && parts.done() && parts.Micros(micros);
    case TimeFormat::Kind::kApache: return parts.Apache() && parts.Micros(micros);
    case TimeFormat::Kind::kPattern: return parts.Pattern(format.text_) && parts.Micros(micros);
  }
  return false;
}

// Days by the civil calendar: years begin in March, so that the leap day is the last day of a year (H. Hinnant,
// "chrono-Compatible Low-Level Date Algorithms", 2014).
int64_t DaysSince1970(const CivilDay& day) {
  const int64_t year = day.year - (day.month <= 2 ? 1 : 0);
  const int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  const int64_t of_year = (153 * (day.month + (day.month > 2 ? -3 : 9)) + 2) / 5 + day.day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

CivilDay CivilDayOf(int64_t days_since_1970) {
  const int64_t days = days_since_1970 + 719468;
  const int64_t era = (days >= 0 ? days : days - 146096) / 146097, of_era = days - era * 146097;
  const int64_t year_of_era = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  const int64_t of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
  const int64_t month = (5 * of_year + 2) / 153;  // 0: March
  CivilDay day;
  day.day = static_cast<int>(of_year - (153 * month + 2) / 5 + 1);
  day.month = static_cast<int>(month < 10 ? month + 3 : month - 9);
  day.year = year_of_era + era * 400 + (day.month <= 2 ? 1 : 0);
  return day;
}

void AppendTime(int64_t micros, std::string* out) {
  const TimeParts time(micros);
  time.Append("%FT%T", out);
  if (micros % kMicrosPerSecond != 0) {
    out->push_back('.');
    time.Append("%f", out);
    if (micros % 1000 == 0) out->resize(out->size() - 3);
  }
  out->push_back('Z');
}

void AppendTime(int64_t micros, const TimeFormat& format, std::string* out) {
  switch (format.kind_) {
    case TimeFormat::Kind::kAuto:
    case TimeFormat::Kind::kIso: return AppendTime(micros, out);
    case TimeFormat::Kind::kEpoch:
      out->append(Decimal::FromUnits(__int128{micros} * (Decimal::kOne / kMicrosPerSecond)).Text());
      return;
    case TimeFormat::Kind::kEpochMs: out->append(std::to_string(micros / 1000 - (micros % 1000 < 0 ? 1 : 0))); return;
    case TimeFormat::Kind::kEpochUs: out->append(std::to_string(micros)); return;
    case TimeFormat::Kind::kApache: return TimeParts(micros).Append("%d/%b/%Y:%T %z", out);
    case TimeFormat::Kind::kPattern: return TimeParts(micros).Append(format.text_, out);
  }
}

}  // namespace mr::expr
