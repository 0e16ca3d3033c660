// Operators report bad records, failures and cancellation, without a cluster.
#include <gtest/gtest.h>

#include <cstddef>
#include <fstream>
#include <functional>
#include <sstream>

#include "paceline/paceline.h"
#include "paceline/testing.h"

namespace mr::runtime {
namespace {

// Emits (word, 1) for each word, and finds out at the word "bad" that the line is no good.
class Words : public LineMapper<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) {
    std::istringstream in{std::string(line)};
    for (std::string word; in >> word;) {
      if (word == "bad") throw BadRecord("no word");
      out.Emit(word, 1);
    }
  }
};

class Total : public Reducer<std::string, int64_t, Text, Text> {
 public:
  void Reduce(std::string_view key, Values<int64_t>& values, Out& out) {
    int64_t sum = 0;
    for (const int64_t n : values) {
      sum += n;
      if (key == "rotten" && sum == 2) throw BadRecord("it smells");
    }
    out.Emit(key, sum);
  }
};

// Port 0 and port 1 get each line, before it is looked at.
class BothPorts : public LineMapper<std::string, std::string> {
 public:
  void Map(std::string_view line, Out& out) {
    out.Emit("", line);
    out.Port<std::string, std::string>(1).Emit("", line);
    if (line == "bad") throw BadRecord("no line");
  }
};

class CountLines : public BlockMapper<Text, Text> {
 public:
  void Map(const Block& block, Out& out) {
    ForEachLine(block.text, [&](std::string_view line) {
      if (line == "bad") return context().SkipRecord("a bad line");
      out.Line(line);
    });
  }
};

class WholeBlock : public BlockMapper<Text, Text> {
 public:
  void Map(const Block&, Out&) { throw BadRecord("all of it"); }
};

class AsksForHelp : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view, Out&) { throw RetryableError("the service does not answer"); }
};

class GivesUp : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view, Out&) { throw FinalError("this is no picture"); }
};

class LooksUp : public LineMapper<Text, Text> {
 public:
  void Open() {
    std::ifstream in(context().side_file("names"));
    std::getline(in, name_);
  }
  void Map(std::string_view line, Out& out) { out.Line(name_ + " " + std::string(line)); }

 private:
  std::string name_;
};

class StopsWhenTold : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view, Out& out) { out.Line(context().cancelled() ? "told" : "not told"); }
};

class Sieve : public LineMapper<Text, Text> {
 public:
  void Map(std::string_view line, Out& out) { (line == "bad" ? out.Port(1) : out).Line(line); }
};

TestRecord Line(const std::string& line) { return {"", line}; }

std::string MessageOf(const std::function<void()>& f) {
  try {
    f();
  } catch (const JobError& e) {
    return e.what();
  }
  return "";
}

TEST(BadRecordTest, IsSkippedWithAllThatItEmitted) {
  OperatorTest<Words> test;
  test.MaxBadRecords(2).Feed({Line("a b"), Line("c bad d"), Line("e")}, 0, 100).End();
  const auto emitted = test.Emitted<std::string, int64_t>();
  ASSERT_EQ(emitted.size(), 3u);
  EXPECT_EQ(emitted[0].first + emitted[1].first + emitted[2].first, "abe");
  EXPECT_EQ(test.counters().at({"mr", "bad_records"}), 1);
}

TEST(BadRecordTest, TakesBackFromEachPort) {
  OperatorTest<BothPorts> test("", {1, 1});
  test.MaxBadRecords(5).Feed({Line("a"), Line("bad"), Line("bad"), Line("b")}).End();
  EXPECT_EQ(test.Raw(0), (TestRecords{Line("a"), Line("b")}));
  EXPECT_EQ(test.Raw(1), (TestRecords{Line("a"), Line("b")}));
}

TEST(BadRecordTest, TakesBackAcrossTheBorderOfABatch) {
  // Each line is some 50 KiB: batches of 128 KiB go out while lines are mapped, and none with half of a bad one.
  TestRecords lines;
  std::string expected;
  for (int i = 0; i < 40; ++i) {
    std::string line;
    for (int word = 0; word < 3; ++word) line += std::string(17'000, static_cast<char>('a' + i % 26)) + " ";
    if (i % 3 == 1)
      line += "bad";
    else
      expected += std::string(3, static_cast<char>('a' + i % 26));
    lines.push_back(Line(line));
  }
  OperatorTest<Words> test;
  test.MaxBadRecords(100).Feed(lines).End();
  std::string got;
  for (const auto& [word, n] : test.Emitted<std::string, int64_t>()) got += word.substr(0, 1);
  EXPECT_EQ(got, expected);
}

// Wherever in the bad record the batch is full: before its first word, between two, at its end.
TEST(BadRecordTest, TakesBackWhatABatchThatWentOutLeftOfIt) {
  for (const size_t bytes : {7'000u, 17'000u, 23'000u, 31'000u, 37'000u}) {
    for (const int words : {1, 2, 3}) {
      TestRecords lines;
      std::string expected;
      for (int i = 0; i < 60; ++i) {
        std::string line;
        const std::string word(bytes + 97 * static_cast<size_t>(i), static_cast<char>('a' + i % 26));
        for (int n = 0; n < words; ++n) line += word + " ";
        if (i % 2 == 1)
          line += "bad";
        else
          expected += std::string(static_cast<size_t>(words), static_cast<char>('a' + i % 26));
        lines.push_back(Line(line));
      }
      OperatorTest<Words> test;
      test.MaxBadRecords(100).Feed(lines).End();
      std::string got;
      for (const auto& [word, n] : test.Emitted<std::string, int64_t>()) got += word.substr(0, 1);
      EXPECT_EQ(got, expected) << words << " words of " << bytes;
    }
  }
}

TEST(BadRecordTest, TheFirstOneFailsByDefault) {
  OperatorTest<Words> test;
  EXPECT_EQ(MessageOf([&] {
              test.Feed({Line("a"), Line("bad")}, 0, 100);
            }),
            "record 1 of a batch of input 0 from upstream task 0: no word");
}

TEST(BadRecordTest, OneMoreThanTheLimitFails) {
  OperatorTest<Words> test;
  test.MaxBadRecords(2).Feed({Line("bad"), Line("a"), Line("bad")});
  EXPECT_NE(MessageOf([&] { test.Feed({Line("bad")}); }).find("3 bad records"), std::string::npos);
}

TEST(BadRecordTest, OfAGroupLeavesTheNextOnesWhole) {
  const auto record = [](const std::string& key) { return OperatorTest<Total>::Record(key, int64_t{1}); };
  OperatorTest<Total> test;
  test.MaxBadRecords(1)
      .FeedGroups({{record("a"), record("rotten"), record("rotten")}, {record("rotten"), record("z")}, {record("z")}})
      .End();
  EXPECT_EQ(test.Raw(), (TestRecords{{"a", "1"}, {"z", "2"}}));
  EXPECT_EQ(test.bad_records(), std::vector<std::string>{"key 'rotten': it smells"});
}

TEST(BadRecordTest, BlocksNameTheirBadRecordsThemselves) {
  OperatorTest<CountLines> test;
  test.MaxBadRecords(1).Feed({Line("a\nbad\nb\n")}).End();
  EXPECT_EQ(test.Raw(), (TestRecords{{"", "a"}, {"", "b"}}));
  // A block is no record: it is never skipped as one.
  OperatorTest<WholeBlock> whole;
  whole.MaxBadRecords(10);
  EXPECT_EQ(MessageOf([&] { whole.Feed({Line("a\nb\n")}); }), "all of it");
}

TEST(RetryableErrorTest, IsToldApart) {
  OperatorTest<AsksForHelp> test;
  EXPECT_THROW(test.Feed({Line("a")}), RetryableError);
}

TEST(FinalErrorTest, IsToldApart) {
  OperatorTest<GivesUp> test;
  EXPECT_THROW(test.Feed({Line("a")}), FinalError);
  OperatorTest<Words> bad;
  EXPECT_THROW(bad.Feed({Line("bad")}), FinalError) << "a record that cannot be used is the same for each attempt";
}

TEST(CancelledTest, IsToldToWhoAsks) {
  OperatorTest<StopsWhenTold> test;
  test.Feed({Line("a")}).Cancel().Feed({Line("b")}).End();
  EXPECT_EQ(test.Raw(), (TestRecords{{"", "not told"}, {"", "told"}}));
}

// A host of an older release, which has nothing behind log().
TEST(OlderHostTest, GetsPlainFailures) {
  const mr_operator table = sdk::Adapter<Words>::Table("words", 0);
  const mr_operator help = sdk::Adapter<AsksForHelp>::Table("help", 0);
  sdk::TestHost full(1);
  mr_host host = *full.host();
  host.struct_size = offsetof(mr_host, fail_as);
  host.fail_as = nullptr;
  host.bad_record = nullptr;
  host.cancelled = nullptr;
  const uint32_t partitions = 1;
  mr_open_args args{};
  args.struct_size = offsetof(mr_open_args, files_directory);
  args.ports = 1;
  args.partitions = &partitions;
  const std::string bytes = sdk::TestTask::Pack({Line("bad")}, 0);
  mr_batch batch{};
  batch.struct_size = sizeof batch;
  batch.data = sdk::Bytes(bytes);
  for (const mr_operator* op : {&table, &help}) {
    void* instance = op->open(&args, &host);
    ASSERT_NE(instance, nullptr);
    EXPECT_NE(op->batch(instance, &batch), 0);
    EXPECT_FALSE(full.failure().empty());
    EXPECT_EQ(full.failed_as(), MR_FAILURE_USER);
    op->close(instance);
  }
}

void PlanWords(const std::vector<std::string>&, JobPlan& plan) {
  auto& map = plan.Map("map", "words").ReadFiles().Shuffle();
  plan.Reduce("reduce", "total").Group(map).WriteFiles();
}
void PlanNames(const std::vector<std::string>&, JobPlan& plan) {
  plan.Map("map", "names").Memory(300 << 20).ReadFiles().WriteFiles();
}

void PlanSieve(const std::vector<std::string>&, JobPlan& plan) {
  plan.Map("map", "sieve").ReadFiles().WriteFiles().Named("errors");
}

const mr_library* Table() {
  static Library& library = *new Library;
  if (library.table()->job_count == 0) {
    library.Add<Words>("words", MR_DETERMINISTIC)
        .Add<Total>("total", MR_DETERMINISTIC)
        .Add<LooksUp>("names", MR_DETERMINISTIC);
    library.Add<Sieve>("sieve", MR_DETERMINISTIC);
    library.AddJob<PlanWords>("words", "").AddJob<PlanNames>("names", "").AddJob<PlanSieve>("sieve", "");
  }
  return library.table();
}

TEST(LocalJobTest, LimitIsOfTheWholeJob) {
  const std::string text = "a\nbad 1\nb\nbad 2\nc\nbad 3\nrotten rotten\n";
  const auto run = [&](uint64_t limit) {
    return LocalJob(Table(), {.split_bytes = 8, .max_bad_records = limit}).Input("in", text).Run("words");
  };
  const LocalResult enough = run(4);
  EXPECT_TRUE(enough.ok) << enough.error;
  EXPECT_EQ(enough.Output().find("rotten"), std::string::npos);
  EXPECT_EQ(enough.counters.at({"mr", "bad_records"}), 4);
  ASSERT_EQ(enough.bad_records.size(), 4u);
  EXPECT_EQ(enough.bad_records[0], "in, byte 2: no word");
  EXPECT_EQ(enough.bad_records[1], "in, byte 10: no word");
  const LocalResult more = run(2);
  EXPECT_FALSE(more.ok);
  EXPECT_NE(more.error.find("3 bad records"), std::string::npos) << more.error;
  EXPECT_EQ(run(0).error, "in, byte 2: no word");
}

TEST(LocalJobTest, SideFilesAreWhereOperatorsLook) {
  const LocalResult with = LocalJob(Table()).Input("in", "x\n").SideFile("names", "Ada\n").Run("names");
  EXPECT_EQ(with.Output(), "Ada x\n") << with.error;
  const LocalResult without = LocalJob(Table()).Input("in", "x\n").Run("names");
  EXPECT_EQ(without.error, "the job has no side file 'names'; submit it with --files PATH#names");
}

TEST(LocalJobTest, NamedOutputsStandBesideTheMainOne) {
  const LocalResult result = LocalJob(Table(), {.split_bytes = 4}).Input("in", "a\nbad\nb\nbad\n").Run("sieve");
  ASSERT_TRUE(result.ok) << result.error;
  EXPECT_EQ(result.Output(), "a\nb\n");
  std::string errors;
  for (const auto& part : result.named.at("errors")) errors += part;
  EXPECT_EQ(errors, "bad\nbad\n");
  EXPECT_EQ(result.named.at("errors").size(), result.parts.size());
}

TEST(PlanTest, NamedOutputsStandBehindTheMainOne) {
  JobPlan plan;
  EXPECT_NE(MessageOf([&] { plan.Map("a", "op").ReadFiles().Named("x"); }).find("before it has WriteFiles()"),
            std::string::npos);
  JobPlan mixed;
  mixed.Map("a", "op").ReadFiles().WriteFiles().Named("x").Shuffle();
  EXPECT_NE(MessageOf([&] { mixed.Json(); }).find("has files and other ports"), std::string::npos);
}

TEST(PlanTest, MemoryOfAStageIsInTheDocument) {
  EXPECT_NE(LocalJob(Table()).PlanText("names", {}).find("\"memory_bytes\": 314572800"), std::string::npos);
}

class ThrowsInCombine : public LineMapper<std::string, int64_t>, public Combiner<std::string, int64_t> {
 public:
  void Map(std::string_view line, Out& out) { out.Emit(line, 1); }
  int64_t Combine(std::string_view, Values<int64_t>&) { throw std::runtime_error("no sum"); }
};

TEST(CombinerTest, AfterAnExceptionTheHostHasNoKeyWhoseBytesAreGone) {
  mr_open_args args{};
  args.struct_size = sizeof args;
  args.tasks = args.inputs = args.ports = 1;
  const uint32_t partitions = 1;
  args.partitions = &partitions;
  const mr_operator table = sdk::Adapter<ThrowsInCombine>::Table("operator", 0);
  sdk::TestTask task(table, args);
  EXPECT_THROW(task.Combine(0, {{"a", "1"}}), JobError);
  EXPECT_EQ(task.host().host()->at->data, nullptr);
  EXPECT_EQ(task.host().host()->at->size, 0u);
}

}  // namespace
}  // namespace mr::runtime
