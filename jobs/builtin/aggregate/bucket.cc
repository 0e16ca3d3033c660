#include "jobs/builtin/aggregate/bucket.h"

#include <charconv>

namespace mr::builtin {
namespace {

constexpr int64_t kDayMicros = 86400'000'000;
constexpr int64_t kMostBucketMicros = 36500 * kDayMicros;
constexpr std::pair<std::string_view, int64_t> kBucketUnits[] = {
    {"ms", 1000}, {"s", 1'000'000}, {"m", 60'000'000}, {"h", 3600'000'000}, {"d", kDayMicros}};

int64_t FloorToStep(int64_t micros, int64_t step) {
  const int64_t rest = micros % step;
  return micros - rest - (rest < 0 ? step : 0);
}

}  // namespace

std::optional<BucketWidth> BucketWidth::Parse(const std::string& text) {
  BucketWidth width;
  width.text_ = text;
  if (text == "week" || text == "month" || text == "year") {
    width.kind_ = text == "week" ? Kind::kWeek : text == "month" ? Kind::kMonth : Kind::kYear;
    return width;
  }
  int64_t n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (error != std::errc() || n < 1) return {};
  const std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  for (const auto& [name, micros] : kBucketUnits) {
    if (unit != name || n > kMostBucketMicros / micros) continue;
    width.micros_ = n * micros;
    return width;
  }
  return {};
}

int64_t BucketWidth::StartOf(int64_t micros) const {
  if (kind_ == Kind::kDuration) return FloorToStep(micros, micros_);
  const int64_t days = FloorToStep(micros, kDayMicros) / kDayMicros;
  if (kind_ == Kind::kWeek) {
    constexpr int64_t kMonday = 4;  // 1970-01-05
    return (FloorToStep(days - kMonday, 7) + kMonday) * kDayMicros;
  }
  expr::CivilDay day = expr::CivilDayOf(days);
  day.day = 1;
  if (kind_ == Kind::kYear) day.month = 1;
  return expr::DaysSince1970(day) * kDayMicros;
}

bool Bucketing::Of(std::string_view field, std::string_view* bucket) {
  *bucket = {};
  if (field.empty()) return true;
  int64_t micros = 0;
  if (!expr::ParseTime(field, format_, &micros)) return false;
  const int64_t start = width_.StartOf(micros);
  if (start != start_) {
    text_.clear();
    expr::AppendTime(start, &text_);
    start_ = start;
  }
  *bucket = text_;
  return true;
}

}  // namespace mr::builtin
