// Operators through their C table: groups over batches, joins, side inputs, combiners, partitions,
// counters, and what happens to exceptions.
#include "paceline/operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class Sum : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    int64_t total = 0;
    for (int64_t v : values) total += v;
    out.Emit(key, total);
  }
};
using SumTest = OperatorTest<Sum>;

TestRecord Count(const std::string& word, int64_t n) { return SumTest::Record<std::string, int64_t>(word, n); }

TEST(ReducerTest, AGroupGoesOnOverAnyNumberOfBatches) {
  SumTest test;
  test.FeedGroups(
          {{Count("a", 1), Count("b", 2)}, {Count("b", 3)}, {}, {Count("b", 4), Count("c", 5)}, {Count("d", 6)}})
      .End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()),
              ElementsAre(Pair("a", 1), Pair("b", 9), Pair("c", 5), Pair("d", 6)));
}

TEST(ReducerTest, EveryCutIntoBatchesGivesTheSameGroups) {
  const TestRecords all = {Count("a", 1), Count("a", 2), Count("b", 4), Count("c", 8), Count("c", 16)};
  for (uint32_t cuts = 0; cuts < 16; ++cuts) {
    std::vector<TestRecords> batches(1);
    for (size_t i = 0; i < all.size(); ++i) {
      batches.back().push_back(all[i]);
      if (i < 4 && (cuts >> i & 1)) batches.emplace_back();
    }
    SumTest test;
    test.FeedGroups(batches).End();
    EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("a", 3), Pair("b", 4), Pair("c", 24))) << cuts;
    EXPECT_EQ(test.taken(), all.size() * 9) << "all bytes count as taken";
  }
}

// Emit the record that the host would name after a crash.
class RecordOfLine : public LineMapper<int64_t, int64_t> {
 public:
  void Map(std::string_view, Out& out) { out.Emit(*context().host()->record, 0); }
};
class RecordsOfGroup : public Reducer<std::string, int64_t, int64_t, int64_t> {
 public:
  void Reduce(std::string_view, Values<int64_t>& values, Out& out) {
    out.Emit(*context().host()->record, -1);
    for (const int64_t v : values) out.Emit(*context().host()->record, v);
    out.Emit(*context().host()->record, -2);
  }
};

TEST(RecordTest, TheHostSeesAtWhichRecordOfTheBatchTheOperatorIs) {
  OperatorTest<RecordOfLine> lines;
  lines.Feed({{"", "x"}, {"", ""}, {"", "y"}}).End();
  EXPECT_THAT((lines.Emitted<int64_t, int64_t>()), ElementsAre(Pair(0, 0), Pair(1, 0), Pair(2, 0)));
  OperatorTest<RecordsOfGroup> groups;
  groups.FeedGroups({{Count("a", 10), Count("b", 20), Count("b", 21)}}).End();
  EXPECT_THAT((groups.Emitted<int64_t, int64_t>()),
              ElementsAre(Pair(0, -1), Pair(0, 10), Pair(0, -2), Pair(1, -1), Pair(1, 20), Pair(2, 21), Pair(2, -2)))
      << "behind its values a group is still at the last of them";
}

// Emit what the host would name after a crash besides the record.
class AtLine : public BlockMapper<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    const mr_bytes& at = *context().host()->at;
    out.Emit(at.data == nullptr ? "none" : "some", 0);
    ForEachLine(block.text, [&](std::string_view line) { out.Emit(std::string_view(at.data, line.size()), 1); });
  }
};
class AtGroup : public HashReducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Fold(int64_t& total, int64_t n) { total += n; }
  void Reduce(std::string_view, int64_t total, Out& out) {
    const mr_bytes& at = *context().host()->at;
    out.Emit(std::string_view(at.data, at.size), total);
  }
};

TEST(RecordTest, TheHostSeesTheLineOfABlockAndTheKeyOfAGroupAtTheEnd) {
  OperatorTest<AtLine> lines;
  lines.Feed({{"", "a\nbb\n"}, {"", "c\n"}}).End();
  EXPECT_THAT((lines.Emitted<std::string, int64_t>()),
              ElementsAre(Pair("none", 0), Pair("a", 1), Pair("bb", 1), Pair("none", 0), Pair("c", 1)));
  OperatorTest<AtGroup> groups;
  groups.Feed({Count("a", 1), Count("b", 2), Count("a", 3)}).End();
  std::vector<std::string> keys;
  for (const auto& [at, total] : groups.Emitted<std::string, int64_t>()) {
    const std::string& encoded = SumTest::Record<std::string, int64_t>(total == 4 ? "a" : "b", 0).key;
    EXPECT_EQ(at, encoded);
    keys.push_back(at);
  }
  EXPECT_EQ(keys.size(), 2u);
}

// Counts in its constructor, and keeps the counter.
class CountsItself : public LineMapper<std::string, int64_t> {
 public:
  CountsItself() { ++made_; }
  void Map(std::string_view line, Out& out) {
    ++lines_;
    out.Emit(line, static_cast<int64_t>(context().task()));
  }

 private:
  Counter& made_ = counter("made");
  Counter& lines_ = counter("lines");
};

TEST(ContextTest, CountersCanBeUsedInTheConstructor) {
  OperatorTest<CountsItself> test;
  test.Feed({{"", "x"}, {"", "y"}}).End();
  EXPECT_EQ(test.counters().at({"stage", "made"}), 1);
  EXPECT_EQ(test.counters().at({"stage", "lines"}), 2);
}

TEST(ContextTest, AnOperatorOutsideOfAnAttemptSaysThatItHasNoCounters) {
  try {
    CountsItself alone;
    FAIL();
  } catch (const JobError& error) {
    EXPECT_THAT(error.what(), HasSubstr("constructed outside of an attempt"));
  }
}

class FirstOnly : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) { out.Emit(key, *values.begin()); }
};

TEST(ReducerTest, ValuesThatAreNotWalkedAreSkipped) {
  OperatorTest<FirstOnly> test;
  test.FeedGroups({{Count("a", 1), Count("a", 2)}, {Count("a", 3), Count("b", 7)}}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>()), ElementsAre(Pair("a", 1), Pair("b", 7)));
}

TEST(ReducerTest, UngroupedInputIsRefused) {
  SumTest test;
  try {
    test.Feed({Count("a", 1)});
    FAIL() << "not refused";
  } catch (const JobError& e) {
    EXPECT_THAT(e.what(), HasSubstr("is not grouped"));
  }
}

// Ports of different types, a counter, and the key kept while batches are pulled.
class Fan : public Reducer<std::string, int64_t, std::string, int64_t> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    int64_t n = 0;
    for ([[maybe_unused]] int64_t v : values) ++n;
    out.Emit(key, n);
    out.Port<int32_t, std::string>(1).Emit(-1, key);
    counter("groups") += 1;
  }
};

TEST(OperatorTest, PortsHaveTypesOfTheirOwnAndCountersReachTheHost) {
  OperatorTest<Fan> test("", {3, 1});
  test.FeedGroups({{Count("long enough to be on the heap", 1)}, {Count("long enough to be on the heap", 1)}}).End();
  EXPECT_THAT((test.Emitted<std::string, int64_t>(0)), ElementsAre(Pair("long enough to be on the heap", 2)));
  EXPECT_THAT((test.Emitted<int32_t, std::string>(1)), ElementsAre(Pair(-1, "long enough to be on the heap")));
  EXPECT_THAT(test.counters(), ElementsAre(Pair(Pair("stage", "groups"), 1)));
}

// Counts each line in a counter with the name of the line.
class CountEach : public LineMapper<std::string, Nothing> {
 public:
  void Map(std::string_view line, Out&) { counter(line) += 1; }
};

TEST(OperatorTest, OneCounterMoreThanAnAttemptMayHaveFailsIt) {
  TestRecords lines;
  for (int i = 0; i < 256; ++i) lines.push_back({"", "line " + std::to_string(i)});
  OperatorTest<CountEach> enough;
  enough.Feed(lines).End();
  EXPECT_EQ(enough.counters().size(), 256u);
  const auto failure = [](const TestRecords& fed) -> std::string {
    try {
      OperatorTest<CountEach> test;
      test.Feed(fed).End();
    } catch (const JobError& e) {
      return e.what();
    }
    return "none";
  };
  lines.push_back({"", "one more"});
  EXPECT_THAT(failure(lines), HasSubstr("more than 256 counters: 'one more' is one more"));
  EXPECT_THAT(failure({{"", std::string(257, 'x')}}), HasSubstr("a name of 257 bytes; at most 256"));
}

TEST(OperatorTest, APortThatTheStageLacksIsNamed) {
  OperatorTest<Fan> test("", {1});
  try {
    test.FeedGroups({{Count("a", 1)}});
    FAIL() << "not refused";
  } catch (const JobError& e) {
    EXPECT_THAT(e.what(), HasSubstr("emits to port 1, but its stage has 1"));
  }
}

class Thrower : public LineMapper<std::string, Nothing> {
 public:
  void Map(std::string_view line, Out&) {
    if (line == "range") (void)std::string().at(3);
    if (line == "job") throw JobError("bad line");
    if (line == "int") throw 7;
    if (line == "text") throw "a literal";
  }
};

TEST(OperatorTest, WhatUserCodeThrowsReachesTheHostAsText) {
  const auto message = [](const std::string& line) -> std::string {
    OperatorTest<Thrower> test;
    try {
      test.Feed({{"", line}});
    } catch (const JobError& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(message("fine"), "");
  EXPECT_EQ(message("job"), "bad line");
  EXPECT_THAT(message("range"), HasSubstr("std::out_of_range: basic_string::at"));
  EXPECT_THAT(message("int"), HasSubstr("int thrown"));
  EXPECT_THAT(message("text"), HasSubstr("a literal"));
}

class Opens : public LineMapper<std::string, Nothing> {
 public:
  void Open() { context().config().Text("needed"); }
  void Map(std::string_view, Out&) {}
};

TEST(OperatorTest, AFailureInOpenSaysWhy) {
  EXPECT_NO_THROW(OperatorTest<Opens>(Config().Set("needed", "x").Encode()));
  try {
    OperatorTest<Opens> test;
    FAIL() << "not refused";
  } catch (const JobError& e) {
    EXPECT_THAT(e.what(), HasSubstr("no 'needed'"));
  }
}

class Echo : public LineMapper<std::string, Nothing> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(std::string(line.size() << 20, 'x'), Nothing()); }
};

TEST(OperatorTest, ARecordAboveTheLimitIsRefused) {
  OperatorTest<Echo> test;
  test.Feed({{"", std::string(16, '.')}});
  EXPECT_THROW(test.Feed({{"", std::string(17, '.')}}), JobError);
}

class Pairs : public Joiner<int32_t, std::string, std::string, int32_t, std::string> {
 public:
  void Join(int32_t key, const std::vector<std::string>& left, Values<std::string>& right, Out& out) {
    std::string text;
    for (const auto& l : left) text += l;
    text += "|";
    for (std::string_view r : right) text += r;
    out.Emit(key, text);
  }
};

TEST(JoinerTest, BothSidesOfEachKeyComeTogether) {
  // Tagged batches, as the host makes them of two grouped inputs.
  const auto table = sdk::Adapter<Pairs>::Table("join", 0);
  const uint32_t partitions[] = {1};
  mr_open_args args{};
  args.inputs = 2;
  args.ports = 1;
  args.partitions = partitions;
  sdk::TestTask task(table, args);
  std::vector<sdk::TestBatch> batches(2);
  BatchBuilder builder;
  const auto add = [&](int32_t key, const char* value, uint8_t tag) {
    std::string bytes;
    KeyCodec<int32_t>::Append(key, &bytes);
    builder.AddTagged(bytes, value, tag);
  };
  add(-5, "l1", 0);
  add(-5, "l2", 0);
  builder.Finish(kSorted, &batches[0].bytes);
  add(-5, "r1", 1);
  add(0, "r2", 1);
  add(7, "l3", 0);
  builder.Finish(kSorted | kContinuation, &batches[1].bytes);
  for (auto& b : batches) b.grouped = 1;
  task.Grouped(std::move(batches));
  task.End();
  std::vector<std::pair<int32_t, std::string>> got;
  for (const auto& r : task.host().emitted(0)) {
    got.emplace_back(KeyCodec<int32_t>::Decode(r.key), r.value);
  }
  EXPECT_THAT(got, ElementsAre(Pair(-5, "l1l2|r1"), Pair(0, "|r2"), Pair(7, "l3|")));
}

using Named = std::pair<std::string, int64_t>;
class JoinsPairs : public Joiner<Named, Named, Named, Named, std::vector<Named>> {
 public:
  void Join(const KeyView<Named>& key, const std::vector<Named>& left, Values<Named>& right, Out& out) {
    std::vector<Named> all = left;
    for (const auto& [name, n] : right) all.emplace_back(name, n);
    out.Emit({key.first, key.second}, all);
  }
};

TEST(JoinerTest, KeysAndValuesOfBothSidesMayBePairs) {
  OperatorTest<JoinsPairs> test;
  TestRecords records = {test.Record<Named, Named>({"k", 1}, {"a", 2}), test.Record<Named, Named>({"k", 1}, {"b", 3})};
  test.FeedGroups({records}).End();
  const auto got = test.Emitted<Named, std::vector<Named>>();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].first, Named("k", 1));
  EXPECT_EQ(got[0].second, (std::vector<Named>{{"a", 2}, {"b", 3}}));
}

class Looks : public LineMapper<std::string, int32_t>, public SideInput<std::string, int32_t> {
 public:
  void Side(std::string_view name, int32_t n) { numbers_[std::string(name)] = n; }
  void Map(std::string_view line, Out& out) { out.Emit(line, numbers_.at(std::string(line))); }

 private:
  std::map<std::string, int32_t> numbers_;
};

TEST(SideInputTest, TheLastInputArrivesAsSideRecords) {
  OperatorTest<Looks> test("", {1}, 2);
  test.Feed({test.Record<std::string, int32_t>("x", 4)}, 1).Feed({{"", "x"}}, 0).End();
  EXPECT_THAT((test.Emitted<std::string, int32_t>()), ElementsAre(Pair("x", 4)));
}

class Words : public LineMapper<std::string, int64_t>,
              public SumCombiner<std::string, int64_t>,
              public Partitioner<std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); });
  }
  uint32_t Partition(std::string_view key, uint32_t partitions) {
    return static_cast<uint32_t>(key.size()) % partitions;
  }
};

TEST(CombinerTest, FoldsEachGroupAndKeepsTheOrder) {
  OperatorTest<Words> test;
  const TestRecords combined = test.Combine({Count("a", 1), Count("a", 5), Count("b", 2)});
  EXPECT_THAT(combined, ElementsAre(Count("a", 6), Count("b", 2)));
}

class CountsItsCalls : public LineMapper<std::string, int64_t>, public Combiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    ++context().counter("calls", "map");
    out.Emit(line, 1);
  }
  int64_t Combine(std::string_view, Values<int64_t>& values) {
    ++context().counter("calls", "combine");
    int64_t sum = 0;
    for (const int64_t n : values) sum += n;
    return sum;
  }
};

// A host combines while it takes output, and behind the end, too.
TEST(CombinerTest, WhatIsCountedIsToldOnceHoweverOftenTheHostCombines) {
  OperatorTest<CountsItsCalls> test;
  test.Feed({{"", "a"}, {"", "b"}});
  test.Combine({Count("a", 1), Count("b", 1)});
  test.Feed({{"", "a"}});
  test.End();
  test.Combine({Count("a", 1), Count("a", 1)});
  test.Combine({Count("a", 2), Count("b", 1)});
  EXPECT_EQ(test.counters().at({"calls", "map"}), 3);
  EXPECT_EQ(test.counters().at({"calls", "combine"}), 5);
}

void PlanWords(const std::vector<std::string>& args, JobPlan& plan) {
  Args("words").Parse(args);
  auto& count = plan.Map("count", "words").ReadFiles().Shuffle({.combine = true, .custom_partition = true});
  plan.Reduce("sum", "sum").Group(count).WriteFiles();
}

class SumText : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    int64_t total = 0;
    for (int64_t v : values) total += v;
    out.Emit(key, total);
  }
};

TEST(LocalJobTest, RunsAPlanWithCombinerAndPartitioner) {
  Library library;
  library.Add<Words>("words", MR_DETERMINISTIC | MR_ASSOCIATIVE)
      .Add<SumText>("sum", MR_DETERMINISTIC)
      .AddJob<PlanWords>("words", "counts");
  LocalJob job(library.table(), {.split_bytes = 4, .reduces = 2});
  job.Input("in", "a bb a\nccc bb\na dd");
  const LocalResult result = job.Run("words");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.parts, ElementsAre("bb\t2\ndd\t1\n", "a\t3\nccc\t1\n"));
  EXPECT_EQ(result.tasks.at("count"), 5u);

  EXPECT_THAT(job.Run("words", {"--nonsense"}).error, HasSubstr("unknown option '--nonsense'"));
  EXPECT_THAT(job.Run("word").error, HasSubstr("no job 'word'"));
}

TEST(LibraryTest, TheTableSaysWhatItHolds) {
  Library library;
  library.Add<Words>("words", MR_DETERMINISTIC).Add<Sum>("sum", MR_REUSABLE);
  const mr_library* table = library.table();
  EXPECT_EQ(table->magic, MR_ABI_MAGIC);
  EXPECT_EQ(table->abi, MR_ABI_VERSION);
  ASSERT_EQ(table->operator_count, 2u);
  EXPECT_NE(table->operators[0]->combine, nullptr);
  EXPECT_NE(table->operators[0]->partition, nullptr);
  EXPECT_EQ(table->operators[1]->combine, nullptr);
  EXPECT_EQ(table->operators[1]->flags, uint32_t{MR_REUSABLE});
}

template <PlanFunction kPlan>
int PlanResult() {
  const mr_sink nowhere{nullptr, [](void*, mr_bytes) {}};
  return sdk::RunPlan<kPlan>(0, nullptr, nowhere, nowhere);
}
void PlanNeedsWord(const std::vector<std::string>&, JobPlan&) { Args("job").Refuse("give a word"); }
void PlanHasNoStage(const std::vector<std::string>&, JobPlan&) {}
void PlanThrows(const std::vector<std::string>&, JobPlan&) { throw std::out_of_range("at"); }

TEST(LibraryTest, APlanThatRefusesItsArgumentsIsToldFromOneThatIsWrong) {
  EXPECT_EQ(PlanResult<PlanNeedsWord>(), MR_PLAN_REFUSED);
  EXPECT_EQ(PlanResult<PlanHasNoStage>(), MR_PLAN_FAILED);
  EXPECT_EQ(PlanResult<PlanThrows>(), MR_PLAN_FAILED);
}

// ---- Orders of keys, and the small case ----------------------------------------------------------

class ByLength : public LineMapper<std::string, int64_t>, public Comparator<std::string> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, 1); }
  static int Compare(std::string_view a, std::string_view b) {
    return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : 0;
  }
};
class CountByLength : public Reducer<std::string, int64_t, Text, Text>, public Comparator<std::string> {
 public:
  void Reduce(std::string_view first, Values<int64_t>& counts, Out& out) {
    int64_t n = 0;
    for (int64_t c : counts) n += c;
    out.Emit(first, n);
  }
  static int Compare(std::string_view a, std::string_view b) { return ByLength::Compare(a, b); }
};

class Visits : public LineMapper<std::pair<std::string, int64_t>, std::string>, public ByFirst<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    const size_t blank = line.find(' ');
    out.Emit(std::pair(line.substr(0, blank), static_cast<int64_t>(line.size())), line.substr(blank + 1));
  }
};
class VisitsInOrder : public SortedReducer<std::string, int64_t, std::string, Text, Text> {
 public:
  void Reduce(std::string_view user, SortedValues<std::string, int64_t, std::string>& visits, Out& out) {
    std::string all;
    for (const auto& [length, page] : visits) all += " " + std::to_string(length) + std::string(page);
    out.Emit(user, all);
  }
};

void PlanLengths(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "by_length").ReadFiles().Shuffle();
  plan.Reduce("reduce", "count_by_length").Tasks(1).Group(map).WriteFiles();
}
void PlanVisits(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "visits").ReadFiles().Shuffle({.custom_partition = true});
  plan.Reduce("reduce", "visits_in_order").Group(map).WriteFiles();
}

void PlanForgetful(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "visits").ReadFiles().Shuffle();
  plan.Reduce("reduce", "visits_in_order").Group(map).WriteFiles();
}
void PlanInOneTask(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "visits").ReadFiles().Shuffle();
  plan.Reduce("reduce", "visits_in_order").Tasks(1).Group(map).WriteFiles();
}
void PlanCombines(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "by_length").ReadFiles().Shuffle({.combine = true});
  plan.Reduce("reduce", "count_by_length").Group(map).WriteFiles();
}
void PlanReducesFiles(const std::vector<std::string>&, JobPlan& plan) {
  plan.Map("map", "count_by_length").ReadFiles().WriteFiles();
}

const mr_library* OrdersLibrary() {
  static const mr_library* const table = [] {
    auto* library = new Library;
    library->Add<ByLength>("by_length", MR_DETERMINISTIC)
        .Add<CountByLength>("count_by_length", MR_DETERMINISTIC)
        .Add<Visits>("visits", MR_DETERMINISTIC)
        .Add<VisitsInOrder>("visits_in_order", MR_DETERMINISTIC)
        .AddJob<PlanLengths>("lengths", "")
        .AddJob<PlanVisits>("visits", "")
        .AddJob<PlanForgetful>("forgetful", "")
        .AddJob<PlanInOneTask>("in_one_task", "")
        .AddJob<PlanCombines>("combines", "")
        .AddJob<PlanReducesFiles>("reduces_files", "");
    MapReduce<std::string, int64_t>(
        *library, "words", "counts words",
        [](std::string_view line, auto& out) { ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); }); },
        [](std::string_view word, auto& counts, auto& out) {
          int64_t n = 0;
          for (int64_t c : counts) n += c;
          out.Emit(word, n);
        });
    return library->table();
  }();
  return table;
}

TEST(LambdaTest, TheSameLambdasAreNotTwoJobs) {
  const auto map = [](std::string_view line, auto& out) { out.Emit(line, 1); };
  const auto reduce = [](std::string_view word, auto&, auto& out) { out.Emit(word, 1); };
  Library library;
  MapReduce<std::string, int64_t>(library, "one", "", map, reduce);
  const auto second = [&] { MapReduce<std::string, int64_t>(library, "two", "", map, reduce); };
  EXPECT_THROW(second(), JobError);
}

TEST(ComparatorTest, KeysThatItCallsEqualAreOneGroup) {
  LocalJob job(OrdersLibrary(), {.split_bytes = 5, .reduces = 1, .batch_records = 2});
  const LocalResult result = job.Input("in", "ccc\na\nbb\nb\naaa\nzz\na\n").Run("lengths");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "a\t3\nbb\t2\nccc\t2\n");
}

TEST(SortedReducerTest, ValuesComeInOrderAcrossBatchesAndSplits) {
  for (const uint32_t batch : {1u, 2u, 100u}) {
    LocalJob job(OrdersLibrary(), {.split_bytes = 9, .reduces = 3, .batch_records = batch});
    const LocalResult result = job.Input("in", "b 333\na 22\na 1\nb 4444\nc 1\nb 1\nab 1\n").Run("visits");
    ASSERT_TRUE(result.ok) << result.error;
    std::string all = result.Output();
    for (const char* line : {"a\t 31 422\n", "b\t 31 5333 64444\n", "c\t 31\n", "ab\t 41\n"}) {
      EXPECT_NE(all.find(line), all.npos) << line << " in " << all;
    }
    EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 4);
  }
}

TEST(SortedReducerTest, APlanThatWouldSpreadAGroupOverTasksIsRefused) {
  LocalJob job(OrdersLibrary(), {.reduces = 3});
  job.Input("in", "b 333\na 22\na 1\n");
  EXPECT_THAT(job.Run("forgetful").error,
              HasSubstr("stage 'reduce' groups by the first part of the key, but port 0 of stage 'map'"));
  const LocalResult one = job.Run("in_one_task");
  EXPECT_TRUE(one.ok) << one.error;
}

TEST(LocalJobTest, APlanThatNeedsAFunctionWhichTheOperatorLacksIsRefused) {
  LocalJob job(OrdersLibrary());
  job.Input("in", "a\n");
  EXPECT_THAT(job.Run("combines").error, HasSubstr("its operator 'by_length' has no combiner"));
  EXPECT_THAT(job.Run("reduces_files").error, HasSubstr("takes groups of equal keys, but its input 0 is files"));
}

TEST(LambdaTest, AMapAndAReduceMakeAJob) {
  LocalJob job(OrdersLibrary(), {.split_bytes = 4, .reduces = 1});
  EXPECT_EQ(job.Input("in", "b a\na\n").Run("words").Output(), "a\t2\nb\t1\n");
  EXPECT_THAT(LocalJob(OrdersLibrary()).Input("in", "a\n").Run("words", {"--x"}).error,
              HasSubstr("words: unknown option '--x'"));
}

}  // namespace
}  // namespace mr
