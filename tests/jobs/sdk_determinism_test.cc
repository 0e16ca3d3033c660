// ExpectDeterministic catches an operator that is wrong in each way, and says which; a right one passes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "paceline/paceline.h"
#include "paceline/testing.h"
#include "tests/jobs/builtin_run.h"

namespace mr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Words and how often: the base that each wrong one departs from.
class CountMap : public LineMapper<std::string, int64_t>, public SumCombiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    ForEachWord(line, [&](std::string_view word) { out.Emit(word, 1); });
  }
};
class CountSum : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view word, Values<int64_t>& counts, Out& out) {
    int64_t sum = 0;
    for (int64_t n : counts) sum += n;
    out.Emit(word, sum);
  }
};

// Leaves something behind in its process.
class Remembers : public CountMap {
 public:
  void Map(std::string_view line, Out& out) {
    static int64_t lines = 0;
    out.Emit(line.substr(0, 1), ++lines);
  }
};
// Says something about its task's first line, which is wherever a split begins.
class FirstOfSplit : public CountMap {
 public:
  void Map(std::string_view line, Out& out) {
    out.Emit(first_ ? "first" : "other", 1);
    first_ = false;
    CountMap::Map(line, out);
  }

 private:
  bool first_ = true;
};
// Takes a block for a unit.
class CountsBlocks : public BlockMapper<std::string, int64_t>, public SumCombiner<std::string, int64_t> {
 public:
  void Map(const Block&, Out& out) { out.Emit("blocks", 1); }
};
// The mean of means is not the mean.
class MeanMap : public LineMapper<std::string, int64_t>, public Combiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit("lengths", static_cast<int64_t>(line.size() * 1000)); }
  int64_t Combine(std::string_view, Values<int64_t>& values) {
    int64_t sum = 0, n = 0;
    for (int64_t v : values) {
      sum += v;
      ++n;
    }
    return n == 0 ? 0 : sum / n;
  }
};
// Counts values where it should add them: right only if no combiner ran.
class CountsValues : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view word, Values<int64_t>& counts, Out& out) {
    int64_t n = 0;
    for ([[maybe_unused]] int64_t v : counts) ++n;
    out.Emit(word, n);
  }
};
// Takes the last value, of a mapper that says its order carries no meaning.
class Numbered : public LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view, Out& out) { out.Emit("last", ++n_); }

 private:
  int64_t n_ = 0;
};
class LastValue : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view word, Values<int64_t>& counts, Out& out) {
    int64_t last = 0;
    for (int64_t n : counts) last = n;
    out.Emit(word, last);
  }
};
// Deals out keys by what came before them.
class Alternates : public CountMap, public Partitioner<std::string> {
 public:
  uint32_t Partition(std::string_view, uint32_t partitions) { return next_++ % partitions; }

 private:
  uint32_t next_ = 0;
};
// Counts partitions from 1.
class OneTooFar : public CountMap, public Partitioner<std::string> {
 public:
  uint32_t Partition(std::string_view, uint32_t partitions) { return partitions; }
};
class Attempt : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view line, Out& out) { out.Line(std::string(line) + " by " + context().attempt_id()); }
};

constexpr uint32_t kAll = MR_DETERMINISTIC | MR_ASSOCIATIVE;

void PlanTwo(const std::vector<std::string>& args, JobPlan& plan) {
  const bool custom = args.size() > 2 && args[2] == "custom";
  auto& map = plan.Map("map", args.at(0)).ReadFiles();
  if (args.at(1).empty()) {
    map.WriteFiles();
    return;
  }
  map.Shuffle({.combine = args.size() > 2 && args[2] == "combine", .custom_partition = custom});
  plan.Reduce("reduce", args.at(1)).Group(map).WriteFiles();
}

// Sums need all values of a key.
void PlanParts(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "count").ReadFiles().Shuffle();
  plan.Reduce("reduce", "sum").ReadInParts(map, 0, true).WriteFiles();
}

const mr_library* WrongLibrary() {
  static Library library;
  static const mr_library* const table = [] {
    library.Add<CountMap>("count", kAll | MR_UNORDERED)
        .Add<CountSum>("sum", MR_DETERMINISTIC)
        .Add<Remembers>("remembers", kAll);
    library.Add<FirstOfSplit>("first_of_split", kAll)
        .Add<CountsBlocks>("counts_blocks", kAll)
        .Add<MeanMap>("mean", kAll);
    library.Add<CountsValues>("counts_values", MR_DETERMINISTIC)
        .Add<Numbered>("numbered", MR_DETERMINISTIC | MR_UNORDERED);
    library.Add<LastValue>("last_value", MR_DETERMINISTIC).Add<Alternates>("alternates", kAll);
    library.Add<OneTooFar>("one_too_far", kAll);
    library.Add<Attempt>("attempt", MR_DETERMINISTIC).Add<Attempt>("attempt_undeclared", 0);
    library.AddJob<PlanTwo>("two", "MAP REDUCE [combine|custom]").AddJob<PlanParts>("parts", "");
    return library.table();
  }();
  return table;
}

std::string Poem() {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "w" + std::to_string(i * 7 % 5) + " x" + std::to_string(i % 3) + "\n";
  return text;
}

Determinism Check(const std::vector<std::string>& args) {
  LocalJob job(WrongLibrary());
  job.Input("in", Poem());
  return ExpectDeterministic(job, "two", args);
}

// An operator is at fault, by the name of its stage's operator, and the text says why.
void ExpectCaught(const std::vector<std::string>& args, const std::string& op, const std::string& why) {
  const Determinism found = Check(args);
  EXPECT_FALSE(found.ok) << args[0];
  EXPECT_EQ(found.op, op) << found.text;
  EXPECT_THAT(found.text, AllOf(HasSubstr("operator '" + op + "'"), HasSubstr(why)));
  if (found.seed != 0) {
    EXPECT_THAT(found.text, HasSubstr("MR_TEST_SEED=" + std::to_string(found.seed)));
  }
}

TEST(LocalJobTest, APartitionThatIsNotThereIsNamedWithItsKeyAndPlace) {
  LocalJob job(WrongLibrary(), {.reduces = 3});
  const LocalResult result = job.Input("in", "w0\n").Run("two", {"one_too_far", "sum", "custom"});
  EXPECT_FALSE(result.ok);
  EXPECT_THAT(result.error,
              HasSubstr("Partition() of operator 'one_too_far' gave the key \"w0\" partition 3, and port 0 of "
                        "stage 'map' has 3: it is to be 0 to 2"));
}

TEST(DeterminismTest, ARightJobPasses) {
  const Determinism found = Check({"count", "sum", "combine"});
  EXPECT_TRUE(found.ok) << found.text;
}

TEST(DeterminismTest, BuiltInJobsPass) {
  LocalJob words(builtin::Builtins());
  words.Input("in", Poem());
  for (const std::vector<std::string>& job :
       {std::vector<std::string>{"wordcount"}, {"grep", "-n", "-e", "w[13]"}, {"sort", "-r"}, {"distinct", "-c"}}) {
    const Determinism found = ExpectDeterministic(words, job[0], {job.begin() + 1, job.end()});
    EXPECT_TRUE(found.ok) << found.text;
  }
}

TEST(DeterminismTest, CatchesEachKindOfWrongOperator) {
  ExpectCaught({"remembers", "sum"}, "remembers", "two attempts of task 0 of stage 'map' emitted different records");
  ExpectCaught({"attempt", ""}, "attempt", "\"w0 x0 by attempt\"");
  ExpectCaught({"first_of_split", "sum"}, "first_of_split", "where files are cut into splits");
  ExpectCaught({"counts_blocks", "sum", "combine"}, "counts_blocks", "where its blocks or batches end");
  ExpectCaught({"mean", "sum", "combine"}, "mean", "how often its combiner ran");
  ExpectCaught({"count", "counts_values", "combine"}, "count",
               "(its own fault, or that of counts_values, which reads it)");
  ExpectCaught({"numbered", "last_value"}, "numbered", "carries no meaning according to its flag MR_UNORDERED");
  ExpectCaught({"alternates", "sum", "custom"}, "alternates", "Partition() of operator 'alternates' gave the key");
}

TEST(DeterminismTest, CatchesOneThatReadsInPartsWhatItNeedsWhole) {
  LocalJob job(WrongLibrary(), {.split_bytes = 40});
  const Determinism found = ExpectDeterministic(job.Input("in", Poem()), "parts");
  EXPECT_FALSE(found.ok);
  EXPECT_EQ(found.op, "sum") << found.text;
  EXPECT_THAT(found.text, HasSubstr("how tasks shared a partition that it reads in parts"));
}

TEST(DeterminismTest, TheSameSeedMakesTheSameChoices) {
  const auto run = [](uint64_t seed) {
    LocalJob job(WrongLibrary(), {.seed = seed});
    return job.Input("in", Poem()).Run("two", {"first_of_split", "sum"});
  };
  EXPECT_EQ(run(5).parts, run(5).parts);
  EXPECT_NE(SortedOutput(run(5)), SortedOutput(run(6)));
  LocalJob job(WrongLibrary(), {.seed = 9, .twice = true});
  EXPECT_THAT(job.Input("in", Poem()).Run("two", {"attempt", ""}).error, HasSubstr("seed 9: "));
}

TEST(DeterminismTest, TasksAreRunTwiceWhereThatIsAskedFor) {
  LocalJob once(WrongLibrary()), twice(WrongLibrary(), {.twice = true});
  EXPECT_TRUE(once.Input("in", Poem()).Run("two", {"attempt", ""}).ok);
  const LocalResult result = twice.Input("in", Poem()).Run("two", {"attempt", ""});
  EXPECT_THAT(result.error, HasSubstr("has the flag MR_DETERMINISTIC"));
  EXPECT_EQ(result.failed_operator, "attempt");
  // One that promises nothing may differ.
  EXPECT_TRUE(twice.Run("two", {"attempt_undeclared", ""}).ok);
}

}  // namespace
}  // namespace mr
