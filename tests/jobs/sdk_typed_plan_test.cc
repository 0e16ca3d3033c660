// Typed plans: operators by their handles, of classes and of lambdas. badlib/typed_plan.cc has the plans that must not
// compile.
#include "paceline/typed_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "paceline/paceline.h"
#include "paceline/testing.h"

// The library of examples/word_count.cc.
extern "C" const mr_library* mr_library_table();

namespace mr {
namespace {

using testing::HasSubstr;

std::string FileText(const std::string& name) {
  std::ifstream file(std::string(MR_SOURCE_DIR) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

sdk::JsonValue PortOf(const JobPlan& plan, size_t stage, size_t port = 0) {
  return sdk::JsonReader::Parse(plan.Json())["stages"].items.at(stage)["ports"].items.at(port)["shuffle"];
}

TEST(WordCountTest, IsAWholeLibraryOfFifteenLines) {
  LocalJob job(mr_library_table());
  job.Input("in", "a b a\n\nc a\n");
  EXPECT_EQ(job.Run("words").Output(), "a\t3\nb\t1\nc\t1\n");
  EXPECT_TRUE(ExpectDeterministic(job, "words").ok);
  EXPECT_THAT(job.Run("words", {"--top"}).error, HasSubstr("words: unknown option '--top'; it has no options"));

  const std::string text = FileText("tests/jobs/examples/word_count.cc");
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 15);
  const std::string page = FileText("docs/sdk.md");
  EXPECT_NE(page.find("```cpp\n" + text + "```\n"), page.npos) << "docs/sdk.md shows this file";
}

// Emits each word of a line, and its length on port 1.
class Split : public LineMapper<std::string, int64_t>, public SumCombiner<std::string, int64_t> {
 public:
  using MorePorts = Ports<Records<int32_t, std::string>>;
  void Map(std::string_view line, Out& out) {
    ForEachWord(line, [&](std::string_view word) {
      out.Emit(word, 1);
      if (context().ports() > 1) out.Port<int32_t, std::string>(1).Emit(static_cast<int32_t>(word.size()), word);
    });
  }
};

class Total : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) { out.Emit(key, Sum(values)); }
};

// The values of each length, in one line.
class List : public Reducer<int32_t, std::string, Text, Text> {
 public:
  void Reduce(int32_t key, Values<std::string>& values, Out& out) {
    std::vector<std::string> words;
    for (std::string_view word : values) words.emplace_back(word);
    std::sort(words.begin(), words.end());
    std::string line;
    for (const std::string& word : words) line += " " + word;
    out.Line(std::to_string(key) + line);
  }
};

TEST(TypedPlanTest, PortsFollowFromTheirReaders) {
  Library library;
  const auto split = library.Operator<Split>("split");
  const auto total = library.Operator<Total>("total");
  const auto list = library.Operator<List>("list");
  JobPlan plan;
  auto words = plan.Map("words", split).ReadFiles();
  plan.Reduce("lengths", list, words.Output<1>()).WriteFiles();
  EXPECT_FALSE(PortOf(plan, 0, 0)["sorted"].boolean) << "nothing reads it";
  EXPECT_TRUE(PortOf(plan, 0, 1)["sorted"].boolean);
  EXPECT_FALSE(PortOf(plan, 0, 1)["combine"].boolean) << "a combiner is for port 0";
  plan.Reduce("total", total, words).WriteFiles();
  EXPECT_TRUE(PortOf(plan, 0, 0)["sorted"].boolean);
  EXPECT_TRUE(PortOf(plan, 0, 0)["combine"].boolean);
  EXPECT_EQ(PortOf(plan, 0, 0)["partition"].text, "hash");
  EXPECT_EQ(words.name(), "words");
}

TEST(TypedPlanTest, AShuffleMayBeSetByHand) {
  Library library;
  const auto split = library.Operator<Split>("split");
  const auto total = library.Operator<Total>("total");
  JobPlan plan;
  auto words = plan.Map("words", split).ReadFiles().Shuffle({.combine = false});
  plan.Reduce("total", total, words).WriteFiles();
  EXPECT_FALSE(PortOf(plan, 0)["combine"].boolean);
  JobPlan unsorted;
  auto other = unsorted.Map("words", split).ReadFiles().Shuffle({.sorted = false});
  EXPECT_THROW(unsorted.Reduce("total", total, other), PlanError);
}

TEST(TypedPlanTest, AShuffleAfterItsReaderIsRefused) {
  Library library;
  const auto split = library.Operator<Split>("split");
  const auto total = library.Operator<Total>("total");
  JobPlan plan;
  auto words = plan.Map("words", split).ReadFiles();
  plan.Reduce("total", total, words).WriteFiles();
  EXPECT_THROW(words.Shuffle({.combine = false}), PlanError);
}

TEST(TypedPlanTest, AStageWithSeveralPortsRuns) {
  Library library;
  const auto split = library.Operator<Split>("split");
  const auto total = library.Operator<Total>("total");
  const auto list = library.Operator<List>("list");
  library.AddJob("both", "", [=](JobPlan& plan) {
    auto words = plan.Map("words", split).ReadFiles();
    plan.Reduce("total", total, words).Tasks(1).WriteFiles();
    plan.Reduce("lengths", list, words.Output<1>()).Tasks(1).WriteFiles();
  });
  const LocalResult result = LocalJob(library.table(), {.split_bytes = 4}).Input("in", "aa b\ncc b\n").Run("both");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_THAT(result.Output(), HasSubstr("aa\t1\nb\t2\ncc\t1\n"));
  EXPECT_THAT(result.Output(), HasSubstr("1 b b\n2 aa cc\n"));
}

// Binary records on port 1, lines on port 2.
class Sorts : public LineMapper<Text, Text> {
 public:
  using MorePorts = Ports<Records<int32_t, std::string>, Records<Text, Text>>;
  void Map(std::string_view line, Out& out) {
    out.Port<int32_t, std::string>(1).Emit(static_cast<int32_t>(line.size()), line);
    out.Port(2).Line(line);
  }
};

TEST(TypedPlanTest, OnlyPortsOfTextBecomeFilesOfLines) {
  Library library;
  const auto sorts = library.Operator<Sorts>("sorts");
  JobPlan plan;
  EXPECT_NO_THROW(plan.Map("a", sorts).ReadFiles().WriteFiles().Named("lengths", "record").Named("lines"));
  for (const char* format : {"text", "text.gz"}) {
    JobPlan binary;
    const auto stage = binary.Map("b", sorts).ReadFiles().WriteFiles();
    try {
      stage.Named("lengths", format);
      ADD_FAILURE() << format;
    } catch (const PlanError& e) {
      EXPECT_THAT(e.what(), HasSubstr("the binary bytes of port 1 of its operator as lines of the output 'lengths'"));
    }
  }
  JobPlan alone;
  EXPECT_THROW(alone.Map("c", sorts).ReadFiles().WriteFiles().Named("lengths"), PlanError);
}

TEST(TypedPlanTest, StagesWithAndWithoutTypesStandInOnePlan) {
  Library library;
  const auto split = library.Operator<Split>("split");
  library.Add<Total>("total", MR_DETERMINISTIC);
  library.AddJob("mixed", "", [=](const std::vector<std::string>&, JobPlan& plan) {
    auto words = plan.Map("words", split).ReadFiles().Shuffle({.combine = true});
    plan.Reduce("total", "total").Group(words.untyped()).WriteFiles();
  });
  EXPECT_EQ(LocalJob(library.table()).Input("in", "a\na\n").Run("mixed").Output(), "a\t2\n");
}

class Spread : public LineMapper<std::string, int64_t>, public Partitioner<std::string> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, 1); }
  uint32_t Partition(std::string_view, uint32_t) const { return 0; }
};

class Looks : public LineMapper<Text, Text>, public SideInput<std::string, std::string> {
 public:
  void Side(std::string_view key, std::string_view value) { names_[std::string(key)] = value; }
  void Map(std::string_view line, Out& out) { out.Line(names_[std::string(line)]); }

 private:
  std::map<std::string, std::string> names_;
};

TEST(TypedPlanTest, AnOperatorWithASideInputNeedsOne) {
  Library library;
  const auto looks = library.Operator<Looks>("looks");
  const auto pairs = library.MapLines<std::string, std::string>(
      "pairs", [](std::string_view line, auto& out) { out.Emit(line.substr(0, 1), line.substr(1)); });
  JobPlan plan;
  plan.Map("looks", looks).ReadFiles().WriteFiles();
  try {
    plan.Json();
    FAIL() << "taken";
  } catch (const PlanError& e) {
    EXPECT_STREQ(e.what(), "stage 'looks' has an operator with a side input: name it by SideInput()");
  }
  library.AddJob("side", "", [=](JobPlan& made) {
    auto table = made.Map("table", pairs).ReadFiles(0);
    made.Map("looks", looks).ReadFiles(1).SideInput(table).WriteFiles();
  });
  LocalJob job(library.table(), {.split_bytes = 2});
  EXPECT_EQ(SortedOutput(job.Input("names", "xone\nytwo\n", 0).Input("log", "y\nx\n", 1).Run("side")), "one\ntwo\n");
}

TEST(TypedPlanTest, TheSideInputIsTheLastOne) {
  Library library;
  const auto looks = library.Operator<Looks>("looks");
  const auto pairs = library.MapLines<std::string, std::string>("pairs", [](std::string_view, auto&) {});
  JobPlan plan;
  auto table = plan.Map("table", pairs).ReadFiles(0);
  plan.Map("looks", looks).SideInput(table).ReadFiles(1).WriteFiles();
  try {
    plan.Json();
    FAIL() << "taken";
  } catch (const PlanError& e) {
    EXPECT_THAT(e.what(), HasSubstr("stage 'looks' reads a further input after SideInput()"));
  }
}

// Two inputs, only one with a partitioner of its own, named by strings.
TEST(TypedPlanTest, InputsWithDifferentPartitionersAreRefusedUnlessOneTaskReadsAll) {
  const auto run = [](uint32_t tasks) {
    Library library;
    library.Add<Spread>("spread", MR_DETERMINISTIC).Add<Total>("total", MR_DETERMINISTIC);
    library.AddJob("sum", "", [=](JobPlan& plan) {
      auto& own = plan.Map("own", "spread").ReadFiles().Shuffle({.custom_partition = true});
      auto& hash = plan.Map("hash", "spread").ReadFiles().Shuffle();
      plan.Reduce("total", "total").Group(own).Group(hash).Tasks(tasks).WriteFiles();
    });
    return LocalJob(library.table()).Input("in", "a\n").Run("sum");
  };
  EXPECT_THAT(run(3).error, HasSubstr("stage 'total' would get equal keys in different tasks"));
  EXPECT_EQ(run(1).Output(), "a\t2\n");
}

class ByTime : public LineMapper<std::pair<std::string, int64_t>, std::string>, public ByFirst<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    out.Emit(std::pair(std::string(line.substr(0, 1)), int64_t{line[1]}), line.substr(1));
  }
};
class InOrder : public SortedReducer<std::string, int64_t, std::string, Text, Text> {
 public:
  void Reduce(std::string_view key, SortedValues<std::string, int64_t, std::string>& values, Out& out) {
    std::string all;
    for (const auto& [time, value] : values) all += value;
    out.Emit(key, all);
  }
};

TEST(TypedPlanTest, ASecondarySortGetsItsPartitioner) {
  Library library;
  const auto by_time = library.Operator<ByTime>("by_time");
  const auto in_order = library.Operator<InOrder>("in_order");
  library.AddJob("sorted", "", [=](JobPlan& plan) {
    auto keyed = plan.Map("keyed", by_time).ReadFiles();
    plan.Reduce("ordered", in_order, keyed).WriteFiles();
  });
  LocalJob job(library.table(), {.split_bytes = 3, .reduces = 3});
  EXPECT_EQ(SortedOutput(job.Input("in", "b3\na2\nb1\na1\nb2\n").Run("sorted")), "a\t12\nb\t123\n");
}

TEST(LambdaOperatorTest, SeveralStagesACombinerAJoinAndTheirContextWorkTogether) {
  Library library;
  const auto words = library.MapLines<std::string, int64_t>(
      "words", [](std::string_view line, auto& out) { ForEachWord(line, [&](auto word) { out.Emit(word, 1); }); },
      CombineSum());
  const auto count = library.Reduce<std::string, int64_t, std::string, int64_t>(
      "count", [](std::string_view word, auto& counts, auto& out) { out.Emit(word, Sum(counts)); });
  const auto frequent = library.MapRecords<std::string, int64_t, std::string, int64_t>(
      "frequent", [](std::string_view word, int64_t n, auto& out, Context& context) {
        if (n < context.config().Int("least")) return void(++context.counter("rare"));
        out.Emit(word, n);
      });
  const auto meanings = library.MapLines<std::string, std::string>("meanings", [](std::string_view line, auto& out) {
    out.Emit(line.substr(0, line.find(' ')), line.substr(line.find(' ') + 1));
  });
  const auto join = library.Join<std::string, std::string, int64_t>(
      "join", [](std::string_view word, const std::vector<std::string>& texts, auto& counts, auto& out) {
        for (int64_t n : counts) out.Emit(word, std::tuple(n, texts.empty() ? "?" : texts[0]));
      });
  library.AddJob("chain", "", [=](const std::vector<std::string>& args, JobPlan& plan) {
    int64_t least = 1;
    Args("chain").Add("--least", &least).Parse(args);
    auto counted = plan.Reduce("count", count, plan.Map("words", words).ReadFiles(1));
    auto kept = plan.Map("frequent", frequent).Configure(Config().Set("least", least)).Read(Edge::kOneToOne, counted);
    plan.Join("join", join, plan.Map("meanings", meanings).ReadFiles(0), kept).WriteFiles();
  });
  LocalJob job(library.table(), {.split_bytes = 6, .reduces = 2});
  job.Input("meanings", "b bee\nc sea\n", 0).Input("text", "a b a\nb b c\n", 1);
  const LocalResult result = job.Run("chain", {"--least", "2"});
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.counters.at({"frequent", "rare"}), 1);
  EXPECT_EQ(SortedOutput(result), "a\t2\t?\nb\t3\tbee\n");
  const Determinism same = ExpectDeterministic(job, "chain", {"--least", "2"});
  EXPECT_TRUE(same.ok) << same.text;
}

TEST(LambdaOperatorTest, ASideTableIsLookedUpByRecordsAndRefusesTwoValuesOfAKey) {
  Library library;
  const auto pairs = library.MapLines<int64_t, std::string>(
      "pairs", [](std::string_view line, auto& out) { out.Emit(line[0] - '0', line.substr(1)); });
  const auto named = library.MapRecordsWith<int64_t, std::string, int64_t, std::string>(
      "named", [](int64_t key, std::string_view value, const SideTable<int64_t, std::string>& names, auto& out) {
        const auto at = names.find(key);
        out.Emit(at == names.end() ? "?" : at->second, value);
      });
  library.AddJob("named", "", [=](JobPlan& plan) {
    auto names = plan.Map("names", pairs).ReadFiles(0);
    auto records = plan.Map("records", pairs).ReadFiles(1);
    plan.Map("named", named).Read(Edge::kManyToOne, records).SideInput(names).WriteFiles();
  });
  const auto run = [&](const std::string& names) {
    return LocalJob(library.table(), {.split_bytes = 3})
        .Input("n", names, 0)
        .Input("r", "1x\n2y\n3z\n", 1)
        .Run("named");
  };
  EXPECT_EQ(SortedOutput(run("1one\n3three\n1one\n")), "?\ty\none\tx\nthree\tz\n");
  EXPECT_THAT(run("1one\n1two\n").error, HasSubstr("the side input has two values for key '1'"));
}

TEST(LambdaOperatorTest, FlagsAndFunctionsFollowFromTheArguments) {
  Library library;
  const auto map = [](std::string_view line, auto& out) { out.Emit(line, 1); };
  library.MapLines<std::string, int64_t>("plain", map);
  library.MapLines<std::string, int64_t>("combined", map, CombineBy([](auto, auto& values) { return Sum(values); }));
  library.MapLines<std::string, int64_t>("effects", map, FlagsOf<MR_SIDE_EFFECTS>(),
                                         PartitionBy([](auto, uint32_t) { return 0u; }));
  const mr_library* table = library.table();
  EXPECT_STREQ(table->operators[0]->name, "plain");
  EXPECT_EQ(table->operators[0]->flags, uint32_t{MR_DETERMINISTIC | MR_REUSABLE});
  EXPECT_EQ(table->operators[1]->flags, uint32_t{MR_DETERMINISTIC | MR_REUSABLE | MR_ASSOCIATIVE});
  EXPECT_EQ(table->operators[2]->flags, uint32_t{MR_SIDE_EFFECTS});
  EXPECT_EQ(table->operators[0]->combine, nullptr);
  EXPECT_NE(table->operators[1]->combine, nullptr);
  EXPECT_NE(table->operators[2]->partition, nullptr);
}

TEST(LambdaOperatorTest, AnOperatorMayDeclareFurtherPorts) {
  Library library;
  const auto split = library.MapLines<std::string, int64_t>(
      "split",
      [](std::string_view line, auto& out) {
        out.Emit(line, 1);
        out.template Port<int32_t, std::string>(1).Emit(static_cast<int32_t>(line.size()), line);
      },
      AlsoEmits<Records<int32_t, std::string>>());
  const auto total = library.Operator<Total>("total");
  const auto list = library.Operator<List>("list");
  library.AddJob("both", "", [=](JobPlan& plan) {
    auto lines = plan.Map("lines", split).ReadFiles();
    plan.Reduce("total", total, lines).Tasks(1).WriteFiles();
    plan.Reduce("lengths", list, lines.Output<1>()).Tasks(1).WriteFiles();
  });
  const LocalResult result = LocalJob(library.table()).Input("in", "b\naa\nb\n").Run("both");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(SortedOutput(result), "1 b b\n2 aa\naa\t1\nb\t2\n");
}

TEST(LambdaOperatorTest, ALibraryThatIsGoneFreesItsPlanFunctions) {
  for (const char* const text : {"a\n", "b\n"}) {
    Library library;
    const auto copy = library.MapLines("copy", [](std::string_view line, auto& out) { out.Line(line); });
    library.AddJob("copy", "", [=](JobPlan& plan) { plan.Map("copy", copy).ReadFiles().WriteFiles(); });
    EXPECT_EQ(LocalJob(library.table()).Input("in", text).Run("copy").Output(), text);
  }
}

TEST(LambdaOperatorTest, OnePlanFunctionIsNotTwoJobs) {
  Library library;
  const auto plan = [](JobPlan&) {};
  library.AddJob("one", "", plan);
  EXPECT_THROW(library.AddJob("two", "", plan), JobError);
}

}  // namespace
}  // namespace mr
