// Times in fields of tables: the forms that are read, and those that are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>

#include "common/base/rng.h"
#include "jobs/expressions/times.h"

namespace mr::expr {
namespace {

using ::testing::HasSubstr;

TimeFormat Format(const std::string& text) {
  std::string wrong;
  const auto format = TimeFormat::Parse(text, &wrong);
  EXPECT_TRUE(format.has_value()) << wrong;
  return format.value_or(TimeFormat());
}

// The time in ISO 8601, or "none".
std::string Read(const std::string& text, const std::string& format = "auto") {
  int64_t micros = 0;
  if (!ParseTime(text, Format(format), &micros)) return "none";
  std::string iso;
  AppendTime(micros, &iso);
  return iso;
}

TEST(TimesTest, AutoReadsSecondsIsoAndApache) {
  EXPECT_EQ(Read("0"), "1970-01-01T00:00:00Z");
  EXPECT_EQ(Read("971186136"), "2000-10-10T13:55:36Z");
  EXPECT_EQ(Read("971186136.25"), "2000-10-10T13:55:36.250Z");
  EXPECT_EQ(Read("-0.000001"), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(Read("100e-3"), "1970-01-01T00:00:00.100Z");
  EXPECT_EQ(Read("2000-10-10"), "2000-10-10T00:00:00Z");
  EXPECT_EQ(Read("2000-10-10 13:55"), "2000-10-10T13:55:00Z");
  EXPECT_EQ(Read("2000-10-10T13:55:36"), "2000-10-10T13:55:36Z");
  EXPECT_EQ(Read("2000-10-10 13:55:36.123456789Z"), "2000-10-10T13:55:36.123456Z");
  EXPECT_EQ(Read("2000-10-10 13:55:36,5"), "2000-10-10T13:55:36.500Z");
  EXPECT_EQ(Read("2000-10-10T13:55:36-07:00"), "2000-10-10T20:55:36Z");
  EXPECT_EQ(Read("2000-10-10T13:55:36+0530"), "2000-10-10T08:25:36Z");
  EXPECT_EQ(Read("2000-10-10T13:55:36+02"), "2000-10-10T11:55:36Z");
  EXPECT_EQ(Read("10/Oct/2000:13:55:36 -0700"), "2000-10-10T20:55:36Z");
  EXPECT_EQ(Read("[10/Oct/2000:13:55:36 +0000]"), "2000-10-10T13:55:36Z");
  EXPECT_EQ(Read("2000-12-31 24:00:00"), "2001-01-01T00:00:00Z");
}

TEST(TimesTest, OtherTextsAreNoTimes) {
  for (const char* text : {"",
                           "soon",
                           "1e12",
                           "-1e12",
                           "2000-13-01",
                           "2000-00-10",
                           "2023-02-29",
                           "2000-10-32",
                           "2000-10-10 25:00:00",
                           "2000-10-10 24:00:01",
                           "2000-10-10 13:60:00",
                           "2000-10-10 13:55:61",
                           "2000-10-10x",
                           "2000-10-10 13",
                           "2000-10-10T13:55:36 Z",
                           "2000-10-10T13:55:36+",
                           "2000-10-10T13:55:36.",
                           "2000-10-10T13:55:36Zx",
                           "2000-10-10T13:55:36+19:00",
                           "10/Okt/2000:13:55:36 -0700",
                           "10/Oct/2000:13:55:36 ",
                           "[10/Oct/2000:13:55:36",
                           "10/Oct/2000 13:55:36",
                           "nan",
                           "inf",
                           "2000-1-1",
                           "31/Feb/2000:00:00:00 +0000"}) {
    EXPECT_EQ(Read(text), "none") << text;
  }
}

TEST(TimesTest, ANamedFormIsTheOnlyOneThatIsRead) {
  EXPECT_EQ(Read("971186136500", "epoch_ms"), "2000-10-10T13:55:36.500Z");
  EXPECT_EQ(Read("-1", "epoch_ms"), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(Read("1e3", "epoch_ms"), "1970-01-01T00:00:01Z");
  EXPECT_EQ(Read("971186136500001", "epoch_us"), "2000-10-10T13:55:36.500001Z");
  EXPECT_EQ(Read("1e15", "epoch_ms"), "none");
  EXPECT_EQ(Read("10", "iso"), "none");
  EXPECT_EQ(Read("2000-10-10", "epoch"), "none");
  EXPECT_EQ(Read("2000-10-10", "apache"), "none");
  EXPECT_EQ(Read("10/Oct/2000:13:55:36 -0700", "apache"), "2000-10-10T20:55:36Z");
}

TEST(TimesTest, AFormatOfStrftimeIsReadInReverse) {
  EXPECT_EQ(Read("10.3.2021 7:05", "%d.%m.%Y %H:%M"), "2021-03-10T07:05:00Z");
  EXPECT_EQ(Read("Mar 10 21, 12:05:09 am", "%b %d %y, %I:%M:%S %p"), "2021-03-10T00:05:09Z");
  EXPECT_EQ(Read("March 1 99 12:00 PM", "%B %e %y %I:%M %p"), "1999-03-01T12:00:00Z");
  EXPECT_EQ(Read("Thu, 14 Jan 2021 10:00:00 GMT", "%a, %d %b %Y %T %Z"), "2021-01-14T10:00:00Z");
  EXPECT_EQ(Read("20210310T070509.25+0100", "%Y%m%dT%H%M%S.%f%z"), "2021-03-10T06:05:09.250Z");
  EXPECT_EQ(Read("2020 366", "%Y %j"), "2020-12-31T00:00:00Z");
  EXPECT_EQ(Read("2021 366", "%Y %j"), "none");
  EXPECT_EQ(Read("x1600000000%", "x%s%%"), "2020-09-13T12:26:40Z");
  EXPECT_EQ(Read("2021-03-10", "%d.%m.%Y"), "none");
  EXPECT_EQ(Read("13:00 PM", "%I:%M %p"), "none");
  EXPECT_EQ(Read("2021-03-10 ", "%F"), "none");
  EXPECT_EQ(Read("03/10/21 07:05", "%D %R"), "2021-03-10T07:05:00Z");
}

TEST(TimesTest, AFormatThatCannotBeReadIsRefused) {
  std::string wrong;
  EXPECT_FALSE(TimeFormat::Parse("millis", &wrong));
  EXPECT_THAT(wrong, HasSubstr("'millis' is no format of times; give auto, epoch, epoch_ms"));
  EXPECT_FALSE(TimeFormat::Parse("%Y-%Q", &wrong));
  EXPECT_THAT(wrong, HasSubstr("has '%Q'; possible are %Y"));
  EXPECT_FALSE(TimeFormat::Parse("%Y-%", &wrong));
  EXPECT_THAT(wrong, HasSubstr("has '%'"));
}

// The C library's calendar is the oracle.
TEST(TimesTest, DaysAreThoseOfTheCLibrary) {
  Rng rng(3);
  for (int i = 0; i < 20'000; ++i) {
    const int64_t seconds = static_cast<int64_t>(rng.Below(500'000'000'000)) - 150'000'000'000;
    const auto when = static_cast<time_t>(seconds);
    tm parts{};
    ASSERT_NE(gmtime_r(&when, &parts), nullptr);
    std::string iso;
    AppendTime(seconds * 1'000'000, &iso);
    if (parts.tm_year + 1900 < 0 || parts.tm_year + 1900 > 9999) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02dZ", parts.tm_year + 1900, parts.tm_mon + 1,
                  parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
    ASSERT_EQ(iso, text);
    int64_t micros = 0;
    ASSERT_TRUE(ParseTime(iso, TimeFormat(), &micros)) << iso;
    ASSERT_EQ(micros, seconds * 1'000'000);
  }
}

// The C library's strftime is the oracle.
TEST(TimesTest, AFormatIsWrittenAsTheCLibraryWritesItAndReadBack) {
  Rng rng(4);
  for (int i = 0; i < 5'000; ++i) {
    const int64_t seconds = static_cast<int64_t>(rng.Below(270'000'000'000)) - 30'000'000'000;  // years of four digits
    const auto when = static_cast<time_t>(seconds);
    tm parts{};
    ASSERT_NE(gmtime_r(&when, &parts), nullptr);
    for (const char* pattern : {"%Y-%m-%d %H:%M:%S", "%F %T", "%e/%b/%Y %I:%M:%S %p", "%A, %d %B %Y %R:%S", "%j %Y %T",
                                "%a %h %d %T %Y %z", "%s", "100%% %s"}) {
      char wanted[100];
      wanted[std::strftime(wanted, sizeof wanted, pattern, &parts)] = '\0';
      std::string text;
      AppendTime(seconds * 1'000'000 + 999'999, Format(pattern), &text);
      ASSERT_EQ(text, wanted) << pattern;
      int64_t micros = 0;
      ASSERT_TRUE(ParseTime(text, Format(pattern), &micros)) << pattern << ": " << text;
      ASSERT_EQ(micros, seconds * 1'000'000) << pattern << ": " << text;
    }
  }
}

TEST(TimesTest, EveryNamedFormIsReadAsItIsWritten) {
  Rng rng(5);
  for (int i = 0; i < 2'000; ++i) {
    const int64_t exact = static_cast<int64_t>(rng.Below(300'000'000'000'000'000)) - 60'000'000'000'000'000;
    for (const auto& [name, unit] : {std::pair{"auto", 1},
                                     {"epoch", 1},
                                     {"epoch_us", 1},
                                     {"iso", 1},
                                     {"%FT%T.%f%z", 1},
                                     {"epoch_ms", 1'000},
                                     {"apache", 1'000'000}}) {
      std::string text;
      AppendTime(exact, Format(name), &text);
      int64_t micros = 0;
      ASSERT_TRUE(ParseTime(text, Format(name), &micros)) << name << ": " << text;
      const int64_t below = ((exact % unit) + unit) % unit;
      ASSERT_EQ(micros, exact - below) << name << ": " << text;
    }
  }
}

}  // namespace
}  // namespace mr::expr
