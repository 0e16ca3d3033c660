// The planner's and the publisher's promises about splits, partitions and output directories.
#include "master/host/planner.h"
#include "master/core/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <functional>

#include "common/io/files.h"
#include "master/host/publisher.h"

namespace mr::master {
namespace {

class PlannerTest : public testing::Test {
 protected:
  PlannerTest() {
    char path[] = "/tmp/planner_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~PlannerTest() override { (void)RemoveTree(root_); }
  std::string Put(const std::string& name, size_t bytes) {
    EXPECT_TRUE(WriteFileDurably(root_ + "/" + name, std::string(bytes, 'x')).ok());
    return "file://" + root_ + "/" + name;
  }
  static StageSpec Files(const std::string& name, std::vector<std::string> uris, uint64_t split) {
    StageSpec stage;
    stage.name = name;
    stage.ports.resize(1);
    InputSpec input;
    input.files = {std::move(uris), "text", split, 0};
    stage.inputs.push_back(std::move(input));
    return stage;
  }
  static StageSpec Edge(const std::string& name, uint32_t from, EdgeKind kind, uint32_t tasks) {
    StageSpec stage;
    stage.name = name;
    stage.ports.resize(1);
    stage.tasks = tasks;
    InputSpec input;
    input.is_edge = true;
    input.kind = kind;
    input.stage = from;
    stage.inputs.push_back(std::move(input));
    return stage;
  }
  JobSpec Job(std::vector<StageSpec> stages) {
    JobSpec spec;
    spec.name = "test";
    spec.stages = std::move(stages);
    spec.stages.back().ports[0].files = true;
    spec.output_uri = "file://" + root_ + "/out";
    return spec;
  }
  static Result<JobPlan> Planned(const JobSpec& spec, PlanContext context = {}) {
    context.roots = FileRoots::Any();
    return PlanJob(spec, context);
  }
  std::string root_;
};

TEST_F(PlannerTest, FilesOutsideOfTheRootsAreNeitherReadNorWrittenNorNamed) {
  (void)MakeDirectories(root_ + "/in");
  const std::string inside = Put("in/a", 10), outside = Put("b", 10);
  ASSERT_EQ(symlink((root_ + "/b").c_str(), (root_ + "/in/link").c_str()), 0);
  PlanContext context;
  context.roots = FileRoots::Parse(root_ + "/in").value();
  JobSpec spec = Job({Files("m", {inside}, 0)});
  spec.output_uri = "file://" + root_ + "/in/out";
  EXPECT_TRUE(PlanJob(spec, context).ok());
  for (const std::string& uri :
       {outside, "file://" + root_ + "/missing", "file://" + root_ + "/*", inside + "/../../b",
        "file://" + root_ + "/in/link", "file://" + root_ + "/in", "file://" + root_ + "/in/l*"}) {
    const auto plan = PlanJob(Job({Files("m", {uri}, 0)}), context);
    ASSERT_FALSE(plan.ok()) << uri;
    EXPECT_EQ(plan.status().code(), Code::kNotAllowed) << uri << plan.status().ToString();
    EXPECT_THAT(plan.status().message(), testing::HasSubstr("--file_roots: " + root_ + "/in")) << uri;
  }
  spec.output_uri = "file://" + root_ + "/out";
  EXPECT_EQ(PlanJob(spec, context).status().code(), Code::kNotAllowed);
  EXPECT_EQ(PlanJob(spec, {}).status().code(), Code::kNotAllowed) << "none without roots";
}

TEST_F(PlannerTest, CutsAFileIntoSplitsThatCoverItOnce) {
  for (const uint64_t bytes : {1, 4095, 4096, 4097, 100'000}) {
    uint64_t at = 0;
    for (const Split& split : CutFile({"file:///f", bytes}, 2, {{}, "text", 4096, 0}, 1 << 20)) {
      EXPECT_EQ(split.offset, at);
      EXPECT_LE(split.length, 4096u);
      EXPECT_EQ(split.input, 2u);
      at += split.length;
    }
    EXPECT_EQ(at, bytes);
  }
  EXPECT_TRUE(CutFile({"file:///f", 0}, 0, {{}, "text", 0, 0}, 4096).empty());
}

// A split of whole records would begin some bytes before its block, and the worker opens the block of the first byte.
TEST_F(PlannerTest, SplitsEndWhereBlocksEndAndGzipFilesAreNeverCut) {
  constexpr uint64_t kBlock = 4096;
  for (const Split& split : CutFile({"dfs:///f", 10'000}, 0, {{}, "fixed:100", 0, 0}, kBlock)) {
    EXPECT_EQ(split.offset % kBlock, 0u);
  }
  for (const Split& split : CutFile({"dfs:///f", 10'000}, 0, {{}, "fixed:100", 10, 0}, kBlock)) {
    EXPECT_EQ(split.length, 100u) << "a split below a record would be empty";
  }
  InputFile whole{"http://h/f", 1 << 20};
  whole.whole = true;
  EXPECT_EQ(CutFile(whole, 0, {{}, "text", 4096, 0}, 4096).size(), 1u) << "the server has no ranges";
  EXPECT_EQ(CutFile({"file:///f.gz", 1 << 20}, 0, {{}, "text", 4096, 0}, 4096).size(), 1u);
}

TEST_F(PlannerTest, ASmallInputIsCutSoThatASmallClusterIsBusy) {
  constexpr uint64_t kMiB = 1 << 20, kBlock = 64 * kMiB;
  EXPECT_EQ(DefaultSplitBytes(0, kBlock), kMinSplitBytes);
  EXPECT_EQ(DefaultSplitBytes(4'404'412, kBlock), 2 * kMiB);
  EXPECT_EQ(DefaultSplitBytes(16 * kMiB, kBlock), 2 * kMiB);
  EXPECT_EQ(DefaultSplitBytes(16 * kMiB + 1, kBlock), 4 * kMiB);
  EXPECT_EQ(DefaultSplitBytes(64 * kMiB, kBlock), 8 * kMiB);
  EXPECT_EQ(DefaultSplitBytes(10'000 * kMiB, kBlock), kBlock);
  EXPECT_EQ(DefaultSplitBytes(100, 4096), 4096u) << "blocks below the least are not cut";
}

TEST_F(PlannerTest, ExpandsDirectoriesAndGlobsWithoutHiddenNames) {
  Put("b.txt", 1);
  Put("a.txt", 1);
  Put("_SUCCESS", 1);
  Put(".hidden", 1);
  Put("c.log", 1);
  const auto all = ExpandFileUri("file://" + root_, FileRoots::Any());
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->size(), 3u);
  const auto texts = ExpandFileUri("file://" + root_ + "/*.txt", FileRoots::Any());
  ASSERT_TRUE(texts.ok());
  ASSERT_EQ(texts->size(), 2u);
  EXPECT_THAT((*texts)[0].uri, testing::EndsWith("/a.txt"));
  EXPECT_EQ(ExpandFileUri("file://" + root_ + "/*.csv", FileRoots::Any()).status().code(), Code::kNotFound);
  EXPECT_EQ(ExpandFileUri("file://" + root_ + "/*", FileRoots::Any())->size(), 3u)
      << "a glob takes neither _SUCCESS nor hidden names";
  const InputSize size = SizeOf({{"file:///a.txt", 10}, {"dfs:///b.gz", 5}, {"file:///c.zst", 2}});
  EXPECT_EQ(size.bytes, 17u);
  EXPECT_EQ(size.compressed, 7u);
}

TEST_F(PlannerTest, ReadsAllFilesBelowADirectoryAndLeavesNoneOutSilently) {
  ASSERT_TRUE(MakeDirectories(root_ + "/deep/er").ok());
  Put("a.txt", 1);
  Put("deep/b.txt", 1);
  Put("deep/er/c.txt", 1);
  const auto all = ExpandFileUri("file://" + root_, FileRoots::Any());
  ASSERT_TRUE(all.ok()) << all.status().ToString();
  EXPECT_EQ(all->size(), 3u);
  // A file that cannot be read is an error and not skipped, and so is a link that might lead back up.
  ASSERT_EQ(symlink("/nowhere/at/all", (root_ + "/dangling").c_str()), 0);
  EXPECT_EQ(ExpandFileUri("file://" + root_, FileRoots::Any()).status().code(), Code::kNotFound);
  ASSERT_EQ(unlink((root_ + "/dangling").c_str()), 0);
  ASSERT_EQ(symlink(root_.c_str(), (root_ + "/deep/up").c_str()), 0);
  EXPECT_EQ(ExpandFileUri("file://" + root_, FileRoots::Any()).status().code(), Code::kInvalidArgument);
}

TEST_F(PlannerTest, CutsZstdFilesAndLeavesGzipFilesWhole) {
  for (const auto& [name, splits] : {std::pair{"a.gz", 1u}, std::pair{"a.zst", 4u}, std::pair{"a.txt", 4u}}) {
    JobSpec spec = Job({Files("m", {Put(name, 100)}, 0)});
    spec.stages[0].inputs[0].files.max_split_bytes = 25;
    const auto plan = Planned(spec);
    ASSERT_TRUE(plan.ok()) << plan.status().ToString();
    EXPECT_EQ(plan->stages[0].splits.size(), splits) << name;
  }
}

TEST_F(PlannerTest, ManySmallFilesShareTasksAndAFewDoNot) {
  std::vector<std::string> uris;
  for (int i = 0; i < 150; ++i) uris.push_back(Put("f" + std::to_string(1000 + i), 10));
  JobSpec spec = Job({Files("m", uris, 100)});
  auto plan = Planned(spec);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  FillSplits(&*plan);
  const StagePlan& stage = plan->stages[0];
  EXPECT_EQ(stage.tasks, 15u) << "ten files of 10 bytes in 100";
  std::vector<std::string> read;
  for (uint32_t t = 0; t < stage.tasks; ++t) {
    EXPECT_EQ(stage.SplitsOf(t).size(), 10u);
    for (const Split& split : stage.SplitsOf(t)) {
      EXPECT_EQ(split.input_index(), 0u);
      read.push_back(split.uri);
    }
  }
  EXPECT_EQ(read, uris);
  uris.resize(100);
  spec = Job({Files("m", uris, 100)});
  plan = Planned(spec);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->stages[0].tasks, 100u);
}

TEST_F(PlannerTest, MoreSmallFilesThanAStageMayHaveTasksAreReadInItsTasks) {
  JobSpec spec = Job({Files("m", {"dfs:///few", "dfs:///many"}, 0)});
  spec.stages[0].inputs.push_back(spec.stages[0].inputs[0]);
  spec.stages[0].inputs[0].files = {{"dfs:///few"}, "text", 10, 0};
  spec.stages[0].inputs[1].files = {{"dfs:///many"}, "text", 0, 0};
  PlanContext context;
  context.block_bytes = 64 << 20;
  std::vector<InputFile> many;
  for (uint32_t i = 0; i <= kMaxTasks; ++i) many.push_back({"dfs:///many/" + std::to_string(i), 10});
  std::vector<InputFile> few = {{"dfs:///few/a", 10}, {"dfs:///few/b", 10}};
  context.dfs_files.emplace_back("dfs:///few", std::move(few));
  context.dfs_files.emplace_back("dfs:///many", std::move(many));
  auto plan = Planned(spec, context);
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->stages[0].splits.size(), kMaxTasks + 3);
  const uint64_t tasks_of_many = (kMaxTasks + kMostJoined) / kMostJoined;
  EXPECT_EQ(plan->stages[0].tasks, 2 + tasks_of_many) << "each input by its own size of splits";
}

TEST_F(PlannerTest, RefusesMoreSplitsThanARecordOfTheJournalHolds) {
  PlanContext context;
  std::vector<InputFile> many;
  for (uint32_t i = 0; i < 300'000; ++i) many.push_back({"dfs:///a/directory/with/a/name/" + std::to_string(i), 10});
  context.dfs_files.emplace_back("dfs:///many", std::move(many));
  // Each stage alone would do.
  JobSpec spec = Job({Files("one", {"dfs:///many"}, 0), Files("two", {"dfs:///many"}, 0)});
  const auto plan = Planned(spec, context);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code(), Code::kInvalidArgument);
  EXPECT_NE(plan.status().message().find("give fewer files"), std::string::npos) << plan.status().ToString();
  spec.stages.erase(spec.stages.begin());
  EXPECT_TRUE(Planned(spec, context).ok());
}

TEST_F(PlannerTest, RefusesAFileThatHasNoWholeNumberOfRecords) {
  JobSpec fixed = Job({Files("m", {Put("b.bin", 25)}, 0)});
  fixed.stages[0].inputs[0].files.format = "fixed:10";
  const auto plan = Planned(fixed);
  EXPECT_EQ(plan.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(plan.status().message(), testing::HasSubstr("no multiple of 10"));
  // How long a compressed one is nobody knows yet.
  fixed.stages[0].inputs[0].files.uris = {Put("b.gz", 25)};
  EXPECT_TRUE(Planned(fixed).ok());
}

TEST_F(PlannerTest, NamesTheNearestFileWhereAnInputIsMissing) {
  Put("bible.txt", 1);
  const auto missing = ExpandFileUri("file://" + root_ + "/bibel.txt", FileRoots::Any());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_THAT(missing.status().message(), testing::HasSubstr(root_ + "/bible.txt"));
}

TEST_F(PlannerTest, SaysThatAnInputIsALinkToNothing) {
  ASSERT_EQ(symlink("nowhere", (root_ + "/link").c_str()), 0);
  const auto missing = ExpandFileUri("file://" + root_ + "/link", FileRoots::Any());
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_THAT(missing.status().message(), testing::HasSubstr("is a link to something that does not exist"));
}

TEST_F(PlannerTest, GivesAllToAllPortsAPartitionPerReadingTask) {
  const auto spec = Job({Files("map", {Put("in", 10'000)}, 4096), Edge("reduce", 0, EdgeKind::kAllToAll, 5)});
  auto plan = Planned(spec, {4, 1 << 20, {}});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->stages[0].tasks, 3u);
  EXPECT_THAT(plan->stages[0].port_partitions, testing::ElementsAre(5));
  EXPECT_THAT(plan->stages[1].port_partitions, testing::ElementsAre(1));
  FillSplits(&*plan);
  EXPECT_EQ(SlicesOf(spec, *plan, 1, 5)[3], std::vector<Slice>({{0, 3, 4, 0, 3}}));
}

TEST_F(PlannerTest, GivesEveryUpstreamTaskToExactlyOneManyToOneReader) {
  const auto spec = Job({Files("map", {Put("in", 41'000)}, 4096), Edge("fold", 0, EdgeKind::kManyToOne, 4)});
  auto plan = Planned(spec, {4, 1 << 20, {}});
  ASSERT_TRUE(plan.ok());
  FillSplits(&*plan);
  uint32_t next = 0;
  for (const auto& slices : SlicesOf(spec, *plan, 1, 4)) {
    EXPECT_EQ(slices[0].task_begin, next);
    next = slices[0].task_end;
  }
  EXPECT_EQ(next, plan->stages[0].tasks);
}

TEST_F(PlannerTest, TakesTheUpstreamTasksForOneToOneAndNumbersPartitionsOverAllPorts) {
  auto source = Files("map", {Put("in", 9000)}, 4096);
  source.ports.resize(2);
  auto same = Edge("same", 0, EdgeKind::kOneToOne, 7);
  same.inputs[0].port = 1;
  auto all = Edge("all", 0, EdgeKind::kAllToAll, 4);
  InputSpec broadcast;
  broadcast.is_edge = true;
  broadcast.kind = EdgeKind::kBroadcast;
  broadcast.stage = 1;
  all.inputs.push_back(broadcast);
  const auto spec = Job({source, same, all});
  auto plan = Planned(spec, {4, 1 << 20, {}});
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(plan->stages[1].tasks, 3u) << "--reduces does not apply";
  FillSplits(&*plan);
  EXPECT_EQ(SlicesOf(spec, *plan, 1, 3)[2], std::vector<Slice>({{0, 4, 5, 2, 3}})) << "port 1 begins behind port 0";
  EXPECT_EQ(SlicesOf(spec, *plan, 2, 4)[0][1], (Slice{1, 0, 1, 0, 3}));
}

TEST_F(PlannerTest, SizesAutomaticReducesByBytesWithinTheSlots) {
  const auto spec = Job({Files("map", {Put("in", 1000)}, 0), Edge("reduce", 0, EdgeKind::kAllToAll, 0)});
  EXPECT_EQ(Planned(spec, {8, 1 << 20, {}})->stages[1].tasks, 1u);
  auto big = spec;
  big.stages[0].inputs[0].files.uris = {"dfs:///big"};
  const auto tasks_of = [&](uint64_t bytes) {
    const std::vector<InputFile> files = {{"dfs:///big", bytes}};
    return Planned(big, {8, 64 << 20, {{"dfs:///big", files}}})->stages[1].tasks;
  };
  EXPECT_EQ(tasks_of(7 * kBytesPerTask), 7u);
  EXPECT_EQ(tasks_of(8 * kMostBytesOfATask), 8u);
  big.stages[1].task_bytes = 3 * kBytesPerTask;
  EXPECT_EQ(tasks_of(2 * kBytesPerTask), 2u) << "below its size, too, slots must not be idle";
  EXPECT_EQ(tasks_of(30 * kBytesPerTask), 10u);
}

TEST_F(PlannerTest, AutomaticReducesTakeNoMoreBytesEachAsTheInputGrows) {
  auto big = Job({Files("map", {}, 0), Edge("reduce", 0, EdgeKind::kAllToAll, 0)});
  big.stages[0].inputs[0].files.uris = {"dfs:///big"};
  const auto tasks_of = [&](uint64_t bytes) {
    const std::vector<InputFile> files = {{"dfs:///big", bytes}};
    return Planned(big, {2, 64 << 20, {{"dfs:///big", files}}})->stages[1].tasks;
  };
  EXPECT_EQ(tasks_of(4 * kMostBytesOfATask + 1), 5u);
  EXPECT_EQ(tasks_of(kMostByBytes * kMostBytesOfATask * 2), kMostByBytes) << "but not more tasks than this";
}

TEST_F(PlannerTest, PlansOneTaskWhereThereAreNoBytes) {
  const auto spec = Job({Files("map", {Put("empty", 0)}, 0), Edge("reduce", 0, EdgeKind::kAllToAll, 0)});
  EXPECT_EQ(Planned(spec, {8, 1 << 20, {}})->stages[0].tasks, 1u);
}

TEST_F(PlannerTest, RefusesAnOutputThatHoldsFilesUnlessItMayBeReplaced) {
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  EXPECT_TRUE(CheckFileOutput("file://" + root_ + "/out", false, FileRoots::Any()).ok());
  Put("out/x", 1);
  EXPECT_EQ(CheckFileOutput("file://" + root_ + "/out", false, FileRoots::Any()).code(), Code::kRejected);
  EXPECT_TRUE(CheckFileOutput("file://" + root_ + "/out", true, FileRoots::Any()).ok());
  EXPECT_EQ(CheckFileOutput("file://" + root_ + "/out/x", true, FileRoots::Any()).code(), Code::kRejected);
}

TEST_F(PlannerTest, AnOutputIsRefusedWhereNoDirectoryCanBeMade) {
  // Root may write there, by its rights.
  const Status proc = CheckFileOutput("file:///proc/out", false, FileRoots::Any());
  EXPECT_TRUE(proc.code() == Code::kRejected || proc.code() == Code::kNotAllowed) << proc.ToString();
  EXPECT_THAT(proc.message(),
              testing::HasSubstr("output /proc/out cannot be made: the master cannot make a directory in /proc"));
  ASSERT_TRUE(CheckFileOutput("file://" + root_ + "/new/deep/out", false, FileRoots::Any()).ok());
  EXPECT_EQ(ListDirectory(root_)->size(), 0u) << "the trial left something";
  Put("file", 1);
  const std::string file = CheckFileOutput("file://" + root_ + "/file", false, FileRoots::Any()).message();
  EXPECT_THAT(file, testing::HasSubstr("give another --output, or remove it"));
  EXPECT_THAT(file, testing::Not(testing::HasSubstr("overwrite")));
}

TEST_F(PlannerTest, AGlobThatFindsNothingSaysWhereItLooked) {
  Put("a", 1);
  Put("_b", 1);
  const auto none = ExpandFileUri("file://" + root_ + "/x*", FileRoots::Any());
  EXPECT_EQ(none.status().code(), Code::kNotFound);
  EXPECT_THAT(none.status().message(),
              testing::HasSubstr("no input matches " + root_ + "/x*: of the 2 names in " + root_ + " none"));
  EXPECT_THAT(ExpandFileUri("file://" + root_ + "/gone/x*", FileRoots::Any()).status().message(),
              testing::HasSubstr("there is no directory " + root_ + "/gone"));
}

class PublisherTest : public PlannerTest {
 protected:
  PublishRequest Request(bool overwrite) {
    PublishRequest request{"job_1_0001", "file://" + root_ + "/out", overwrite, {}, kCluster};
    request.roots = FileRoots::Any();
    for (const char* name : {"part-r-00000", "part-r-00001"}) {
      const std::string directory = StagingUri(request.output_uri, request.job, kCluster).substr(7) + "/attempt";
      EXPECT_TRUE(MakeDirectories(directory).ok());
      EXPECT_TRUE(WriteFileDurably(directory + "/" + name, name).ok());
      request.parts.push_back({name, directory + "/" + name, 12, 1, {}, {}});
    }
    return request;
  }
  static constexpr uint64_t kCluster = 0xc1;
  std::string Hidden(const char* suffix) { return root_ + "/.out.job_1_0001.00000000000000c1" + suffix; }
  void ExpectWhole() {
    EXPECT_TRUE(RemoveStaging("file://" + root_ + "/out", "job_1_0001", kCluster).ok());
    EXPECT_THAT(ListDirectory(root_ + "/out").value(),
                testing::ElementsAre("_SUCCESS", "part-r-00000", "part-r-00001"));
    EXPECT_EQ(ReadFile(root_ + "/out/part-r-00001").value(), "part-r-00001");
    EXPECT_THAT(ListDirectory(root_).value(), testing::ElementsAre("out"));
  }
};

TEST_F(PublisherTest, FilesAreMovedBelowARootAsAnywhere) {
  PublishRequest request = Request(false);
  request.roots = FileRoots::Parse(root_).value();
  const Status status = PublishFiles(request);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(PathExists(root_ + "/out/_SUCCESS"));
  EXPECT_TRUE(PathExists(root_ + "/out/part-r-00001"));
  request.overwrite = true;
  request.job = "job_1_0002";
  const Status failed = PublishFiles(request);
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.message().find("/proc/"), std::string::npos) << failed.message();
}

TEST_F(PublisherTest, AnOutputThatALinkHasLedOutOfTheRootsIsNotMoved) {
  PublishRequest request = Request(false);
  ASSERT_TRUE(MakeDirectories(root_ + "/elsewhere").ok());
  ASSERT_TRUE(MakeDirectories(root_ + "/root").ok());
  ASSERT_EQ(symlink((root_ + "/elsewhere").c_str(), (root_ + "/root/link").c_str()), 0);
  request.roots = FileRoots::Parse(root_ + "/root").value();
  request.output_uri = "file://" + root_ + "/root/link/out";
  EXPECT_EQ(PublishFiles(request).code(), Code::kNotAllowed);
  EXPECT_TRUE(ListDirectory(root_ + "/elsewhere")->empty());
}

TEST_F(PublisherTest, EndsAlikeHoweverOftenItIsRepeated) {
  const auto request = Request(false);
  for (int i = 0; i < 3; ++i) {
    const Status status = PublishFiles(request);
    ASSERT_TRUE(status.ok()) << status.ToString();
    ExpectWhole();
  }
}

TEST_F(PublisherTest, SuccessSaysThatPartsBeginWithAHeader) {
  auto request = Request(false);
  request.header = "csv";
  ASSERT_TRUE(PublishFiles(request).ok());
  EXPECT_THAT(ReadFile(root_ + "/out/_SUCCESS").value(), testing::HasSubstr("\"header\": \"csv\",\n  \"parts\""));
  ASSERT_TRUE(PublishFiles(request).ok()) << "it counts as published";
  ExpectWhole();
}

TEST_F(PublisherTest, OnlyTablesHaveAHeader) {
  JobSpec spec;
  spec.stages.resize(2);
  spec.stages[0].ports.resize(1);
  spec.stages[1].ports.resize(2);
  for (PortSpec& port : spec.stages[1].ports) port.files = true;
  spec.stages[1].ports[0].format = spec.stages[1].ports[1].format = "text";
  EXPECT_EQ(HeaderOf(spec), "");
  spec.stages[1].ports[1].format = "csv";
  EXPECT_EQ(HeaderOf(spec), "") << "a further output";
  spec.stages[1].ports[0].format = "csv(0x3b,none).zst";
  EXPECT_EQ(HeaderOf(spec), "csv(0x3b,none)");
}

TEST_F(PublisherTest, GoesOnWhereItWasInterrupted) {
  const auto request = Request(false);
  ASSERT_TRUE(MakeDirectories(Hidden(".new")).ok());
  ASSERT_EQ(rename(request.parts[0].staged.c_str(), (Hidden(".new") + "/part-r-00000").c_str()), 0);
  ASSERT_TRUE(PublishFiles(request).ok());
  ExpectWhole();
}

TEST_F(PublisherTest, NothingCountsAsPublishedBeforeAllPartsAreThere) {
  const auto request = Request(false);
  const std::string in_the_way = Hidden(".new") + "/part-r-00001";
  ASSERT_TRUE(MakeDirectories(in_the_way).ok());
  EXPECT_FALSE(PublishFiles(request).ok());
  EXPECT_FALSE(PathExists(root_ + "/out"));
  EXPECT_FALSE(PublishFiles(request).ok()) << "tried again, with one part moved";
  EXPECT_FALSE(PathExists(root_ + "/out"));
  ASSERT_TRUE(RemoveTree(in_the_way).ok());
  ASSERT_TRUE(PublishFiles(request).ok());
  ExpectWhole();
}

// The document and the moves are synced together: the machine may have kept the one without the others.
TEST_F(PublisherTest, ADocumentWithoutAllPartsIsNoOutput) {
  const auto request = Request(false);
  ASSERT_TRUE(MakeDirectories(Hidden(".new")).ok());
  ASSERT_TRUE(
      WriteFileDurably(Hidden(".new") + "/_SUCCESS", SuccessDocument(request.job, request.header, request.parts)).ok());
  ASSERT_EQ(rename(request.parts[0].staged.c_str(), (Hidden(".new") + "/part-r-00000").c_str()), 0);
  ASSERT_TRUE(PublishFiles(request).ok());
  ExpectWhole();
}

TEST_F(PublisherTest, ADocumentThatACrashHasCutIsWrittenAgain) {
  const auto request = Request(false);
  ASSERT_TRUE(MakeDirectories(Hidden(".new")).ok());
  ASSERT_TRUE(WriteFileDurably(Hidden(".new") + "/_SUCCESS", "{\n").ok());
  ASSERT_TRUE(PublishFiles(request).ok());
  ExpectWhole();
  EXPECT_EQ(ReadFile(root_ + "/out/_SUCCESS").value(), SuccessDocument(request.job, request.header, request.parts));
}

TEST_F(PublisherTest, ReplacesTheWholeDirectoryWithOverwrite) {
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  Put("out/part-r-00009", 3);
  const auto request = Request(true);
  const Status status = PublishFiles(request);
  ASSERT_TRUE(status.ok()) << status.ToString();
  ExpectWhole();
  ASSERT_TRUE(PublishFiles(request).ok());
  ExpectWhole();
}

TEST_F(PublisherTest, FailsWhereAPartIsNowhere) {
  auto request = Request(false);
  ASSERT_TRUE(RemoveTree(request.parts[1].staged).ok());
  EXPECT_FALSE(PublishFiles(request).ok());
  EXPECT_FALSE(PathExists(root_ + "/out")) << "an output is there as a whole or not at all";
}

// Whatever paths a damaged report has, no file from outside is moved, and none to the outside.
TEST_F(PublisherTest, MovesNoFilesButThoseOfItsJobsAttempts) {
  Put("precious", 3);
  const auto good = Request(false);
  const std::string elsewhere[] = {root_ + "/precious", Hidden(".staging") + "/../precious",
                                   Hidden(".staging.x/precious"), "", "/"};
  for (const std::string& staged : elsewhere) {
    auto request = good;
    request.parts[1].staged = staged;
    EXPECT_EQ(PublishFiles(request).code(), Code::kRejected) << staged;
  }
  for (const std::string name : {"", ".", "..", "../precious", "a/b", "/tmp/x"}) {
    auto request = good;
    request.parts[1].name = name;
    EXPECT_EQ(PublishFiles(request).code(), Code::kRejected) << name;
  }
  EXPECT_EQ(FileSize(root_ + "/precious").value(), 3u);
  EXPECT_FALSE(PathExists(root_ + "/out"));
  ASSERT_TRUE(RemoveTree(root_ + "/precious").ok());
  ASSERT_TRUE(PublishFiles(good).ok()) << "a refusal has moved nothing";
  ExpectWhole();
}

TEST_F(PublisherTest, TakesThePlaceOfAnEmptyDirectory) {
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  ASSERT_TRUE(PublishFiles(Request(false)).ok());
  ExpectWhole();
}

// Two jobs that were accepted while the output was not there yet.
TEST_F(PublisherTest, LeavesWhatAnotherJobHasPublishedMeanwhile) {
  const auto request = Request(false);
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  Put("out/part-r-00000", 3);
  EXPECT_EQ(PublishFiles(request).code(), Code::kRejected);
  EXPECT_EQ(PublishFiles(request).code(), Code::kRejected) << "however often it is tried";
  EXPECT_THAT(ListDirectory(root_ + "/out").value(), testing::ElementsAre("part-r-00000"));
  EXPECT_EQ(FileSize(root_ + "/out/part-r-00000").value(), 3u);
  ASSERT_TRUE(RemoveStaging(request.output_uri, request.job, kCluster).ok());
  EXPECT_THAT(ListDirectory(root_).value(), testing::ElementsAre("out"));
}

// Each local cluster's first job is job_1_0001.
TEST_F(PublisherTest, JobsOfTwoClustersShareNoStaging) {
  EXPECT_EQ(StagingUri("file:///a/out", "job_1_0001", kCluster), "file:///a/.out.job_1_0001.00000000000000c1.staging");
  EXPECT_NE(StagingUri("file:///a/out", "job_1_0001", 1), StagingUri("file:///a/out", "job_1_0001", 2));
}

TEST(MeasureOutsideTest, AServerThatDoesNotAnswerIsNotAskedForItsOtherFiles) {
  std::vector<std::string> asked;
  const auto expand = [&asked](const std::string& uri) -> Result<std::vector<InputFile>> {
    asked.push_back(uri);
    if (uri == "http://h/gone") return NotFound(uri);
    if (uri == "http://h/secret") return Status(Code::kNotAllowed, uri);
    if (uri == "http://down/a") return Rejected("no answer after all tries");
    InputFile file;
    file.uri = uri;
    file.bytes = 7;
    return std::vector<InputFile>{file};
  };
  std::vector<std::optional<InputSize>> sizes(7);
  MeasureOutside({{0, "http://h/gone"},
                  {1, "http://h/secret"},
                  {3, "http://h/a"},
                  {4, "http://down/a"},
                  {5, "http://down/b"},
                  {6, "file:///a"}},
                 expand, &sizes);
  EXPECT_THAT(asked,
              testing::ElementsAre("http://h/gone", "http://h/secret", "http://h/a", "http://down/a", "file:///a"));
  EXPECT_FALSE(sizes[0] || sizes[1] || sizes[2] || sizes[4] || sizes[5]);
  EXPECT_TRUE(sizes[3] && sizes[6]);
}

TEST(MeasureOutsideTest, OneCallMeasuresABoundedNumberOfUrls) {
  size_t asked = 0;
  std::vector<std::pair<size_t, std::string>> uris;
  uris.reserve(kMostMeasuredUrls + 5);
  for (size_t i = 0; i < kMostMeasuredUrls + 5; ++i) uris.emplace_back(i, "http://h/" + std::to_string(i));
  std::vector<std::optional<InputSize>> sizes(uris.size());
  MeasureOutside(
      uris,
      [&asked](const std::string&) -> Result<std::vector<InputFile>> {
        return std::vector<InputFile>(++asked > 0 ? 1 : 0);
      },
      &sizes);
  EXPECT_EQ(asked, kMostMeasuredUrls);
  EXPECT_TRUE(sizes[kMostMeasuredUrls - 1]);
  EXPECT_FALSE(sizes[kMostMeasuredUrls]);
}

}  // namespace
}  // namespace mr::master
