// Times in fields of tables. The first byte chooses the format; that of strftime is the text up to a newline.
#include <string>
#include <vector>

#include "common/base/check.h"
#include "jobs/expressions/times.h"
#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

constexpr const char* kFormats[] = {"auto", "epoch", "epoch_ms", "epoch_us", "iso", "apache"};
constexpr uint8_t kPattern = std::size(kFormats);

void Run(std::string_view bytes) {
  Input input(bytes);
  const uint8_t kind = input.Byte() % (kPattern + 1);
  std::string_view text = input.Rest();
  std::string name, wrong;
  if (kind == kPattern) {
    const size_t end = std::min(text.find('\n'), text.size());
    name = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  } else {
    name = kFormats[kind];
  }
  const auto format = expr::TimeFormat::Parse(name, &wrong);
  MR_CHECK(format.has_value() == wrong.empty());
  if (!format) return;
  int64_t micros = 0;
  if (!expr::ParseTime(text, *format, &micros)) return;
  // A time that was read is written, and the ISO text is the same time.
  std::string iso, written;
  expr::AppendTime(micros, *format, &written);
  expr::AppendTime(micros, &iso);
  if (iso[0] == '+' || iso[0] == '-') return;  // years of four digits only are read
  int64_t again = 0;
  MR_CHECK(expr::ParseTime(iso, expr::TimeFormat(), &again) && again == micros);
  // A form without parts that are left out reads its own text as the same time.
  if (kind == kPattern) return;
  MR_CHECK(expr::ParseTime(written, *format, &again) && again <= micros);
}

std::vector<std::string> Seeds() {
  const auto seed = [](uint8_t kind, const std::string& text) { return static_cast<char>(kind) + text; };
  return {seed(0, "2000-10-10T13:55:36.25+02:00"),
          seed(0, "[10/Oct/2000:13:55:36 -0700]"),
          seed(1, "-971186136.000001"),
          seed(2, "1e3"),
          seed(3, "971186136250000"),
          seed(4, "2000-12-31 24:00"),
          seed(kPattern, "%a %d %B %y, %I:%M:%S.%f %p %z\nThu 14 January 21, 10:00:00.5 PM +01:00"),
          seed(kPattern, "%Y %j%n%t%s%%\n2020 366 1600000000%"),
          seed(kPattern, "%e/%b/%F %D %R %T %Z %h %A\n 1/Jan/2000-01-01 01/01/00 00:00 00:00:00 UTC Jan Monday")};
}

}  // namespace

const Target kTimes{"times", Run, Seeds};

}  // namespace mr::fuzz
