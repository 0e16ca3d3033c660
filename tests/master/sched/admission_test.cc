// Admission of deadlines: which slots are free for a job, and what takes the others.
#include "master/sched/policies/jockey/admission.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/master/sched/jockey_fixture.h"

namespace mr::sched {
namespace {

TEST_F(JockeyTest, AdmissionNeedsSlotsThatNobodyIsGuaranteed) {
  using Answer = Admission::Answer;
  const Prediction p = Even(100, 8, 10);
  Admission a = Admit(state(), p, 60, "q", now_);
  EXPECT_EQ(a.answer, Answer::kAdmitted);
  EXPECT_EQ(a.slots, 3u) << "1.2 * 100 / 3 = 40; 2 would take 60, and 57 are left without the dead zone";
  EXPECT_EQ(a.available, 10u);
  a = Admit(state(), p, 11, "q", now_);
  EXPECT_EQ(a.answer, Answer::kTooFewSlots);
  EXPECT_NEAR(a.earliest, 12 / .95, 1e-3);
  EXPECT_EQ(Admit(state(), p, 7, "q", now_).answer, Answer::kBelowCriticalPath);

  Submit(1, 20, Seconds(60));
  Foretell(1, 400);
  ASSERT_EQ(J(1).share, 9u);
  a = Admit(state(), p, 59, "q", now_);
  EXPECT_EQ(a.answer, Answer::kTaken);
  EXPECT_EQ(a.available, 1u);
  EXPECT_NEAR(a.earliest, 72 / .95, 1e-3) << "once the other has ended: 60 + 120 / 10";
  EXPECT_EQ(Admit(state(), p, 76, "q", now_).answer, Answer::kAdmitted);
}

// The table that is shown for each number of slots agrees with the answer of admission with that many free.
TEST_F(JockeyTest, SlotsMeetADeadlineExactlyWhereAdmissionWithSoManyTakesIt) {
  const Prediction p = Even(100, 8, 10);
  for (uint32_t n = 1; n <= 10; ++n) {
    Send(QueueSet{"q", 1, 0, n});
    const double earliest = EarliestWith(p, n);
    EXPECT_NEAR(earliest, 1.2 * 100 / n / .95, 1e-3);
    std::vector<double> deadlines = {earliest, std::nextafter(earliest, 0), std::nextafter(earliest, 1e9)};
    for (int i = 1; i < 400; ++i) deadlines.push_back(.37 * i);
    for (const double deadline : deadlines) {
      const bool taken = Admit(state(), p, deadline, "q", now_).answer == Admission::Answer::kAdmitted;
      EXPECT_EQ(taken, earliest <= deadline) << n << " slots, " << deadline << " s";
    }
  }
}

TEST_F(JockeyTest, ARunningJobIsAskedForWhatIsLeftOfItAndItsOwnGuaranteeIsFree) {
  using Answer = Admission::Answer;
  Submit(1, 10, Seconds(60));
  Foretell(1, 300);
  ASSERT_EQ(J(1).share, 7u);
  for (int i = 0; i < 5; ++i) Finish(1);
  now_ = now_ + Seconds(30);
  const auto asked = [&](double deadline) { return AdmitAgain(state(), J(1), deadline, now_); };
  EXPECT_EQ(asked(60).answer, Answer::kAdmitted);
  EXPECT_EQ(asked(60).available, 10u);
  EXPECT_NEAR(asked(60).earliest, (30 + 1.2 * 150 / 10) / .95, 1e-3);
  EXPECT_EQ(asked(60).slots, 7u) << "30 + 1.2 * 150 / 7 = 55.7 <= 57";
  EXPECT_EQ(asked(40).answer, Answer::kTooFewSlots);
  EXPECT_EQ(asked(30.4).answer, Answer::kBelowCriticalPath) << "half a second of its longest task is left";
  Submit(2, 20, Seconds(60));
  Foretell(2, 140);
  ASSERT_EQ(J(2).share, 3u);
  EXPECT_EQ(asked(55).answer, Answer::kTaken) << "30 + 1.2 * 150 / 9 = 50 <= 52.25";
  EXPECT_EQ(asked(55).available, 7u);
}

TEST_F(JockeyTest, SlotsOfAJobThatIsLateAreExpectedNowAndNotBefore) {
  Submit(1, 10, Seconds(60));
  Foretell(1, 600);
  ASSERT_EQ(J(1).share, 10u);
  now_ = now_ + Seconds(100);
  const Admission answer = Admit(state(), Even(100, 1, 10), 12, "q", now_);
  EXPECT_EQ(answer.available, 10u);
  EXPECT_NEAR(answer.earliest, 1.2 * 100 / 10 / .95, 1e-3);
  EXPECT_EQ(answer.answer, Admission::Answer::kTooFewSlots);
}

TEST_F(JockeyTest, AdmissionLeavesOtherQueuesTheirMinimum) {
  Send(QueueSet{"other", 1, 8, 0});
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "q", now_).answer, Admission::Answer::kAdmitted)
      << "nobody claims a min share of a queue without jobs";
  Submit(1, 20, {}, "other");
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "q", now_).answer, Admission::Answer::kTaken);
  EXPECT_EQ(Admit(state(), Even(100, 1, 10), 30, "other", now_).answer, Admission::Answer::kAdmitted);
}

TEST_F(JockeyTest, AdmissionNamesAllThatTakesSlotsAndTheLimitOfItsQueue) {
  Send(QueueSet{"other", 1, 2, 0});
  Send(QueueSet{"q", 1, 0, 3});
  Submit(2, 20, {}, "other");
  Submit(1, 20, Seconds(60));
  Foretell(1, 140);
  const uint32_t promised = J(1).share;
  ASSERT_GT(promised, 0u);
  const Admission a = Admit(state(), Even(100, 1, 10), 30, "q", now_);
  EXPECT_EQ(a.queue, "q");
  EXPECT_EQ(a.cluster, 10u);
  EXPECT_EQ(a.most, 3u);
  EXPECT_EQ(a.min_shares, (std::vector<std::pair<std::string, uint32_t>>{{"other", 2}}));
  EXPECT_EQ(a.promised, promised);
  EXPECT_EQ(a.available, std::min(a.most, 10 - 2 - promised));
  EXPECT_EQ(a.slots, 5u) << "1.2 * 100 / 5 = 24 <= 28.5";
  EXPECT_EQ(a.answer, Admission::Answer::kBeyondMaxShare) << "the cluster has five, and its queue may hold three";
}

}  // namespace
}  // namespace mr::sched
