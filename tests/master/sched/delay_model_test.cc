// Delay assignment, Dolly (NSDI'13) section 4: which clone reads which replica when, and the best wait omega.
#include "master/sched/policies/dolly/delay_model.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/base/rng.h"
#include "master/sched/policies/dolly/dolly_rules.h"

namespace mr::sched {
namespace {

constexpr double kNoReplica = std::numeric_limits<double>::infinity();  // a replica that is never made; an endless wait

using Times = std::vector<double>;

void ExpectTimes(const Times& got, const Times& want, const std::string& what = "") {
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < got.size(); ++i) {
    // Not EXPECT_NEAR: the difference of two infinities is not a number.
    EXPECT_TRUE(got[i] == want[i] || std::abs(got[i] - want[i]) < 1e-9)
        << what << " reader " << i << ": " << got[i] << ", not " << want[i];
  }
}

TEST(ContentionTest, MeasuredThenByTheLastRatioThenEvenly) {
  const Contention half = Contention::Power(.5, 4);
  EXPECT_EQ(half.alpha, (Times{1, .5, 1.0 / 3, .25})) << "the floor of 1/m";
  EXPECT_DOUBLE_EQ(half.Share(10), .1);
  const Contention mild = Contention::Power(.9, 3);
  EXPECT_NEAR(mild.Share(3), .81, 1e-12);
  EXPECT_NEAR(mild.Share(6), std::pow(.9, 5), 1e-12);
  EXPECT_NEAR(mild.Share(100), .01, 1e-12);
  const Contention harsh = Contention::Power(.3, 3);
  EXPECT_DOUBLE_EQ(harsh.Share(2), .3) << "measured, so no floor";
  EXPECT_NEAR(harsh.Share(3), .2, 1e-12) << "two had .6 together, and so have three";
  EXPECT_DOUBLE_EQ((Contention{{1, .8, .4}}.Share(4)), .25);
  EXPECT_DOUBLE_EQ((Contention{}.Share(4)), .25) << "nothing measured";
  for (const double alpha : {.1, .3, .5, .7, .95, 1.0}) {
    for (uint32_t m = 1; m < 40; ++m) {
      const Contention c = Contention::Power(alpha, 5);
      EXPECT_LE(c.Share(m + 1), c.Share(m)) << alpha << " " << m;
      EXPECT_GE((m + 1) * c.Share(m + 1), std::min(1.0, 2 * alpha) - 1e-12) << alpha << " " << m;
      EXPECT_NEAR(c.Share(m), Contention::Power(alpha, 60).Share(m), 1e-12) << "however far it was written out";
    }
  }
}

// T_E and T_C of two clones, over all that they depend on.
TEST(ReadEndsTest, TwoClonesReadAsInTheClosedForms) {
  for (const double alone : {.5, 1.0, 4.0, 8.0}) {
    for (const double alpha : {.2, .3, .5, .8, 1.0}) {
      for (double omega = 0; omega <= 12; omega += .25) {
        for (const double gap : {.1, .5, 1.3, 3.0, 6.0, 9.0, kNoReplica}) {
          const double shared = omega + (alone - omega) / alpha;
          const Times exclusive = {alone, alone + std::min(alone, gap)}, contended = {shared, omega + shared};
          const Times sequential = {alone, 2 * alone};
          ExpectTimes(ReadEnds({0, gap}, 2, alone, omega, Contention::Power(alpha, 2)),
                      gap <= omega     ? exclusive
                      : omega >= alone ? sequential
                                       : contended,
                      "r/B " + std::to_string(alone) + " alpha " + std::to_string(alpha) + " omega " +
                          std::to_string(omega) + " gap " + std::to_string(gap));
        }
      }
    }
  }
}

TEST(ReadEndsTest, NoWaitAtAllIsContention) {
  const Contention contention = Contention::Power(.8, 4);
  for (const size_t readers : {1u, 2u, 3u, 4u}) {
    const double all = 3 / contention.Share(static_cast<uint32_t>(readers));
    ExpectTimes(ReadEnds({0, .1, 1, 2}, readers, 3, 0, contention), Times(readers, all));
  }
}

TEST(ReadEndsTest, AWaitWithoutEndIsAvoidance) {
  const Contention contention = Contention::Power(.8, 4);
  ExpectTimes(ReadEnds({0, 1, 7, kNoReplica}, 4, 3, kNoReplica, contention), {3, 4, 10, kNoReplica});
  ExpectTimes(ReadEnds({0, 1}, 3, 3, kNoReplica, contention), {3, 4, kNoReplica});
  // With a finite omega a reader takes a replica again as soon as it is free, however long omega is.
  ExpectTimes(ReadEnds({0, 1, 7, kNoReplica}, 4, 3, 1e6, contention), {3, 4, 6, 7});
}

TEST(ReadEndsTest, EachHasAReplicaWhereAllAreInTime) {
  const Contention contention = Contention::Power(.5, 4);
  ExpectTimes(ReadEnds({0, 1, 2, 2.5}, 4, 10, 2.5, contention), {10, 11, 12, 12.5});
  ExpectTimes(ReadEnds({0, 0, 0}, 3, 10, 0, contention), {10, 10, 10}, "finished at once");
  ExpectTimes(ReadEnds({0, 1, 2}, 1, 10, 5, contention), {10}, "more replicas than readers");
}

// Replicas at 0 and 1, omega 2, and the other two never. The third reader joins the first replica, the fourth the
// second.
TEST(ReadEndsTest, LatecomersJoinTheReplicaWithTheFewestReaders) {
  ExpectTimes(ReadEnds({0, 1, kNoReplica, kNoReplica}, 4, 4, 2, Contention::Power(.5, 2)), {6, 8, 8, 9},
              "alone then shared: first 2, 4 and second 1, 6; shared then alone: third 4, 2 and fourth 6, 1");
  ExpectTimes(ReadEnds({0, 1, kNoReplica}, 3, 4, 2, Contention::Power(.5, 2)), {6, 5, 8});
}

// One replica, three readers: a third of B each, then a half.
TEST(ReadEndsTest, RatesRiseAsReadersLeave) {
  ExpectTimes(ReadEnds({0, kNoReplica, kNoReplica}, 3, 3, 1, Contention::Power(.5, 3)), {7, 9, 9},
              "at 1, 2 is left of the first; a third each until 7; then 1 of the others, by halves");
}

// A reader without a replica takes one whose reader has ended, before omega is over.
TEST(ReadEndsTest, AFreeReplicaIsTakenAtOnce) {
  ExpectTimes(ReadEnds({0, 5, kNoReplica}, 3, 2, 4, Contention::Power(.5, 3)), {2, 4, 6});
  ExpectTimes(ReadEnds({0, 3, 3}, 3, 2, 4, Contention::Power(.5, 3)), {2, 4, 5}, "reader 2 needs no third replica");
}

TEST(ReadEndsTest, NothingToReadTakesNoTimeAndNoReplicaForEver) {
  ExpectTimes(ReadEnds({0, 1}, 3, 0, 1, Contention{}), {0, 0, 0});
  ExpectTimes(ReadEnds({kNoReplica, kNoReplica}, 2, 1, 3, Contention{}), {kNoReplica, kNoReplica});
  ExpectTimes(ReadEnds({}, 2, 1, 3, Contention{}), {kNoReplica, kNoReplica});
  ExpectTimes(ReadEnds({0}, 0, 1, 3, Contention{}), {});
}

// Work is neither lost nor made. With evenly shared bandwidth one replica has served all readers by readers * r/B, and
// no reader ends before r/B.
TEST(ReadEndsTest, NobodyReadsFasterThanAReplicaCanGive) {
  Rng rng(7);
  for (int round = 0; round < 2000; ++round) {
    const size_t replicas = 1 + rng.Below(5), readers = 1 + rng.Below(6);
    Times offsets(replicas, 0);
    for (size_t k = 1; k < replicas; ++k)
      offsets[k] = offsets[k - 1] + (rng.Below(6) == 0 ? kNoReplica : 2 * rng.Uniform());
    const double alone = .1 + 4 * rng.Uniform(), omega = 5 * rng.Uniform();
    const Times ends = ReadEnds(offsets, readers, alone, omega, Contention::Power(.5, 6));
    double used = 0, last = 0;
    for (const double end : ends) {
      EXPECT_GE(end, alone - 1e-9);
      last = std::max(last, end);
    }
    for (const double at : offsets) used += at <= omega ? std::max(0.0, last - at) : 0;
    EXPECT_GE(used, static_cast<double>(readers) * alone - 1e-6);
    EXPECT_LE(last, static_cast<double>(readers) * alone + 1e-6);
  }
}

TEST(TaskSecondsTest, TheFirstCloneThatHasReadAndComputed) {
  const Contention contention = Contention::Power(.5, 2);
  DelaySample sample{{{0, 1}, {0, 3}}, 4, {5, 2}, {}};
  EXPECT_DOUBLE_EQ(TaskSeconds(sample, 3, contention, Fetching::kParallel), 9) << "5 after 4, 2 after 7";
  EXPECT_DOUBLE_EQ(TaskSeconds(sample, 3, contention, Fetching::kSerial), 13) << "5 after 8, 2 after 12";
  sample.first = {0, 1};
  EXPECT_DOUBLE_EQ(TaskSeconds(sample, 3, contention, Fetching::kParallel), 7) << "5 after 7, 2 after 5";
  sample.compute = {5, kNoReplica};
  EXPECT_DOUBLE_EQ(TaskSeconds(sample, 3, contention, Fetching::kParallel), 12);
}

// Two phases of ten tasks, where a straggler never ends. CAC and CC are the ends of omega, and what they lose is
// what the formulas say, with the index as corrected.
TEST(TaskSecondsTest, TheEndsOfOmegaLoseAsManyJobsAsTheFormulasSay) {
  constexpr int kJobs = 4000;
  constexpr uint32_t kTasks = 10, kClones = 2;
  constexpr double p = .05;
  Rng rng(3);
  int cac = 0, cc = 0;
  for (int job = 0; job < kJobs; ++job) {
    DelaySample sample{std::vector<Times>(kTasks), 1, Times(kClones), {}};
    for (Times& offsets : sample.offsets) {
      uint32_t finished = 0;
      for (uint32_t i = 0; i < kClones; ++i) finished += rng.Uniform() >= p;
      for (uint32_t i = 0; i < kClones; ++i) offsets.push_back(i < finished ? i * .5 : kNoReplica);
    }
    bool avoided = false, contended = false;
    for (uint32_t task = 0; task < kTasks; ++task) {
      for (double& seconds : sample.compute) seconds = rng.Uniform() < p ? kNoReplica : 5;
      const Contention contention = Contention::Power(.5, kClones);
      avoided |= TaskSeconds(sample, kNoReplica, contention, Fetching::kParallel) == kNoReplica;
      contended |= TaskSeconds(sample, 0, contention, Fetching::kParallel) == kNoReplica;
    }
    cac += avoided;
    cc += contended;
  }
  // Three standard deviations: .0213 and .0102.
  EXPECT_NEAR(static_cast<double>(cac) / kJobs, CacStraggles(p, kTasks, kClones), .0213);
  EXPECT_NEAR(static_cast<double>(cc) / kJobs, CcStraggles(p, kTasks, kClones), .0102);
}

// A toy model, not from the paper: 2 clones that compute for 5 s read 10 upstream tasks at once. A second replica is a
// straggler with p = .1, which here means never finished. Otherwise its gap is uniform on 0-3 s. The first clone to ask
// is either of them, or always the same.
enum class Asks { kEither, kSame };

std::vector<DelaySample> Toy(double read_seconds, Asks asks) {
  Rng rng(5);
  std::vector<DelaySample> samples(200);
  for (DelaySample& s : samples) {
    s.read_seconds = read_seconds;
    s.compute = {5, 5};
    for (int u = 0; u < 10; ++u) {
      const double gap = 3 * rng.Uniform();
      s.offsets.push_back({0, rng.Uniform() < .1 ? kNoReplica : gap});
      if (asks == Asks::kEither) s.first.push_back(static_cast<uint32_t>(rng.Below(2)));
    }
  }
  return samples;
}

double MeanSeconds(const std::vector<DelaySample>& samples, double omega, double alpha) {
  double sum = 0;
  for (const DelaySample& s : samples) sum += TaskSeconds(s, omega, Contention::Power(alpha, 2), Fetching::kParallel);
  return sum / static_cast<double>(samples.size());
}

double OmegaOf(const std::vector<DelaySample>& samples, double alpha, Fetching fetching = Fetching::kParallel) {
  // 15.75 s: steps of exactly 1/4 s.
  return BestOmega(samples, Contention::Power(alpha, 2), fetching, 15.75);
}

TEST(BestOmegaTest, WhereContentionIsHarshTheToyWaitsUntilTheFirstReaderIsDone) {
  EXPECT_DOUBLE_EQ(OmegaOf(Toy(4, Asks::kEither), .3), 4);
  // With alpha = 1/2 T_C(B) is the same for each omega, and what is left to gain is seen in few of the samples: the
  // mean is flat before one read (a thousand samples have 4 and 8).
  for (const double alone : {4.0, 8.0}) {
    const std::vector<DelaySample> toy = Toy(alone, Asks::kEither);
    const double best = OmegaOf(toy, .5);
    EXPECT_NEAR(best, alone, 1);
    EXPECT_NEAR(MeanSeconds(toy, alone, .5) / MeanSeconds(toy, best, .5), 1, 1e-4);
  }
}

// Sharing at once costs a reader r/(alpha B) - r/B: 1 s for r/B = 4, 2 s for r/B = 8. These were computed as the best
// waits elsewhere. Here 0 is best, and they cost 7 % more: for alpha > 1/2 T_C(B) rises with omega. Either clone is the
// second to ask for some of ten outputs, so that a wait pays only if it outlasts most gaps.
TEST(BestOmegaTest, WhereContentionIsMildTheToyWaitsNoLongerThanSharingCosts) {
  for (const double alone : {4.0, 8.0}) {
    const std::vector<DelaySample> toy = Toy(alone, Asks::kEither);
    const double best = OmegaOf(toy, .8), sharing = alone / 4;
    EXPECT_LE(best, sharing);
    EXPECT_LE(MeanSeconds(toy, sharing, .8), 1.08 * MeanSeconds(toy, best, .8));
  }
}

TEST(BestOmegaTest, ItShrinksAsContentionGetsMilder) {
  const std::vector<DelaySample> toy = Toy(8, Asks::kEither);
  double last = 8;
  for (const double alpha : {.4, .5, .6, .7, .8, .9}) {
    const double omega = OmegaOf(toy, alpha);
    EXPECT_LE(omega, last) << alpha;
    last = omega;
  }
  EXPECT_GT(OmegaOf(toy, .6), OmegaOf(toy, .7)) << "by degrees";
  EXPECT_GT(OmegaOf(toy, .7), OmegaOf(toy, .8));
}

TEST(BestOmegaTest, ItSaturatesAtOneRead) {
  for (const Asks asks : {Asks::kEither, Asks::kSame}) {
    for (const double alone : {4.0, 8.0}) {
      const std::vector<DelaySample> toy = Toy(alone, asks);
      const double there = MeanSeconds(toy, alone, .3);
      EXPECT_GT(MeanSeconds(toy, alone - .5, .3), there);
      for (const double longer : {alone + .5, 2 * alone, 1e6}) EXPECT_DOUBLE_EQ(MeanSeconds(toy, longer, .3), there);
    }
  }
}

TEST(BestOmegaTest, TheEndsOfOmegaAreCcAndCac) {
  for (const double alpha : {.3, .8}) {
    EXPECT_NEAR(MeanSeconds(Toy(4, Asks::kEither), 0, alpha), 4 / alpha + 5, 1e-9) << "all share the first replica";
    EXPECT_NEAR(MeanSeconds(Toy(4, Asks::kSame), kNoReplica, alpha), 4 + 5, 1e-9) << "one clone has all first replicas";
  }
  EXPECT_EQ(MeanSeconds(Toy(4, Asks::kEither), kNoReplica, .8), kNoReplica) << "stragglers on both sides of some task";
}

// A clone that is always fed first gains by any wait of the other, and the task ends with it.
TEST(BestOmegaTest, OneOrderOfAskingBeatsManyAndMakesWaitingBest) {
  for (const double alone : {4.0, 8.0}) {
    for (const double alpha : {.3, .5, .8, .95}) {
      const std::vector<DelaySample> either = Toy(alone, Asks::kEither), same = Toy(alone, Asks::kSame);
      EXPECT_DOUBLE_EQ(OmegaOf(same, alpha), alone);
      EXPECT_LT(MeanSeconds(same, alone, alpha), MeanSeconds(either, OmegaOf(either, alpha), alpha));
    }
  }
}

TEST(BestOmegaTest, TheSmallestOfEqualsAndNothingWithoutSamples) {
  EXPECT_EQ(OmegaOf(Toy(4, Asks::kSame), 1), 0) << "sharing costs nothing";
  EXPECT_EQ(OmegaOf({}, .3), 0);
  EXPECT_EQ(BestOmega(Toy(4, Asks::kEither), Contention::Power(.3, 2), Fetching::kParallel, 0), 0);
  EXPECT_EQ(OmegaOf(Toy(4, Asks::kEither), .3, Fetching::kSerial), 4);
}

TEST(BestOmegaTest, ATaskOfWhichNoCloneEndsSaysNothing) {
  std::vector<DelaySample> samples = Toy(4, Asks::kEither);
  DelaySample never = samples[0];
  never.compute = {kNoReplica, kNoReplica};
  samples.push_back(never);
  EXPECT_DOUBLE_EQ(OmegaOf(samples, .3), 4);
}

}  // namespace
}  // namespace mr::sched
