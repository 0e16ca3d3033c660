// Groups by hash: the table, its order, its files, and the base classes that use it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "common/base/rng.h"
#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr::hash_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

// Words of any bytes with long common prefixes, and prefixes of others with zeros behind them.
std::string RandomKey(Rng* rng) {
  std::string key;
  for (uint64_t n = rng->Below(4); n > 0; --n) key += rng->Below(3) == 0 ? "a common prefix" : "12345678";
  for (uint64_t n = rng->Below(5); n > 0; --n) key.push_back(static_cast<char>(rng->Below(4) == 0 ? rng->Next() : 0));
  if (rng->Below(3) == 0) key += std::to_string(rng->Below(1000));
  return key;
}

std::string Pack(const TestRecords& records) { return sdk::TestTask::Pack(records, 0); }
BatchView View(const std::string& bytes) {
  BatchView view;
  EXPECT_EQ(BatchView::Parse(bytes.data(), bytes.size(), &view), nullptr);
  return view;
}
TestRecord Count(const std::string& word, int64_t n) {
  TestRecord r{word, ""};
  ValueCodec<int64_t>::Append(n, &r.value);
  return r;
}

TEST(HashBytesTest, DependsOnEachByteAndOnTheLength) {
  for (size_t n = 0; n < 50; ++n) {
    const std::string zeros(n, '\0');
    EXPECT_NE(sdk::HashBytes(zeros), sdk::HashBytes(zeros + '\0')) << n;
    for (size_t i = 0; i < n; ++i) {
      std::string other = zeros;
      other[i] = 1;
      EXPECT_NE(sdk::HashBytes(zeros), sdk::HashBytes(other)) << n << ", byte " << i;
      EXPECT_FALSE(sdk::EqualBytes(zeros, other));
      EXPECT_TRUE(sdk::EqualBytes(other, std::string(other)));
    }
  }
}

TEST(HashBytesTest, APrefixIsOrderedLikeTheBytes) {
  Rng rng(1);
  for (int i = 0; i < 3000; ++i) {
    const std::string a = RandomKey(&rng), b = RandomKey(&rng);
    const size_t from = rng.Below(12);
    const uint64_t x = sdk::KeyPrefix(a, from), y = sdk::KeyPrefix(b, from);
    if (a.size() < from || b.size() < from || x == y) continue;
    EXPECT_EQ(x < y, a.substr(from) < b.substr(from));
  }
}

TEST(HashGroupsTest, FoldsAndOrdersAnyKeys) {
  for (const size_t keys : {1u, 30u, 3000u, 60000u}) {
    Rng rng(keys);
    sdk::HashGroups<int64_t> groups;
    std::map<std::string, int64_t> expected;
    TestRecords records;
    for (size_t i = 0; i < keys; ++i) {
      records.push_back({RandomKey(&rng), ""});
      ++expected[records.back().key];
    }
    const std::string batch = Pack(records);
    groups.Add(
        View(batch), ~size_t{0}, [](int64_t& total, uint32_t, bool) { ++total; }, [] { FAIL(); });
    std::vector<std::pair<std::string, int64_t>> got;
    for (const sdk::KeyItem& item : groups.InKeyOrder()) {
      got.emplace_back(groups.key(item.number), groups.total(item.number));
    }
    EXPECT_EQ(got, (std::vector<std::pair<std::string, int64_t>>(expected.begin(), expected.end()))) << keys;
  }
}

TEST(KeySortTest, KeysOfAMegabyteWithOneLongPrefixNeedNoDeepStack) {
  sdk::HashGroups<int64_t> groups;
  TestRecords records;
  for (int i = 0; i < 100; ++i) {
    // Each parts from the others at another place.
    std::string key(400'000, 'x');
    key[static_cast<size_t>(i) * 4000] = 'a';
    records.push_back({key + std::to_string(i), ""});
  }
  for (const TestRecord& record : records) {
    const std::string batch = Pack({record});
    groups.Add(
        View(batch), ~size_t{0}, [](int64_t&, uint32_t, bool) {}, [] { FAIL(); });
  }
  std::vector<std::string> got, expected;
  for (const sdk::KeyItem& item : groups.InKeyOrder()) got.emplace_back(groups.key(item.number));
  for (const TestRecord& record : records) expected.push_back(record.key);
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(got, expected);
}

TEST(SortedRunsTest, MergesByKeyAndEqualKeysByRun) {
  sdk::SortedRuns runs;
  EXPECT_TRUE(runs.empty());
  const std::string large(3'000'000, 'v');
  runs.Add("a", "1");
  runs.Add("c", large);
  runs.EndRun();
  runs.EndRun();  // an empty one
  runs.Add("a", "2");
  runs.Add("b", "");
  runs.Add("c", "3");
  runs.EndRun();
  std::vector<std::pair<std::string, size_t>> got;
  runs.Merge(1, [&](std::string_view key, std::string_view value) { got.emplace_back(key, value.size()); });
  EXPECT_THAT(got, ElementsAre(Pair("a", 1), Pair("a", 1), Pair("b", 0), Pair("c", large.size()), Pair("c", 1)));
}

// Concatenates, so that the order of the values shows.
TEST(HashReduceTest, TheMemoryChangesNothing) {
  Rng rng(7);
  std::map<std::string, std::string> expected;
  std::vector<std::string> batches;
  for (int b = 0; b < 20; ++b) {
    TestRecords records;
    for (int i = 0; i < 500; ++i) {
      const std::string key = RandomKey(&rng), value = std::to_string(rng.Below(100)) + ",";
      records.push_back({key, value});
      expected[key] += value;
    }
    batches.push_back(Pack(records));
  }
  for (const size_t most_bytes : {size_t{1}, size_t{20'000}, size_t{60'000}, ~size_t{0} / 2}) {
    sdk::HashReduce<std::string> reduce(most_bytes);
    const auto append = [](std::string& total, std::string_view value) { total.append(value); };
    for (const std::string& batch : batches) {
      reduce.Add(View(batch), [&](std::string& total, std::string_view v, uint32_t) { append(total, v); });
    }
    EXPECT_EQ(reduce.spilled(), most_bytes < 100'000) << most_bytes;
    std::vector<std::pair<std::string, std::string>> got;
    reduce.Finish(append, [&](std::string_view key, const std::string& total) { got.emplace_back(key, total); });
    EXPECT_EQ(got, (std::vector<std::pair<std::string, std::string>>(expected.begin(), expected.end()))) << most_bytes;
  }
}

class HashSum : public HashReducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Fold(int64_t& total, int64_t n) {
    if (n == 13) throw JobError("thirteen");
    total += n;
  }
  void Reduce(std::string_view key, int64_t total, Out& out) {
    if (total == 0) throw BadRecord("nothing");
    out.Emit(key, total);
  }
  void End(Out& out) { out.Emit("the end", 0); }
};
using HashSumTest = OperatorTest<HashSum>;

TEST(HashReducerTest, FoldsRecordsInAnyOrderAndReducesInKeyOrder) {
  HashSumTest test("", {1}, 2);
  test.Feed({Count("b", 1), Count("a", 2), Count("b", 3)}, 0).Feed({Count("c", 13), Count("a", 5)}, 1).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()),
              ElementsAre(Pair("a", 7), Pair("b", 4), Pair("c", 13), Pair("the end", 0)));
  EXPECT_EQ(test.taken(), 5 * 9u) << "all bytes count as taken";
}

TEST(HashReducerTest, TheEmptyKeyIsAKey) {
  HashSumTest test;
  test.Feed({Count("", 1), Count("", 2)}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("", 3), Pair("the end", 0)));
}

TEST(HashReducerTest, AcceptsGroupedInputToo) {
  HashSumTest test;
  test.FeedGroups({{Count("a", 1), Count("b", 2)}, {Count("b", 3)}}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("a", 1), Pair("b", 5), Pair("the end", 0)));
}

TEST(HashReducerTest, ABadGroupIsSkippedWithItsKey) {
  HashSumTest test;
  test.MaxBadRecords(1).Feed({Count("a", 0), Count("b", 2)}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("b", 2), Pair("the end", 0)));
  EXPECT_THAT(test.bad_records(), ElementsAre(HasSubstr("key 'a': nothing")));
}

TEST(HashReducerTest, AFailingFoldFailsTheTask) {
  HashSumTest test;
  EXPECT_THROW(test.Feed({Count("a", 1), Count("a", 13)}), JobError);
}

class CountEach : public LineMapper<std::string, int64_t>, public HashCombiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    out.Emit(line, 1);
    if (line == "bad") throw BadRecord("bad");
  }
  void Fold(int64_t& total, int64_t n) { total += n; }
};

TEST(HashCombinerTest, EmitsEachKeyOnceInTheOrderOfFirstSight) {
  OperatorTest<CountEach> test;
  test.MaxBadRecords(2).Feed({{"", "z"}, {"", "a"}, {"", "bad"}, {"", "z"}}).Feed({{"", "a"}, {"", "bad"}, {"", "m"}});
  test.End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("z", 2), Pair("a", 2), Pair("m", 1)))
      << "what a bad record emits is taken back";
}

TEST(HashCombinerTest, FoldsAMillionRecords) {
  OperatorTest<CountEach> test;
  TestRecords lines;
  for (int i = 0; i < 10'000; ++i) lines.push_back({"", std::to_string(i % 5000)});
  for (int i = 0; i < 100; ++i) test.Feed(lines);
  test.End();
  const auto got = test.Emitted<std::string, int64_t>();
  ASSERT_EQ(got.size(), 5000u);
  for (const auto& [key, n] : got) EXPECT_EQ(n, 200) << key;
}

class Words : public LineMapper<std::string, int64_t>, public HashCombiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); });
  }
  void Fold(int64_t& total, int64_t n) { total += n; }
};
class Total : public HashReducer<std::string, int64_t, Text, Text> {
 public:
  void Fold(int64_t& total, int64_t n) { total += n; }
  void Reduce(std::string_view word, int64_t total, Out& out) { out.Emit(word, total); }
};
void PlanWords(const std::vector<std::string>&, JobPlan& plan) {
  auto& words = plan.Map("words", "words").ReadFiles().Shuffle({.sorted = false});
  plan.Reduce("total", "total").GroupByHash(words).WriteFiles();
}

TEST(HashReducerTest, AWholeJobIsDeterministic) {
  Library library;
  library.Add<Words>("words", MR_DETERMINISTIC | MR_UNORDERED)
      .Add<Total>("total", MR_DETERMINISTIC)
      .AddJob<PlanWords>("count", "");
  LocalJob job(library.table());
  job.Input("in", "b a b\nc b a\n");
  EXPECT_EQ(SortedOutput(job.Run("count")), "a\t2\nb\t3\nc\t1\n");
  const auto verdict = ExpectDeterministic(job, "count");
  EXPECT_TRUE(verdict.ok) << verdict.text;
}

TEST(PlanTest, AReduceWithoutGroupsIsRefused) {
  JobPlan plan;
  auto& map = plan.Map("m", "m").ReadFiles().Shuffle({.sorted = false});
  plan.Reduce("r", "r").Read(Edge::kAllToAll, map).WriteFiles();
  EXPECT_THROW(plan.Json(), PlanError);
}

}  // namespace
}  // namespace mr::hash_test
