// Emitted numbers reach the file as they are, or they are refused. (tests/jobs/badlib/lossy.cc: what does not compile.)
#include "paceline/convert.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
#include <utility>

#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr {
namespace {

using sdk::Fit;
using sdk::FitOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

enum class ConvertedColour : int64_t { kRed = 7 };

TEST(ConvertTest, ANumberFitsWiderTypesAndOnesOfItsWidth) {
  EXPECT_EQ((FitOf<int, int64_t>()), Fit::kAlways);
  EXPECT_EQ((FitOf<int, uint64_t>()), Fit::kAlways);
  EXPECT_EQ((FitOf<int, uint32_t>()), Fit::kAlways);
  EXPECT_EQ((FitOf<size_t, int64_t>()), Fit::kAlways);
  EXPECT_EQ((FitOf<int64_t, double>()), Fit::kAlways);
  EXPECT_EQ((FitOf<float, double>()), Fit::kAlways);
  EXPECT_EQ((FitOf<bool, int64_t>()), Fit::kAlways);
  EXPECT_EQ((FitOf<ConvertedColour, int64_t>()), Fit::kAlways);
}

TEST(ConvertTest, NarrowerTypesAndIntegersForFloatingPointAreRefused) {
  EXPECT_EQ((FitOf<int64_t, int32_t>()), Fit::kLossy);
  EXPECT_EQ((FitOf<size_t, uint32_t>()), Fit::kLossy);
  EXPECT_EQ((FitOf<double, int64_t>()), Fit::kLossy);
  EXPECT_EQ((FitOf<float, int64_t>()), Fit::kLossy);
  EXPECT_EQ((FitOf<double, float>()), Fit::kLossy);
  EXPECT_EQ((FitOf<int64_t, float>()), Fit::kLossy);
  EXPECT_EQ((FitOf<int64_t, bool>()), Fit::kLossy);
  EXPECT_EQ((FitOf<ConvertedColour, int32_t>()), Fit::kLossy);
  EXPECT_EQ((FitOf<const char*, bool>()), Fit::kNoNumber);
}

TEST(ConvertTest, AnIntForASmallerTypeIsCheckedWhenTheOperatorRuns) {
  EXPECT_EQ(sdk::Declared<uint8_t>(255), 255);
  EXPECT_EQ(sdk::Declared<int16_t>(-32768), -32768);
  EXPECT_EQ(sdk::Declared<bool>(1), true);
  EXPECT_THROW(sdk::Declared<uint8_t>(256), JobError);
  EXPECT_THROW(sdk::Declared<uint8_t>(-1), JobError);
  EXPECT_THROW(sdk::Declared<bool>(2), JobError);
  try {
    sdk::Declared<int16_t>(32768);
    FAIL();
  } catch (const JobError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the number 32768 does not fit the declared type of 16 bits"));
  }
}

using SizedKey = std::pair<std::string, int64_t>;
using SizedValue = std::tuple<uint8_t, double, SizedKey>;
class EmitsLists : public LineMapper<SizedKey, SizedValue> {
 public:
  void Map(std::string_view line, Out& out) {
    const std::string text(line);
    out.Emit({text, line.size()}, {7, 0.5F, {text, 1}});
    out.Emit(std::pair(line, line.size()), std::tuple(7, 0.5F, SizedKey(text, 2)));
    const KeyView<SizedKey> key(text, 9);
    out.Emit({key}, {7, 2, SizedKey(text, 3)});
  }
};

TEST(ConvertTest, ListsAndPairsOfFittingNumbersAreConverted) {
  OperatorTest<EmitsLists> test;
  test.Feed({{"", "abc"}}).End();
  EXPECT_THAT((test.Emitted<SizedKey, SizedValue>()),
              ElementsAre(Pair(SizedKey("abc", 3), SizedValue(7, 0.5, {"abc", 1})),
                          Pair(SizedKey("abc", 3), SizedValue(7, 0.5, {"abc", 2})),
                          Pair(SizedKey("abc", 9), SizedValue(7, 2, {"abc", 3}))));
}

class EmitsTheSize : public LineMapper<std::string, std::pair<uint8_t, bool>> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, {static_cast<int>(line.size()), 1}); }
};

TEST(ConvertTest, AnIntTooLargeForAPartOfAListFailsTheAttempt) {
  OperatorTest<EmitsTheSize> test;
  test.Feed({{"", std::string(255, 'x')}}).End();
  EXPECT_EQ(test.Raw().size(), 1u);
  OperatorTest<EmitsTheSize> more;
  EXPECT_THROW(more.Feed({{"", std::string(256, 'x')}}), JobError);
}

// Reads the values of a group twice.
class ReadsTwice : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    int64_t n = 0;
    for ([[maybe_unused]] const int64_t v : values) ++n;
    out.Emit(key, n + mr::Sum(values));
  }
};
// Looks at the first value before the loop.
class LooksFirst : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    const int64_t first = *values.begin();
    out.Emit(key, first * 100 + mr::Sum(values));
  }
};
// Goes on with a second loop behind the first value.
class LoopsTwice : public SortedReducer<std::string, int64_t, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, SortedValues<std::string, int64_t, int64_t>& values, Out& out) {
    int64_t n = 0;
    for ([[maybe_unused]] const auto& v : values) {
      if (++n == 2) break;
    }
    for ([[maybe_unused]] const auto& v : values) ++n;
    out.Emit(key, n);
  }
};

TestRecord ConvertCount(const std::string& key, int64_t n) {
  return OperatorTest<LooksFirst>::Record<std::string, int64_t>(key, n);
}

template <class Op>
void ExpectRefused(const std::vector<TestRecords>& batches) {
  OperatorTest<Op> test;
  try {
    test.FeedGroups(batches).End();
    FAIL() << "the second loop missed values silently";
  } catch (const FinalError& error) {
    EXPECT_THAT(error.what(), HasSubstr("the values of a group can be read once"));
  }
}

TEST(ValuesTest, ASecondLoopOverTheValuesOfAGroupIsRefused) {
  ExpectRefused<ReadsTwice>({{ConvertCount("a", 1)}});
  ExpectRefused<ReadsTwice>({{ConvertCount("a", 1), ConvertCount("a", 2), ConvertCount("b", 3)}});
  ExpectRefused<ReadsTwice>({{ConvertCount("a", 1)}, {ConvertCount("a", 2)}});
  using Record = OperatorTest<LooksFirst>;
  const std::pair<std::string, int64_t> first("a", 1), second("a", 2);
  ExpectRefused<LoopsTwice>({{Record::Record<std::pair<std::string, int64_t>, int64_t>(first, 0)},
                             {Record::Record<std::pair<std::string, int64_t>, int64_t>(second, 0)}});
}

TEST(ValuesTest, ALookAtTheFirstValueBeforeTheLoopLosesNothing) {
  OperatorTest<LooksFirst> test;
  test.FeedGroups({{ConvertCount("a", 1)}, {ConvertCount("a", 2), ConvertCount("b", 3)}, {ConvertCount("b", 4)}}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("a", 103), Pair("b", 307)));
}

void AddSizes(Library& converting) {
  const auto map = [](std::string_view line, auto& out) { out.Emit("line", static_cast<int>(line.size())); };
  const auto sizes = converting.MapLines<std::string, uint8_t>("my.sizes", map);
  converting.AddJob("sizes", "", [=](JobPlan& plan) { plan.Map("size", sizes).ReadFiles().WriteFiles("record"); });
}

TEST(LocalJobTest, AFailureNamesOperatorStageAndRecord) {
  const mr_library* const table = sdk::MakeLibrary(&AddSizes);
  LocalJob job(table, {.split_bytes = 1 << 20});
  EXPECT_EQ(job.Input("in", "a\n").Run("sizes").Failure(), "");
  LocalJob wide(table, {.split_bytes = 1 << 20});
  EXPECT_THAT(
      wide.Input("in", "ab\n" + std::string(300, 'x') + "\n").Run("sizes").Failure(),
      testing::StartsWith("operator 'my.sizes' of stage 'size' failed at in, byte 3: the number 300 does not "));
}

}  // namespace
}  // namespace mr
