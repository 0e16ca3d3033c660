// Time buckets: --bucket COLUMN=WIDTH groups rows by the start of the bucket in which the column's time lies.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/expressions/times.h"

namespace mr::builtin {

// The width of buckets.
class BucketWidth {
 public:
  // Reads a number with ms, s, m, h or d, from 1ms to 36500d, or week, month, year. Returns nothing for another text.
  static std::optional<BucketWidth> Parse(const std::string& text);
  // Returns the start of the bucket, both in microseconds since 1970. Buckets of a duration begin at its multiples
  // since 1970-01-01T00:00:00Z, weeks on Monday, months and years on their first day.
  int64_t StartOf(int64_t micros) const;
  const std::string& text() const { return text_; }

 private:
  enum class Kind { kDuration, kWeek, kMonth, kYear };
  Kind kind_ = Kind::kDuration;
  int64_t micros_ = 1;  // of kDuration
  std::string text_;
};

// The text of a column's buckets, one field after the other.
class Bucketing {
 public:
  Bucketing(BucketWidth width, expr::TimeFormat format) : width_(std::move(width)), format_(std::move(format)) {}
  // Sets *bucket to the bucket's start in ISO 8601, valid until the next call; an empty field has an empty bucket.
  // Returns false if the field is no time.
  bool Of(std::string_view field, std::string_view* bucket);
  const expr::TimeFormat& format() const { return format_; }

 private:
  BucketWidth width_;
  expr::TimeFormat format_;
  std::optional<int64_t> start_;  // of text_
  std::string text_;
};

}  // namespace mr::builtin
