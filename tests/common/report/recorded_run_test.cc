// The record of a run: what is written is read, and bytes that somebody damaged or made up are refused.
#include "common/report/recorded_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "common/base/digest.h"
#include "common/base/rng.h"
#include "common/report/report.h"
#include "tests/common/report/run_builder.h"

namespace mr::report {
namespace {

using ::testing::HasSubstr;

RecordedRun Recorded() {
  RunBuilder builder;
  builder.Workers(2, 2).Stage("map", {}).Stage("sum", {0});
  builder.Add({.stage = 0, .task = 0, .launched = 1, .started = 2, .ended = 40});
  builder.Add({.stage = 0, .task = 1, .worker = "w2", .launched = 1, .started = 2, .ended = 20, .state = "failed"});
  builder.Add({.stage = 1, .task = 0, .launched = 40, .started = 41, .inputs = 50, .ended = 60});
  RecordedRun recorded{builder.Elapsed(100).run(), {"a line", ""}, {}, "paceline-history\t3\n"};
  JobRun& run = recorded.run;
  run.job.counters = {{"my", "seen", -3}};
  run.job.error = "an error\nof two lines";
  run.job.output_uri = "file:///out";
  run.decisions = {{7, "launched", run.attempts[0].id, "w1", "it was its turn"}, {9, "job committed", "", "", ""}};
  run.spec.labels = {{"team", "blue"}};
  run.taken_unix_ms = 12;
  run.release = "0.2.0";
  run.policies = "fair";
  RecordedLaunch& launch = recorded.launches.emplace_back();
  launch.stage.id = {run.job.id, 1};
  launch.stage.spec.name = "sum";
  launch.stage.env = {{"SECRET", "value"}};
  launch.launch.attempt = {{run.job.id, 1, 0}, 1};
  launch.launch.slices = {{0, 2, 3, 0, 4}};
  return recorded;
}

std::string Encoded(const RecordedRun& recorded) {
  auto bytes = EncodeRun(recorded);
  EXPECT_TRUE(bytes.ok()) << bytes.status().ToString();
  return bytes.ok() ? *bytes : "";
}

// The offsets of the head's fields (recorded_run.h).
constexpr size_t kVersionAt = 8, kRawBytesAt = 16, kChecksumAt = 32, kHeadBytes = 40;

// Makes the checksum right again, as somebody does who changes bytes on purpose.
std::string Resealed(std::string bytes) {
  const std::string_view all = bytes;
  const uint64_t sum = Hash64(all.substr(kHeadBytes), Hash64(all.substr(0, kChecksumAt)));
  std::memcpy(bytes.data() + kChecksumAt, &sum, sizeof sum);
  return bytes;
}

TEST(RecordedRunTest, WhatIsWrittenIsRead) {
  const RecordedRun before = Recorded();
  const auto after = DecodeRun(Encoded(before), "local_0001");
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after->run.job, before.run.job);
  EXPECT_EQ(after->run.spec, before.run.spec);
  EXPECT_EQ(after->run.tasks, before.run.tasks);
  EXPECT_EQ(after->run.attempts, before.run.attempts);
  EXPECT_EQ(after->run.decisions, before.run.decisions);
  EXPECT_EQ(after->run.workers, before.run.workers);
  EXPECT_EQ(after->run.taken_unix_ms, 12u);
  EXPECT_EQ(after->run.release, "0.2.0");
  EXPECT_EQ(after->run.policies, "fair");
  EXPECT_EQ(after->why, before.why);
  EXPECT_EQ(after->history, before.history);
  ASSERT_EQ(after->launches.size(), 1u);
  EXPECT_EQ(after->launches[0].launch.attempt, before.launches[0].launch.attempt);
  EXPECT_EQ(after->launches[0].launch.slices, before.launches[0].launch.slices);
  EXPECT_EQ(after->launches[0].stage.spec.name, "sum");
  ASSERT_EQ(after->launches[0].stage.env.size(), 1u);
  EXPECT_EQ(after->launches[0].stage.env[0].value, "") << "it may be a secret";
  EXPECT_TRUE(after->run.gone) << "no command can ask its master";
  RecordedRun live = before;
  live.run.gone = true;
  EXPECT_EQ(ReportJson(Report(after->run)), ReportJson(Report(live.run))) << "one report from both";
}

// The cluster of a recorded run has ended, and with it what still ran when the run was read.
TEST(RecordedRunTest, NothingRunsInARecord) {
  RecordedRun recorded = Recorded();
  RunBuilder builder;
  builder.Workers(1, 2).Stage("map", {}).Elapsed(100);
  builder.Add({.task = 0, .launched = 10, .started = 12, .state = "running", .progress = 0.5});
  builder.Add({.task = 1, .launched = 20, .started = 22, .state = "waiting"});
  recorded.run = builder.run();
  recorded.run.job.state = JobState::kFailed;
  recorded.run.job.stages[0].running = recorded.run.job.stages[0].waiting = 1;
  recorded.run.tasks[0].state = "running";
  recorded.run.kept_logs = "/tmp/logs";
  const auto after = DecodeRun(Encoded(recorded), "local_0001");
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after->run.job.stages[0].running + after->run.job.stages[0].waiting, 0u);
  EXPECT_EQ(after->run.tasks[0].state, "pending");
  for (const AttemptStatus& attempt : after->run.attempts) {
    EXPECT_EQ(attempt.state, "killed");
    EXPECT_EQ(attempt.failure, "killed");
    EXPECT_EQ(attempt.ended_us, 100'000u);
    EXPECT_EQ(attempt.ran_us, attempt.ended_us - attempt.launched_us);
  }
  EXPECT_EQ(after->run.kept_logs, "/tmp/logs");
}

TEST(RecordedRunTest, AJobWithoutCountersHasNone) {
  RecordedRun recorded = Recorded();
  recorded.run.job.counters = std::nullopt;
  EXPECT_EQ(DecodeRun(Encoded(recorded), "it")->run.job.counters, std::nullopt);
}

TEST(RecordedRunTest, ValuesOfTheEnvironmentAreNotKept) {
  RecordedRun recorded = Recorded();
  recorded.run.spec.env = {{"TOKEN", "secret-of-mine"}};
  const auto after = DecodeRun(Encoded(recorded), "it");
  ASSERT_TRUE(after.ok());
  ASSERT_EQ(after->run.spec.env.size(), 1u);
  EXPECT_EQ(after->run.spec.env[0], (KeyValue{"TOKEN", ""}));
}

TEST(RecordedRunTest, TenMegabytesOfCountersAreKept) {
  RecordedRun recorded = Recorded();
  recorded.run.job.counters.emplace();
  for (int i = 0; i < 100'000; ++i) {
    recorded.run.job.counters->push_back(
        {"group",
         "a counter with a name of about one hundred bytes, whose number in the job is the number " + std::to_string(i),
         i});
  }
  const std::string bytes = Encoded(recorded);
  const auto after = DecodeRun(bytes, "it");
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(after->run.job.counters, recorded.run.job.counters);
  EXPECT_LT(bytes.size(), 2u << 20) << "compressed";
}

TEST(RecordedRunTest, AnotherVersionIsNamed) {
  std::string bytes = Encoded(Recorded());
  bytes[kVersionAt] = 7;
  const Status status = DecodeRun(Resealed(bytes), "local_0001").status();
  EXPECT_EQ(status.code(), Code::kRejected);
  EXPECT_THAT(status.message(), HasSubstr("local_0001 has format 7, and this release reads format 1"));
}

TEST(RecordedRunTest, ACutRecordIsRefusedInASentence) {
  const std::string bytes = Encoded(Recorded());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Status status = DecodeRun(std::string_view(bytes).substr(0, size), "local_0001").status();
    ASSERT_EQ(status.code(), Code::kCorrupted) << size;
    ASSERT_THAT(status.message(), HasSubstr(size < kHeadBytes ? "only its beginning" : "is cut short")) << size;
  }
  EXPECT_EQ(DecodeRun(bytes + "x", "it").status().code(), Code::kCorrupted);
}

TEST(RecordedRunTest, AFlippedBitIsFound) {
  const std::string bytes = Encoded(Recorded());
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    const Status status = DecodeRun(flipped, "it").status();
    ASSERT_FALSE(status.ok()) << at;
    ASSERT_EQ(status.message().find('\n'), std::string::npos) << status.message();
  }
}

// With a right checksum the bytes reach zstd and Cap'n Proto. They are refused or read, without any other effect.
TEST(RecordedRunTest, BytesThatSomebodyMadeUpDoNoHarm) {
  RecordedRun recorded = Recorded();
  Rng rng(1);
  for (int i = 0; i < 300; ++i) recorded.run.job.warnings.push_back(std::to_string(rng.Next()));
  const std::string bytes = Encoded(recorded);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = bytes;
    for (int n = 0; n < 1 + i % 4; ++n) {
      changed[kHeadBytes + rng.Next() % (bytes.size() - kHeadBytes)] = static_cast<char>(rng.Next());
    }
    const auto read = DecodeRun(Resealed(changed), "it");
    if (read.ok()) (void)ReportJson(Report(read->run));
  }
  std::string bomb = bytes;
  const uint64_t claimed = kMostRecordBytes + 1;
  std::memcpy(bomb.data() + kRawBytesAt, &claimed, sizeof claimed);
  EXPECT_THAT(DecodeRun(Resealed(bomb), "it").status().message(), HasSubstr("above the limit"));
}

TEST(RecordedRunTest, ARecordThatIsTooLargeIsRefused) {
  RecordedRun recorded = Recorded();
  recorded.history.assign(kMostRecordBytes, 'x');
  EXPECT_EQ(EncodeRun(recorded).status().code(), Code::kRejected);
}

}  // namespace
}  // namespace mr::report
