// The texts with which tests of operators end: the place of a failure, the record of a crash, and binary bytes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>

#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

[[noreturn]] void CrashHere() {
  raise(SIGSEGV);
  std::abort();
}

// Each crashes at the word 'crash', and throws at the word 'throw'.
void Act(std::string_view word) {
  if (word == "crash") CrashHere();
  if (word == "throw") throw JobError("it threw");
}

class OnLine : public LineMapper<std::string, int64_t>, public SumCombiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    ForEachWord(line, Act);
    out.Emit(line, 1);
  }
};
class OnBlockLine : public BlockMapper<std::string, int64_t> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachLine(block.text, [&](std::string_view line) {
      ForEachWord(line, Act);
      out.Emit(line, 1);
    });
  }
};
class OnPair : public Mapper<std::string, std::string, Text, Text> {
 public:
  void Map(std::string_view, std::string_view value, Out& out) {
    Act(value);
    out.Line(value);
  }
};
class OnKey : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    Act(key);
    for (const int64_t n : values) out.Emit(key, n);
  }
};
class CrashingCombine : public LineMapper<std::string, int64_t>, public Combiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, 1); }
  int64_t Combine(std::string_view key, Values<int64_t>&) {
    Act(key);
    return 1;
  }
};
// Reads its batches itself, and does not say at which record it is.
class OnBatch : public RawOperator<Text, Text> {
 public:
  void Batch(const mr_batch&, const BatchView& view, Out&) { Act(view.value(view.size() - 1)); }
};
class OnEnd : public LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view, Out&) {}
  static void End(Out&) { CrashHere(); }
};
class Overflows : public LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, Depth(static_cast<int64_t>(line.size()))); }

 private:
  // NOLINTNEXTLINE(misc-no-recursion): it overflows the stack
  static int64_t Depth(int64_t n) {
    volatile char frame[1024];
    frame[n & 1023] = 1;
    return n < 0 ? 0 : Depth(n + 1) + frame[n & 1023];
  }
};
// Emits the number of its line in binary form, which depends on the split.
class Binary : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view line, Out& out) { out.Line("\x01\xff" + std::string(line) + static_cast<char>(++n_)); }

 private:
  int n_ = 0;
};
class BinaryAttempt : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view line, Out& out) {
    out.Line(std::string(line) + '\x7f' + static_cast<char>(context().attempt()));
  }
};
// Gives a partition that is not there.
class BinaryKey : public LineMapper<int64_t, int64_t>, public Partitioner<int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(static_cast<int64_t>(line.size()), 1); }
  uint32_t Partition(int64_t, uint32_t partitions) { return partitions; }
};

void PlanMap(const std::vector<std::string>& args, JobPlan& plan) {
  plan.Map("read", args.at(0)).ReadFiles(-1, {.format = args.at(1)}).WriteFiles();
}
void PlanReduce(const std::vector<std::string>& args, JobPlan& plan) {
  auto& map = plan.Map("read", args.at(0)).ReadFiles().Shuffle({.combine = args.at(1) == "combine"});
  plan.Reduce("sum", "key").Group(map).WriteFiles();
}
void PlanPartition(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("read", "binary_key").ReadFiles().Shuffle({.custom_partition = true});
  plan.Reduce("sum", "count").Group(map).WriteFiles();
}
class TakesNumbers : public Reducer<int64_t, int64_t, Text, Text> {
 public:
  void Reduce(int64_t, Values<int64_t>&, Out&) {}
};

const mr_library* CrashingOperators() {
  static Library library;
  static const mr_library* const table = [] {
    library.Add<OnLine>("line", MR_DETERMINISTIC).Add<OnBlockLine>("block", 0).Add<OnPair>("pair", 0);
    library.Add<OnKey>("key", 0).Add<CrashingCombine>("combine", 0).Add<OnBatch>("batch", 0).Add<OnEnd>("end", 0);
    library.Add<Overflows>("overflows", 0).Add<Binary>("binary", MR_DETERMINISTIC);
    library.Add<BinaryAttempt>("binary_attempt", MR_DETERMINISTIC).Add<BinaryKey>("binary_key", 0);
    library.Add<TakesNumbers>("count", 0);
    library.AddJob<PlanMap>("map", "OPERATOR FORMAT").AddJob<PlanReduce>("reduce", "OPERATOR combine|no");
    library.AddJob<PlanPartition>("partition", "");
    return library.table();
  }();
  return table;
}

LocalResult RunJob(const std::string& job, const std::vector<std::string>& args, const std::string& text) {
  return LocalJob(CrashingOperators()).Input("in", text).Run(job, args);
}

TEST(CrashOfATestTest, NamesStageOperatorAndRecord) {
  EXPECT_DEATH(RunJob("map", {"line", "text"}, "a b\nc\na crash\n"),
               "\nSIGSEGV while operator 'line' of stage 'read' was called with the record at in, byte 6: 'a crash'\n");
  EXPECT_DEATH(RunJob("map", {"block", "text"}, "a b\nc\na crash\nd\n"),
               "\nSIGSEGV while operator 'block' of stage 'read' was called with the line at in, byte 6: 'a crash'\n");
  EXPECT_DEATH(RunJob("map", {"pair", "kv"}, "a\tb\nx\tcrash\n"), "'pair' .* with the record at in, byte 4: 'crash'\n");
  EXPECT_DEATH(RunJob("map", {"line", "fixed:5"}, "a b ccrash"), "'line' .* with the record at in, byte 5: 'crash'\n");
  EXPECT_DEATH(RunJob("map", {"batch", "text"}, "a\ncrash\n"), "'batch' .* with the batch that begins at in, byte 0\n");
}

TEST(CrashOfATestTest, NamesTheKeyOfAGroupAndOfACombiner) {
  EXPECT_DEATH(RunJob("reduce", {"line", "no"}, "a\nb\ncrash "), "");
  EXPECT_DEATH(RunJob("reduce", {"combine", "no"}, "a\nb\ncrash\n"),
               "operator 'key' of stage 'sum' was called with key 'crash.*'\n");
  EXPECT_DEATH(RunJob("reduce", {"combine", "combine"}, "a\nb\ncrash\n"),
               "operator 'combine' of stage 'read' was called with key 'crash.*'\n");
}

TEST(CrashOfATestTest, NamesTheOperatorAloneWhereItWorksOnNoRecord) {
  EXPECT_DEATH(RunJob("map", {"end", "text"}, "a\n"), "\nSIGSEGV while operator 'end' of stage 'read' was called\n");
}

TEST(CrashOfATestTest, AnOverflowOfTheStackNamesTheRecord) {
  EXPECT_DEATH(RunJob("map", {"overflows", "text"}, "a\n"), "'overflows' .* with the record at in, byte 0: 'a'\n");
}

void OwnHandler(int) {
  static const char kText[] = "the test's own handler";
  (void)!write(2, kText, sizeof kText - 1);
  _exit(3);
}

TEST(CrashOfATestTest, LeavesTheSignalToTheHandlerThatWasThereBefore) {
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, OwnHandler);
        RunJob("map", {"line", "text"}, "crash\n");
      },
      ::testing::ExitedWithCode(3), "at in, byte 0: 'crash'\nthe test's own handler");
  EXPECT_EXIT(
      {
        std::signal(SIGSEGV, OwnHandler);
        RunJob("map", {"line", "text"}, "a\n");
        raise(SIGSEGV);
      },
      ::testing::ExitedWithCode(3), "^the test's own handler");
}

TEST(FailureOfATestTest, NamesTheRecordThatTheOperatorHadBegun) {
  EXPECT_EQ(RunJob("map", {"line", "text"}, "a\nb\nthrow\n").Failure(),
            "operator 'line' of stage 'read' failed at in, byte 4: it threw");
  EXPECT_EQ(RunJob("map", {"pair", "kv"}, "a\tb\nx\tthrow\n").Failure(),
            "operator 'pair' of stage 'read' failed at in, byte 4: it threw");
  EXPECT_EQ(RunJob("map", {"batch", "text"}, "a\nthrow\n").Failure(),
            "operator 'batch' of stage 'read' failed at the batch that begins at in, byte 0: it threw");
  LocalJob job(CrashingOperators());
  EXPECT_THAT(ExpectDeterministic(job.Input("in", "a\nb\nthrow\n"), "map", {"line", "text"}).text,
              HasSubstr("operator 'line' of stage 'read': failed at in, byte 4: it threw"));
}

TEST(BinaryTextTest, EscapesWhatIsNotPrintable) {
  EXPECT_EQ(sdk::QuotedBytes("a\tb\x01\x7f'\\"), R"('a\tb\x01\x7f\'\\')");
  EXPECT_EQ(sdk::QuotedBytes("\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80", '"'),
            "\"\xc3\xbc \xe2\x82\xac \xf0\x9f\x98\x80\"");
  EXPECT_EQ(sdk::QuotedBytes("\xff\xc3(\xc0\xaf\xed\xa0\x80\xc2\x85\xe2\x82"),
            R"('\xff\xc3(\xc0\xaf\xed\xa0\x80\xc2\x85\xe2\x82')");
}

TEST(BinaryTextTest, CutsLongOnesAroundTheDifferenceAndSaysTheirLength) {
  const std::string long_text = std::string(500, 'a') + "b" + std::string(499, 'c');
  EXPECT_EQ(sdk::QuotedBytes(long_text), "'" + std::string(200, 'a') + "...' (bytes 0 to 200 of 1000)");
  EXPECT_EQ(sdk::QuotedBytes(long_text, '\'', 500),
            "'..." + std::string(40, 'a') + "b" + std::string(159, 'c') + "...' (bytes 460 to 660 of 1000)");
  EXPECT_EQ(sdk::QuotedBytes(long_text, '\'', 1000), "'..." + std::string(200, 'c') + "' (bytes 800 to 1000 of 1000)");
  std::string umlauts = "a";
  for (int i = 0; i < 200; ++i) umlauts += "\xc3\xbc";
  EXPECT_THAT(sdk::QuotedBytes(umlauts), AllOf(Not(HasSubstr("\\x")), HasSubstr("(bytes 0 to 199 of 401)")));
  EXPECT_EQ(sdk::FirstDifference(std::string(300, 'a') + "1\n", std::string(300, 'a') + "2\n"),
            "line 1 is '..." + std::string(199, 'a') + "1' (bytes 101 to 301 of 301), and '..." +
                std::string(199, 'a') + "2' (bytes 101 to 301 of 301) without");
}

TEST(BinaryTextTest, NoByteThatIsNotPrintableIsInTheTextOfADeterminismCheck) {
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "w" + std::to_string(i) + "\n";
  for (const std::vector<std::string>& job :
       {std::vector<std::string>{"map", "binary", "text"}, {"map", "binary_attempt", "text"}, {"partition"}}) {
    LocalJob local(CrashingOperators());
    const Determinism found = ExpectDeterministic(local.Input("in", lines), job[0], {job.begin() + 1, job.end()});
    EXPECT_FALSE(found.ok) << job.back();
    EXPECT_THAT(found.text, HasSubstr("\\x")) << job.back();
    for (const char c : found.text) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << found.text;
  }
}

}  // namespace
}  // namespace mr
