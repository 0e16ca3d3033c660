// The parts of job aggregate: sketches of different values, sums of squares, and numbers as keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "jobs/builtin/aggregate/group_key.h"
#include "jobs/builtin/aggregate/hyperloglog.h"
#include "jobs/builtin/aggregate/moments.h"
#include "jobs/builtin/aggregate/wide_integer.h"
#include "jobs/builtin/aggregate/wide_sum.h"
#include "jobs/builtin/aggregate/write_groups.h"
#include "jobs/builtin/number_key.h"
#include "paceline/testing.h"
#include "tests/jobs/less_memory.h"

namespace mr::builtin {
namespace {

std::string SketchOf(uint64_t from, uint64_t to) {
  std::string sketch;
  for (uint64_t i = from; i < to; ++i) HyperLogLog::Add(Hash64(std::to_string(i)), &sketch);
  HyperLogLog::Pack(&sketch);
  return sketch;
}

TEST(HyperLogLogTest, ItsErrorIsThatOfThePaper) {
  EXPECT_EQ(HyperLogLog::Estimate(""), 0u);
  for (const uint64_t n : {1, 2, 10, 100, 1000, 4096}) EXPECT_NEAR(HyperLogLog::Estimate(SketchOf(0, n)), n, n * 0.001);
  // The standard error is 0.81 %, where the raw estimate of the first paper is biased, too.
  double squares = 0;
  int runs = 0;
  for (const uint64_t n : {4200, 10'000, 20'000, 40'000, 60'000, 100'000}) {
    for (uint64_t run = 0; run < 5; ++run, ++runs) {
      const uint64_t from = (run + 1) * 1'000'000;
      const double error =
          static_cast<double>(HyperLogLog::Estimate(SketchOf(from, from + n))) / static_cast<double>(n) - 1;
      EXPECT_LT(std::fabs(error), 0.035) << n;
      squares += error * error;
    }
  }
  EXPECT_LT(std::sqrt(squares / runs), 0.0115);
}

// Equal sets have equal sketches, whatever the order and the merges.
TEST(HyperLogLogTest, ASketchDependsOnTheSetAlone) {
  Rng rng(7);
  for (const uint64_t n : {3, 300, 4096, 4097, 9000}) {
    const std::string expected = SketchOf(0, n);
    for (int round = 0; round < 4; ++round) {
      std::vector<std::string> parts(1 + rng.Below(6));
      std::vector<uint64_t> values(n + n / 2);
      for (uint64_t i = 0; i < values.size(); ++i) values[i] = i % n;
      for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[rng.Below(i)]);
      for (const uint64_t v : values) HyperLogLog::Add(Hash64(std::to_string(v)), &parts[rng.Below(parts.size())]);
      for (std::string& part : parts) HyperLogLog::Pack(&part);
      while (parts.size() > 1) {
        const size_t into = rng.Below(parts.size() - 1);
        HyperLogLog::Merge(parts.back(), &parts[into]);
        HyperLogLog::Pack(&parts[into]);
        parts.pop_back();
      }
      EXPECT_TRUE(parts[0] == expected) << n;
    }
  }
}

TEST(HyperLogLogTest, DamagedBytesAreRefused) {
  std::string sketch = SketchOf(0, 5);
  EXPECT_THROW(HyperLogLog::Merge("X", &sketch), JobError);
  EXPECT_THROW(HyperLogLog::Merge("S12", &sketch), JobError);
  EXPECT_THROW(HyperLogLog::Merge("D123", &sketch), JobError);
}

Decimal Parsed(const std::string& text) {
  Decimal number;
  EXPECT_TRUE(Decimal::Parse(text, &number)) << text;
  return number;
}

TEST(MomentsTest, DoNotDependOnOrderAndMerges) {
  Rng rng(9);
  for (const bool doubles : {false, true}) {
    std::vector<Decimal> numbers;
    for (int i = 0; i < 200; ++i) {
      std::string text = std::to_string(static_cast<int64_t>(rng.Below(2'000'000)) - 1'000'000) + "." +
                         std::to_string(rng.Below(1000));
      if (doubles && rng.Below(3) == 0) text += "e" + std::to_string(static_cast<int64_t>(rng.Below(60)) - 30);
      numbers.push_back(Parsed(text));
    }
    std::string one;
    for (const Decimal& n : numbers) Moments::Add(n, &one);
    const double expected = Moments::Variance(one, numbers.size(), numbers.size(), false);
    for (int round = 0; round < 10; ++round) {
      for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[rng.Below(i)]);
      std::vector<std::string> parts(1 + rng.Below(7));
      for (const Decimal& n : numbers) Moments::Add(n, &parts[rng.Below(parts.size())]);
      for (; parts.size() > 1; parts.pop_back()) Moments::Merge(parts.back(), &parts[rng.Below(parts.size() - 1)]);
      EXPECT_EQ(Moments::Variance(parts[0], numbers.size(), numbers.size(), false), expected);
    }
  }
}

TEST(WideSumTest, DoesNotDependOnOrderAndMerges) {
  Rng rng(12);
  std::vector<Decimal> numbers;
  for (int i = 0; i < 100; ++i) {
    std::string text = (rng.Below(2) == 0 ? "-" : "") + std::to_string(rng.Next());
    if (rng.Below(3) == 0) text += "0";
    if (rng.Below(3) == 0) text += "e" + std::to_string(static_cast<int64_t>(rng.Below(40)) - 20);
    numbers.push_back(Parsed(text));
  }
  struct Part {
    Decimal sum;
    std::string rest;
  };
  std::string expected;
  for (int round = 0; round < 50; ++round) {
    std::vector<Part> parts(1 + rng.Below(7));
    for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[rng.Below(i)]);
    for (const Decimal& n : numbers) {
      Part& part = parts[rng.Below(parts.size())];
      WideSum::Add(n, &part.sum, &part.rest);
    }
    for (; parts.size() > 1; parts.pop_back()) {
      Part& into = parts[rng.Below(parts.size() - 1)];
      WideSum::Add(parts.back().sum, &into.sum, &into.rest);
      WideSum::Merge(parts.back().rest, &into.rest);
    }
    const std::string text = WideSum::Total(parts[0].sum, parts[0].rest).Text();
    if (expected.empty()) expected = text;
    EXPECT_EQ(text, expected);
  }
}

TEST(MomentsTest, HoldTheLargestAndSmallestNumbers) {
  std::string moments;
  for (int i = 0; i < 1000; ++i) {
    Moments::Add(Parsed("170000000000000000000"), &moments);
    Moments::Add(Parsed("-170000000000000000000"), &moments);
  }
  EXPECT_DOUBLE_EQ(Moments::Variance(moments, 2000, 2000, true), 1.7e20);
  std::string tiny;
  Moments::Add(Decimal::FromDouble(4.9e-324), &tiny);
  Moments::Add(Decimal::FromDouble(-4.9e-324), &tiny);
  EXPECT_EQ(Moments::Variance(tiny, 2, 2, true), 4.9e-324);
  std::string huge;
  Moments::Add(Decimal::FromDouble(std::numeric_limits<double>::max()), &huge);
  Moments::Add(Decimal::FromDouble(std::numeric_limits<double>::lowest()), &huge);
  EXPECT_DOUBLE_EQ(Moments::Variance(huge, 2, 2, true), std::numeric_limits<double>::max());
}

TEST(WideIntegerTest, CountsLike128Bits) {
  Rng rng(4);
  const auto wide = [](__int128 n) {
    const uint64_t limbs[2] = {static_cast<uint64_t>(n), static_cast<uint64_t>(n >> 64)};
    return WideInteger::FromLimbs(limbs, 2, true);
  };
  const auto bytes = [](const WideInteger& n) {
    std::string text;
    n.Encode(&text);
    return text;
  };
  for (int i = 0; i < 20'000; ++i) {
    const auto any = [&] { return static_cast<__int128>(static_cast<int64_t>(rng.Next()) >> rng.Below(64)); };
    const __int128 a = any(), b = any();
    EXPECT_EQ(bytes(wide(a).Add(wide(b))), bytes(wide(a + b)));
    EXPECT_EQ(bytes(wide(a).Times(wide(b))), bytes(wide(a * b)));
    const unsigned shift = static_cast<unsigned>(rng.Below(60));
    EXPECT_EQ(bytes(wide(a).ShiftedLeft(shift)), bytes(wide(a * (__int128{1} << shift))));
    EXPECT_EQ(static_cast<double>(wide(a).Scaled(0)), static_cast<double>(a));
    const std::string encoded = bytes(wide(a));
    std::string_view rest = encoded;
    EXPECT_EQ(bytes(WideInteger::Decode(&rest)), encoded);
    EXPECT_TRUE(rest.empty());
  }
}

TEST(NumberKeyTest, OrdersLikeNumbersAndReturnsThem) {
  Rng rng(6);
  std::vector<Decimal> numbers;
  for (const char* text : {"0",
                           "1",
                           "-1",
                           "0.1",
                           "-0.1",
                           "0.000000000000000001",
                           "-0.000000000000000001",
                           "9007199254740993",
                           "9007199254740992",
                           "9.007199254740992e15",
                           "9007199254740992.000000000000000001",
                           "1e30",
                           "-1e30",
                           "1e-30",
                           "170141183460469231731",
                           "-170141183460469231731",
                           "170141183460469231731.687303715884105727",
                           "1e308",
                           "0.1e0",
                           "100000000000000000000",
                           "1e20"}) {
    numbers.push_back(Parsed(text));
  }
  for (int i = 0; i < 1500; ++i) {
    std::string text = rng.Below(2) == 0 ? "-" : "";
    text += std::to_string(rng.Next() >> rng.Below(64));
    if (rng.Below(2) == 0) text += "." + std::to_string(rng.Next() >> rng.Below(64)).substr(0, rng.Below(18) + 1);
    if (rng.Below(5) == 0) text += "e-" + std::to_string(rng.Below(20));
    numbers.push_back(Parsed(text));
  }
  std::vector<std::string> keys;
  for (const Decimal& number : numbers) {
    AppendNumberKey(number, &keys.emplace_back());
    EXPECT_LE(keys.back().size(), number_key::kMostBytes);
    const std::string more = keys.back() + "more";
    std::string_view rest = more;
    const Decimal back = TakeNumberKey(&rest);
    EXPECT_EQ(rest, "more");
    EXPECT_EQ(back.Compare(number), 0) << number.Text();
    EXPECT_EQ(back.Text(), number.Text());
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    for (size_t j = 0; j < numbers.size(); j += 7) {
      const int by_key = keys[i].compare(keys[j]), by_value = numbers[i].Compare(numbers[j]);
      ASSERT_EQ((by_key > 0) - (by_key < 0), (by_value > 0) - (by_value < 0))
          << numbers[i].Text() << " " << numbers[j].Text();
    }
  }
}

// The reduce keeps the values of a group in runs on disk when its table is full. They come back in order.
TEST(WriteGroupsTest, AGroupWithMoreValuesThanItsMemoryHasItsQuantiles) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer's own memory is above the limit of this test";
#endif
  constexpr uint64_t kValues = 160'000;
  const LessMemory less(56u << 20);  // a table of 14 MiB
  std::vector<Measure> measures(2);
  measures[0] = {Fold::kQuantile, 0, -1, kRankUnits / 2, 0};
  measures[1] = {Fold::kDistinct, 1, -1, 0, 1};
  Config config;
  config.Set("csv", CsvFormatName(CsvDialect())).Set("output_header", 0).Set("groups", 1);
  config.Set("names", EncodeTexts({"g", "m", "d"})).Set("measures", EncodeMeasures(measures));
  OperatorTest<WriteGroups> test(config.Encode());
  std::string group;
  KeyCodec<std::string>::AppendPart("g", &group);
  for (uint64_t part = 0; part < 4; ++part) {
    TestRecord states{group + std::string(1, '\0'), std::string(1, group_key::kStates)};
    for (const Measure& m : measures) {
      FoldState state;
      state.count = kValues / 4;
      AppendState(m, &state, &states.value);
    }
    test.Feed({states});
    for (uint64_t from = part; from < kValues; from += 4000) {
      TestRecords records;
      for (uint64_t i = from; i < from + 4000; i += 4) {
        TestRecord record{group + '\1', std::string(1, group_key::kTimes) + '\1'};
        AppendNumberKey(Parsed(std::to_string(i * 7919 % kValues)), &record.key);  // 7919 is prime
        records.push_back(record);
        records.push_back({group + '\2' + std::to_string(i % 1000), ""});
      }
      test.Feed(records);
    }
  }
  test.End();
  ASSERT_EQ(test.Raw().size(), 1u);
  EXPECT_EQ(test.Raw()[0].value + test.Raw()[0].key, "g,79999.5,1000");
}

}  // namespace
}  // namespace mr::builtin
