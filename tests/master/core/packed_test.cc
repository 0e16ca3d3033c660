// Parts of jobs that the master keeps packed come out as they went in.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "common/base/fields.h"
#include "master/core/rare_text.h"
#include "master/core/stored_output.h"
#include "master/core/why_lines.h"

namespace mr::master {
namespace {

constexpr AttemptId kReader{{{3, 70'000}, 1, UINT32_MAX}, 1001};

WhyLine LineOf(What what, int64_t ns, std::vector<double> numbers, std::string text = "") {
  const sched::Reason reason{sched::ReasonCode::kAnyWorker, "delay_assignment", std::move(numbers)};
  return {Instant{ns}, what, kReader, {300}, reason, std::move(text)};
}

// Two lines are equal if all of these are.
std::string Said(const WhyLine& line) {
  return EncodeFields(line.at) + EncodeFields(line.what) + EncodeFields(line.attempt) + EncodeFields(line.worker) +
         EncodeFields(line.reason) + EncodeFields(line.text);
}

std::vector<std::string> Said(const std::vector<WhyLine>& lines) {
  std::vector<std::string> said;
  for (const WhyLine& line : lines) said.push_back(Said(line));
  return said;
}

TEST(WhyLinesTest, ComeOutAsTheyWentIn) {
  const std::vector<WhyLine> all = {
      LineOf(What::kLaunched, 0, {}),
      LineOf(What::kCommitted, INT64_MAX, {0, 1, 127, 128, 9007199254740991.0, 9007199254740992.0, 1e300}),
      LineOf(What::kSpared, -1, {-0.0, -5, .1, std::numeric_limits<double>::infinity(), std::nan("")}, "a\0b"),
      LineOf(What::kOutputLost, 1, {2}, std::string(1000, 'x')),
      WhyLine(),
  };
  WhyLines lines;
  EXPECT_TRUE(lines.All().empty());
  for (const WhyLine& line : all) lines.Add(line);
  EXPECT_EQ(lines.size(), all.size());
  EXPECT_EQ(Said(lines.All()), Said(all));
}

TEST(WhyLinesTest, AreFoundByKindAndByWorker) {
  std::vector<WhyLine> all;
  for (int64_t i = 0; i < 12; ++i) {
    all.push_back(LineOf(i % 2 == 0 ? What::kLaunched : What::kOutputLost, i, {static_cast<double>(i)}, "text"));
    all.back().worker = WorkerId{static_cast<uint32_t>(i % 3 + 1)};
  }
  WhyLines lines;
  for (const WhyLine& line : all) lines.Add(line);
  EXPECT_EQ(Said(lines.Of(What::kOutputLost)), Said({all[1], all[3], all[5], all[7], all[9], all[11]}));
  EXPECT_TRUE(lines.Of(What::kBound).empty());
  EXPECT_EQ(Said(lines.On(WorkerId{2})), Said({all[1], all[4], all[7], all[10]}));
  EXPECT_TRUE(lines.On(WorkerId{9}).empty());
}

TEST(WhyLinesTest, TheOldestGoFirst) {
  WhyLines lines;
  for (size_t i = 0; i < 3 * kWhyPerTask; ++i) lines.Add(LineOf(What::kLaunched, static_cast<int64_t>(i), {}));
  const std::vector<WhyLine> all = lines.All();
  ASSERT_EQ(all.size(), kWhyPerTask);
  EXPECT_EQ(lines.size(), kWhyPerTask);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i].at.ns, static_cast<int64_t>(2 * kWhyPerTask + i));
}

TEST(WhyLinesTest, BindsDoNotDisplaceTheLaunch) {
  WhyLines lines;
  lines.Add(LineOf(What::kLaunched, 7, {}));
  for (int64_t i = 0; i < 1000; ++i) lines.Add(LineOf(What::kBound, i, {}, "bound"));
  lines.Add(LineOf(What::kCommitted, 8, {}));
  const std::vector<WhyLine> all = lines.All();
  ASSERT_EQ(all.size(), kBoundPerTask + 2);
  EXPECT_EQ(all.front().what, What::kLaunched);
  EXPECT_EQ(all[1].at.ns, static_cast<int64_t>(1000 - kBoundPerTask));
  EXPECT_EQ(all.back().what, What::kCommitted);
  // Room for others pushes the launch out, then the binds, and these may come again.
  for (int64_t i = 0; i < static_cast<int64_t>(kWhyPerTask); ++i) lines.Add(LineOf(What::kRefused, i, {}));
  lines.Add(LineOf(What::kBound, 9, {}));
  ASSERT_EQ(lines.size(), kWhyPerTask);
  EXPECT_EQ(lines.All().back().what, What::kBound);
}

TEST(PackedReasonTest, ComesOutAsItWentIn) {
  for (const sched::Reason& reason : {sched::Reason(), sched::Reason{sched::ReasonCode::kLocalInput, "", {}},
                                      sched::Reason{sched::ReasonCode::kNone, "fair", {}},
                                      sched::Reason{sched::ReasonCode::kTooYoung, "late", {1.5, 60}}}) {
    const PackedReason packed(reason);
    EXPECT_EQ(packed.code(), reason.code);
    EXPECT_EQ(sched::Reason(packed), reason);
  }
}

TEST(RareTextTest, IsAText) {
  RareText text;
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(text, "");
  text = "why";
  RareText copy = text;
  text = "";
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(copy, "why");
  copy = std::move(text);
  EXPECT_TRUE(copy.empty());
}

TEST(StoredOutputTest, ComesOutAsItWentIn) {
  FinishedExtra full{3, {}, {}, {{"mr", "bad_records", -1}, {"", "", INT64_MIN}}, "visible", "why not"};
  full.rows = {{1, 2, {3, 4}, 5}, {UINT64_MAX, 0, {UINT64_MAX, 0}, UINT32_MAX}, {256, 65'536, {}, 0}};
  full.outputs = {{"part-r-00000", "/tmp/part", 7, 8, {9, 10}, {}}};
  FinishedExtra elsewhere{5000, {}, {}, {}, "", ""};
  for (const FinishedExtra& extra : {full, elsewhere, FinishedExtra()}) {
    const StoredOutput stored(extra);
    ASSERT_TRUE(stored);
    EXPECT_EQ(EncodeFields(stored.Unpack()), EncodeFields(extra));
    EXPECT_EQ(stored.partitions(), extra.partitions);
    EXPECT_EQ(stored.Rows(), extra.rows);
    for (size_t row = 0; row < stored.rows(); ++row) {
      EXPECT_EQ(stored.Row(row), extra.rows[row]);
      EXPECT_EQ(stored.BytesOf(row), extra.rows[row].bytes);
    }
    EXPECT_EQ(stored.Counters(), extra.counters);
    EXPECT_EQ(stored.Files(), extra.outputs);
  }
}

TEST(StoredOutputTest, CopiesShareItsBlock) {
  const StoredOutput none, one{FinishedExtra()}, copy = one, other{FinishedExtra()};
  EXPECT_FALSE(none);
  EXPECT_TRUE(none.Shares(StoredOutput()));
  EXPECT_TRUE(copy.Shares(one));
  EXPECT_FALSE(other.Shares(one));
}

}  // namespace
}  // namespace mr::master
