// Times in the fields of tables: seconds since 1970, ISO 8601, the form of Apache's log, or a format of strftime. A
// time without a zone is in UTC. Leap seconds do not count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mr::expr {

// The form of the times in a column.
class TimeFormat {
 public:
  // Accepts seconds, ISO 8601 and Apache's form.
  TimeFormat() = default;
  // Reads the value of --time-format: auto, epoch, epoch_ms, epoch_us, iso, apache, or a format of strftime, which has
  // a %. Returns nothing, with the reason in *wrong, if the value is none of these.
  static std::optional<TimeFormat> Parse(const std::string& text, std::string* wrong);

  // Returns the text that Parse accepts, for a config.
  const std::string& text() const { return text_; }
  // Returns the accepted forms for an error: "give seconds since 1970". how: names the way to give a format.
  std::string Wanted(const std::string& how = "--time-format") const;

 private:
  friend bool ParseTime(std::string_view text, const TimeFormat& format, int64_t* micros);
  friend void AppendTime(int64_t micros, const TimeFormat& format, std::string* out);
  enum class Kind { kAuto, kEpoch, kEpochMs, kEpochUs, kIso, kApache, kPattern };

  Kind kind_ = Kind::kAuto;
  std::string text_ = "auto";
};

// Sets *micros to the microseconds since 1970-01-01T00:00:00Z, rounded down. Returns false if the text is no time of
// this format, or lies 1e12 seconds or more from 1970.
bool ParseTime(std::string_view text, const TimeFormat& format, int64_t* micros);

// Appends the time in ISO 8601, in UTC: 2000-10-10T13:55:36Z, with 3 or 6 digits after the point if it has parts of a
// second. Years before 0 or after 9999 have a sign and more digits.
void AppendTime(int64_t micros, std::string* out);
// Appends the time in a format, in UTC; auto is ISO 8601. Names of months and days are English. ParseTime reads the
// text back, apart from parts that the format leaves out, and years before 0 or after 9999.
void AppendTime(int64_t micros, const TimeFormat& format, std::string* out);

// A day of the Gregorian calendar.
struct CivilDay {
  int64_t year = 1970;
  int month = 1, day = 1;  // from 1
};
int64_t DaysSince1970(const CivilDay& day);
CivilDay CivilDayOf(int64_t days_since_1970);

// Help text of --time-format.
#define MR_TIME_FORMAT_HELP                                                                        \
  "  --time-format F        auto (default): seconds since 1970, 2000-10-10 13:55:36 with T or a\n" \
  "                         blank, a fraction and a zone, or 10/Oct/2000:13:55:36 -0700;\n"        \
  "                         epoch, epoch_ms, epoch_us, iso or apache: one form only;\n"            \
  "                         or a format of strftime, such as '%d.%m.%Y %H:%M'.\n"                  \
  "                         A time without a zone is in UTC.\n"

}  // namespace mr::expr
