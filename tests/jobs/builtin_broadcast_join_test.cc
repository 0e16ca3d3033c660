// The join whose small side goes to all tasks gives what the shuffled one gives, for each type; and when it is chosen.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>

#include "jobs/builtin/join_broadcast.h"
#include "tests/jobs/builtin_run.h"

namespace mr::builtin {
namespace {

using testing::HasSubstr;
using Bytes = std::array<std::optional<uint64_t>, 2>;

constexpr uint64_t kMiB = 1 << 20;
// Types and the side that may be sent for them.
const std::pair<const char*, const char*> kTypesAndSides[] = {{"inner", "left"}, {"inner", "right"}, {"right", "left"},
                                                              {"left", "right"}, {"semi", "right"},  {"anti", "right"}};

struct Tables {
  std::string left, right;
  std::vector<std::string> args = {"--on", "id"};
};

// small: the side with a size that the plan knows; "": none, so that both are shuffled.
std::unique_ptr<LocalJob> JobOf(const Tables& tables, const std::string& small, const LocalOptions& shape) {
  auto job = std::make_unique<LocalJob>(Builtins(), shape);
  job->File("left.csv", tables.left).File("right.csv", tables.right);
  if (!small.empty()) job->InputBytes(small + ".csv", 1);
  return job;
}
std::vector<std::string> ArgsOf(const Tables& tables, const std::string& type) {
  std::vector<std::string> args = {"--left", "left.csv", "--right", "right.csv", "--type", type};
  args.insert(args.end(), tables.args.begin(), tables.args.end());
  return args;
}

// The same lines and counters for each type, side and shape.
void ExpectAsShuffled(const Tables& tables) {
  for (const auto& [type, small] : kTypesAndSides) {
    for (const LocalOptions& shape : Shapes()) {
      const LocalResult shuffled = JobOf(tables, "", shape)->Run("join", ArgsOf(tables, type));
      const LocalResult sent = JobOf(tables, small, shape)->Run("join", ArgsOf(tables, type));
      ASSERT_TRUE(shuffled.ok && sent.ok) << type << ": " << shuffled.error << sent.error;
      EXPECT_EQ(SortedLinesOf(sent.Output()), SortedLinesOf(shuffled.Output())) << type << ", small side " << small;
      EXPECT_EQ(sent.counters, shuffled.counters) << type;
      const std::string large = std::string(small) == "left" ? "right" : "left";
      EXPECT_TRUE(shuffled.tasks.contains(large)) << "it was to be shuffled";
      EXPECT_TRUE(!sent.tasks.contains(large) && sent.tasks.contains(small)) << type;
    }
  }
}

TEST(BroadcastJoinTest, MissingKeys) {
  ExpectAsShuffled({"id,name\n,a\n1,b\n-,c\n,d\n", "city,id\np,\nq,1\nr,-\ns,\n", {"--on", "id", "--null", "-"}});
}

TEST(BroadcastJoinTest, RepeatedKeysOfBothSides) {
  Tables tables{"id,name\n", "city,id\n"};
  for (int i = 0; i < 60; ++i) {
    tables.left += std::to_string(i * 7 % 23) + ",n" + std::to_string(i) + "\n";
    tables.right += "c" + std::to_string(i) + "," + std::to_string(i * 5 % 31) + "\n";
  }
  ExpectAsShuffled(tables);
}

TEST(BroadcastJoinTest, QuotesBlankLinesAndCarriageReturns) {
  ExpectAsShuffled(
      {"\xef\xbb\xbf"
       "key,\"a,b\"\r\n\"1,5\",\"say \"\"hi\"\"\"\r\n\r\n2,\r\n3,\"x\ny\"\r\n",
       "x,id,y\n,\"1,5\",z\n\n,\"4\n\",\"new\nline\"\n",
       {"--left-on", "key", "--right-on", "id"}});
}

TEST(BroadcastJoinTest, ColumnsOnlyOfTheKey) { ExpectAsShuffled({"id\n1\n2\n2\n", "id\n2\n3\n"}); }

TEST(BroadcastJoinTest, OtherSeparatorsAndNoHeaders) {
  ExpectAsShuffled(
      {"1;a\n2;\"b;c\"\n", "x;2\ny;3\n", {"--separator", ";", "--no-header", "--left-on", "1", "--right-on", "2"}});
}

TEST(BroadcastJoinTest, ASmallSideWithoutRowsOrWithoutPartners) {
  ExpectAsShuffled({"id,a\n", "id,b\n1,x\n2,y\n"});
  ExpectAsShuffled({"id,a\n1,x\n2,y\n", "id,b\n"});
  ExpectAsShuffled({"id,a\n1,x\n", "id,b\n2,y\n"});
}

TEST(BroadcastJoinTest, IsTheSameForAllSeeds) {
  Tables tables{"id,name\n", "id,city\n"};
  for (int i = 0; i < 30; ++i) {
    tables.left += std::to_string(i % 7) + ",n" + std::to_string(i) + "\n";
    tables.right += std::to_string(i % 11) + ",c" + std::to_string(i) + "\n";
  }
  const auto job = JobOf(tables, "right", {});
  const auto verdict = ExpectDeterministic(*job, "join", ArgsOf(tables, "left"));
  EXPECT_TRUE(verdict.ok) << verdict.text;
}

TEST(BroadcastJoinTest, WhatIsWrongIsToldAsOtherwise) {
  const auto error = [](const std::string& left, const std::string& right) {
    const Tables tables{left, right};
    return JobOf(tables, "right", Shapes()[1])->Run("join", ArgsOf(tables, "inner")).error;
  };
  EXPECT_THAT(error("id2,name\n1,a\n", "id,b\n1,2\n"),
              testing::AllOf(HasSubstr("left.csv has no column 'id'"), HasSubstr("did you mean 'id2'?")));
  EXPECT_THAT(error("id,a\n1,2\n", "no,b\n1,2\n"), HasSubstr("right.csv has no column 'id'"));
  EXPECT_THAT(error("id,a\n1,2\n", ""), HasSubstr("the right input is empty"));
  EXPECT_THAT(error("id,n\n1,a\n2,\"b\"c\n", "id,m\n1,2\n"), HasSubstr("left.csv, byte 9:"));
  EXPECT_THAT(error("id,n\n1,a\n", "id,m\n1,2\n3\n"), HasSubstr("right.csv, byte 9: the row has 1 fields"));
}

// The table is larger than its guessed size, like a compressed file with far too low a guess.
TEST(BroadcastJoinTest, ATableThatDoesNotFitIsJoinedByWayOfFiles) {
  Tables tables{"id,a\n", "id,b\n"};
  for (int i = 0; i < 3000; ++i) {
    tables.left += (i % 10 == 0 ? "often" : std::to_string(i % 700)) + ",l" + std::to_string(i) + "\n";
    if (i % 3 == 0)
      tables.right += (i % 100 == 0 ? "often" : std::to_string(i % 900)) + ",r" + std::to_string(i) + "\n";
  }
  const LocalOptions shape{.split_bytes = 20'000, .reduces = 2, .batch_records = 500, .block_bytes = 10'000};
  for (const auto& [type, small] : kTypesAndSides) {
    const LocalResult whole = JobOf(tables, small, shape)->Run("join", ArgsOf(tables, type));
    Tables narrow = tables;
    narrow.args.insert(narrow.args.end(), {"--left-bytes", "30000"});
    const LocalResult parts = JobOf(narrow, small, shape)->Run("join", ArgsOf(narrow, type));
    ASSERT_TRUE(whole.ok && parts.ok) << whole.error << parts.error;
    EXPECT_EQ(whole.counters.count({"join", "joined by way of files"}), 0u);
    EXPECT_EQ(parts.counters.at({"join", "joined by way of files"}), parts.tasks.at("join"));
    EXPECT_TRUE(SortedLinesOf(whole.Output()) == SortedLinesOf(parts.Output())) << type << ", small side " << small;
  }
}

BroadcastChoice Choose(JoinKind kind, const Bytes& bytes, std::optional<uint64_t> most = {}, uint64_t memory = 0) {
  return ChooseBroadcast(kind, bytes, {most, 512 * kMiB, memory});
}

TEST(ChooseBroadcastTest, TakesASideUpToTheLimitAndSaysWhy) {
  EXPECT_EQ(Choose(JoinKind::kInner, {1024 * kMiB, 32 * kMiB}).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {1024 * kMiB, 32 * kMiB + 1}).side, std::nullopt);
  EXPECT_EQ(Choose(JoinKind::kInner, {1024 * kMiB, 100}, 100).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {1024 * kMiB, 101}, 100).side, std::nullopt);
  EXPECT_EQ(Choose(JoinKind::kLeft, {1024 * kMiB, 1258291}).why,
            "right side 1.2 MiB <= 32 MiB: broadcast, no shuffle of the left side");
  EXPECT_EQ(Choose(JoinKind::kLeft, {1024 * kMiB, 101}, 100).why,
            "right side 101 B > 100 B of --broadcast-bytes: both sides are shuffled");
  EXPECT_EQ(Choose(JoinKind::kInner, {std::nullopt, 33 * kMiB}).why,
            "right side 33 MiB > 32 MiB, left side of unknown size: both sides are shuffled");
}

TEST(ChooseBroadcastTest, OfTwoThatMayBeSentTheSmaller) {
  EXPECT_EQ(Choose(JoinKind::kInner, {10, 11}).side, 0u);
  EXPECT_EQ(Choose(JoinKind::kInner, {11, 10}).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {std::nullopt, 10}).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {10, std::nullopt}).side, 0u);
}

TEST(ChooseBroadcastTest, OnlyASideWhoseRowsWithoutPartnersAreNotWanted) {
  const auto only = [](JoinKind kind, size_t side) {
    Bytes bytes{1024 * kMiB, 1024 * kMiB};
    bytes[side] = 1;
    EXPECT_EQ(Choose(kind, bytes).side, side);
    std::swap(bytes[0], bytes[1]);
    EXPECT_EQ(Choose(kind, bytes).side, std::nullopt);
  };
  only(JoinKind::kLeft, 1);
  only(JoinKind::kRight, 0);
  only(JoinKind::kSemi, 1);
  only(JoinKind::kAnti, 1);
  EXPECT_EQ(Choose(JoinKind::kFull, {1, 1}).side, std::nullopt);
  EXPECT_EQ(Choose(JoinKind::kInner, {1, 1}, 0).side, std::nullopt) << "--broadcast-bytes 0";
}

TEST(ChooseBroadcastTest, NoMoreThanAnEighthOfTheOtherSideUnlessAsked) {
  EXPECT_EQ(Choose(JoinKind::kInner, {80 * kMiB, 10 * kMiB}).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {80 * kMiB - 8, 10 * kMiB}).side, std::nullopt);
  EXPECT_THAT(Choose(JoinKind::kLeft, {40 * kMiB, 10 * kMiB}).why,
              HasSubstr("10 MiB > 5 MiB, an eighth of the left side:"));
  EXPECT_EQ(Choose(JoinKind::kInner, {40 * kMiB, 10 * kMiB}, 10 * kMiB).side, 1u);
  EXPECT_EQ(Choose(JoinKind::kInner, {2 * kMiB, 2 * kMiB}).side, 1u) << "one split";
}

TEST(ChooseBroadcastTest, ATableFitsInTheMemory) {
  EXPECT_EQ(Choose(JoinKind::kInner, {1024 * kMiB, kMiB}, {}, 24 * kMiB).side, 1u);
  EXPECT_THAT(Choose(JoinKind::kLeft, {1024 * kMiB, kMiB + 1}, {}, 24 * kMiB).why, HasSubstr("by --memory"));
  EXPECT_THAT(ChooseBroadcast(JoinKind::kLeft, {1024 * kMiB, kMiB}, {kMiB, 4 * kMiB, 0}).why,
              HasSubstr("512 KiB by --left-bytes"));
}

TEST(BroadcastJoinTest, ThePlanIsToldSizesAndMemory) {
  LocalJob job(Builtins());
  const std::vector<std::string> args = {"--left", "l", "--left", "l2", "--right", "r", "--on", "x"};
  EXPECT_THAT(job.PlanText("join", args), HasSubstr("of unknown size"));
  job.InputBytes("r", kMiB);
  EXPECT_THAT(job.PlanText("join", args), HasSubstr("right side 1 MiB <= 32 MiB"));
  job.InputBytes("l", 600'000);
  EXPECT_THAT(job.PlanText("join", args), HasSubstr("right side 1 MiB <= 32 MiB")) << "of l2 nothing is known";
  job.InputBytes("l2", 100'000);
  EXPECT_THAT(job.PlanText("join", args), HasSubstr("left side 684 KiB <= 2 MiB"));
  job.Memory(12 * kMiB);
  EXPECT_THAT(job.PlanText("join", args), HasSubstr("684 KiB > 512 KiB by --memory"));
}

}  // namespace
}  // namespace mr::builtin
