#include "worker/daemon/progress.h"

#include <gtest/gtest.h>

namespace mr::worker {
namespace {

ProgressFrame Frame(uint32_t task, uint64_t taken, uint64_t total = 1000, uint8_t phase = 0) {
  ProgressFrame frame;
  frame.attempt = {{{1, 1}, 0, task}, 1};
  frame.progress.phase = phase;
  frame.progress.taken_bytes = taken;
  frame.progress.total_bytes = total;
  return frame;
}

constexpr Instant At(int64_t ms) { return Instant{} + Millis(1'000'000 + ms); }

TEST(ProgressTest, AStepOfFivePercentIsSentAndLessIsNot) {
  ProgressGate gate;
  EXPECT_TRUE(gate.Due(At(0), {Frame(0, 0)}).empty());
  EXPECT_TRUE(gate.Due(At(20), {Frame(0, 49)}).empty());
  EXPECT_EQ(gate.Due(At(40), {Frame(0, 50)}).size(), 1u);
  EXPECT_TRUE(gate.Due(At(60), {Frame(0, 99)}).empty());
  EXPECT_EQ(gate.Due(At(80), {Frame(0, 100)}).size(), 1u);
}

TEST(ProgressTest, SmallStepsAreSentAfterASecondAndStandstillNever) {
  ProgressGate gate;
  gate.Due(At(0), {Frame(0, 0)});
  EXPECT_TRUE(gate.Due(At(999), {Frame(0, 1)}).empty());
  EXPECT_EQ(gate.Due(At(1000), {Frame(0, 1)}).size(), 1u);
  EXPECT_TRUE(gate.Due(At(9000), {Frame(0, 1)}).empty());
}

TEST(ProgressTest, OneThatIsDueTakesTheOthersThatMovedAlong) {
  ProgressGate gate;
  gate.Due(At(0), {Frame(0, 0), Frame(1, 0), Frame(2, 0)});
  const auto sent = gate.Due(At(20), {Frame(0, 500), Frame(1, 3), Frame(2, 0)});
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(sent[1].attempt.task.task, 1u);
}

TEST(ProgressTest, FramesKeepTwentyMillisecondsApart) {
  ProgressGate gate;
  EXPECT_EQ(gate.Due(At(0), {Frame(0, 500)}).size(), 1u);
  EXPECT_TRUE(gate.Due(At(19), {Frame(0, 900)}).empty());
  EXPECT_EQ(gate.Due(At(20), {Frame(0, 900)}).size(), 1u);
}

TEST(ProgressTest, AnotherPhaseIsNewsAtOnce) {
  ProgressGate gate;
  gate.Due(At(0), {Frame(0, 0)});
  EXPECT_EQ(gate.Due(At(20), {Frame(0, 0, 1000, 1)}).size(), 1u);
}

TEST(ProgressTest, ThatTheLastInputIsHereIsNewsAtOnce) {
  ProgressGate gate;
  ProgressFrame frame = Frame(0, 0);
  gate.Due(At(0), {frame});
  frame.inputs_done = true;
  EXPECT_EQ(gate.Due(At(20), {frame}).size(), 1u);
  EXPECT_TRUE(gate.Due(At(40), {frame}).empty()) << "once";
}

TaskProgress Shuffle(std::vector<SliceProgress> slices, TaskProgress progress = {.phase = kShufflePhase}) {
  CountFetched(slices, &progress);
  return progress;
}

// Three of six outputs are known. 900 of their 3,000 bytes have arrived.
TEST(ProgressTest, WhatArrivesIsTheProgressOfAnAttemptThatReadsOutputs) {
  const TaskProgress progress = Shuffle({{{900, 3000, 3}, 6}});
  EXPECT_EQ(progress.taken_bytes, 900u);
  EXPECT_EQ(progress.total_bytes, 6000u);
}

TEST(ProgressTest, EachSliceIsEstimatedFromItsOwnSegments) {
  const TaskProgress progress = Shuffle({{{10, 10, 1}, 1}, {}, {{900, 3000, 3}, 6}});
  EXPECT_EQ(progress.taken_bytes, 910u);
  EXPECT_EQ(progress.total_bytes, 6010u);
  EXPECT_EQ(Shuffle({{{10, 10, 1}, 1}, {{}, 6}}).total_bytes, 0u) << "the other slice can be of any size";
}

TEST(ProgressTest, TheEstimateIsNoLessThanWhatIsKnownAndHasABound) {
  EXPECT_EQ(Shuffle({{{900, 3000, 3}, 2}}).total_bytes, 3000u);
  EXPECT_EQ(Shuffle({{{0, 10'000'000'000, 1}, 4'000'000'000}}).total_bytes, 1'000'000'000'000'000'000u);
}

TEST(ProgressTest, WhatArrivesCountsInTheShuffleAlone) {
  const std::vector<SliceProgress> slices = {{{900, 3000, 3}, 6}};
  EXPECT_EQ(Shuffle(slices, {.phase = 0}).total_bytes, 0u);
  EXPECT_EQ(Shuffle(slices, {.phase = 3}).total_bytes, 0u);
  EXPECT_EQ(Shuffle(slices, {.phase = kShufflePhase, .taken_bytes = 20, .total_bytes = 20}).taken_bytes, 20u);
  EXPECT_EQ(Shuffle(slices, {.phase = kShufflePhase, .taken_bytes = 20}).taken_bytes, 900u) << "of a broadcast";
}

TEST(ProgressTest, AFallIsSentIfItIsLarge) {
  ProgressGate gate;
  gate.Due(At(0), {Frame(0, 500)});
  EXPECT_TRUE(gate.Due(At(20), {Frame(0, 460)}).empty());
  EXPECT_EQ(gate.Due(At(40), {Frame(0, 450)}).size(), 1u);
}

}  // namespace
}  // namespace mr::worker
