#include "worker/daemon/attempt.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/base/rng.h"

namespace mr::worker {
namespace {

constexpr WorkerId kSelf{7};

ReplicaPtr MakeReplica(uint32_t task, uint32_t attempt, uint32_t worker, uint64_t content = 1,
                       uint32_t generation = 1) {
  ReplicaLocation replica;
  replica.output = {{{1, 1}, 0, task}, generation};
  replica.attempt = attempt;
  replica.worker = {worker};
  replica.incarnation = 100 + worker;
  replica.content = {content, content};
  return std::make_shared<const ReplicaLocation>(replica);
}

std::vector<Read> Reads(uint32_t tasks) {
  std::vector<Read> reads;
  for (uint32_t t = 0; t < tasks; ++t) reads.push_back({0, 0, t, 3, 4});
  return reads;
}

std::string Names(const std::vector<AttemptAction>& actions) {
  struct Namer {
    std::string operator()(const action::Prepare&) { return "prepare"; }
    std::string operator()(const action::StartChild&) { return "start"; }
    std::string operator()(const action::Fetch& a) {
      return "fetch " + std::to_string(a.read) + "@" + std::to_string(a.from->worker.value);
    }
    std::string operator()(const action::RetryLater& a) { return "later " + std::to_string(a.delay.millis()); }
    std::string operator()(const action::StopFetching&) { return "nofetch"; }
    std::string operator()(const action::KillChild&) { return "killchild"; }
    std::string operator()(const action::StoreOutput&) { return "store"; }
    std::string operator()(const action::KeepOutput&) { return "keep"; }
    std::string operator()(const action::DropOutput&) { return "drop"; }
    std::string operator()(const action::FreeSlot&) { return "free"; }
    std::string operator()(const action::ReportStarted&) { return "started"; }
    std::string operator()(const action::ReportFetchDone&) { return "fetched"; }
    std::string operator()(const action::ReportFetchFailed&) { return "unfetched"; }
    std::string operator()(const action::ReportFinished&) { return "finished"; }
    std::string operator()(const action::ReportFailed& a) {
      return a.kind == FailureKind::kUser   ? "failed user"
             : a.kind == FailureKind::kLost ? "failed lost"
                                            : "failed environment";
    }
    std::string operator()(const action::ReportKilled&) { return "killed"; }
    std::string operator()(const action::ReportRefused&) { return "refused"; }
    std::string operator()(const action::Forget&) { return "forget"; }
  };
  std::string out;
  for (const auto& a : actions) out += (out.empty() ? "" : ", ") + std::visit(Namer(), a);
  return out;
}

class AttemptTest : public testing::Test {
 protected:
  std::string Do(AttemptMachine& m, const AttemptEvent& e) { return Names(m.Step(e)); }
  // A machine that runs, with one replica of each upstream task's output on worker 2.
  AttemptMachine Running(uint32_t tasks) {
    AttemptMachine m(Reads(tasks), kSelf, 1);
    m.Start();
    for (uint32_t t = 0; t < tasks; ++t) m.Step(event::ReplicaAdded{MakeReplica(t, 1, 2)});
    m.Step(event::Prepared{});
    return m;
  }
};

TEST_F(AttemptTest, AMapGoesFromPreparingToItsAnswer) {
  AttemptMachine m({}, kSelf, 1);
  EXPECT_EQ(Names(m.Start()), "prepare");
  EXPECT_TRUE(m.inputs_done());
  EXPECT_EQ(Do(m, event::Prepared{}), "start, started");
  EXPECT_EQ(Do(m, event::ChildEnded{}), "store");
  EXPECT_TRUE(m.holds_slot());
  EXPECT_EQ(Do(m, event::OutputStored{}), "finished, free");
  EXPECT_FALSE(m.holds_slot());
  EXPECT_EQ(Do(m, event::Answered{Verdict::kWinner}), "keep, forget");
  EXPECT_EQ(m.state(), AttemptState::kEnded);
}

TEST_F(AttemptTest, OutputStaysOnlyForAWinnerOrAKeptReplica) {
  for (const Verdict verdict : {Verdict::kNoted, Verdict::kWinner, Verdict::kReplicaKept, Verdict::kReplicaDropped,
                                Verdict::kDiffers, Verdict::kStale}) {
    AttemptMachine m = Running(0);
    m.Step(event::ChildEnded{});
    m.Step(event::OutputStored{});
    const bool keep = verdict == Verdict::kWinner || verdict == Verdict::kReplicaKept;
    EXPECT_EQ(Do(m, event::Answered{verdict}), keep ? "keep, forget" : "drop, forget");
  }
}

TEST_F(AttemptTest, AReaderFetchesWhatIsThereAndWaitsForTheRest) {
  AttemptMachine m(Reads(2), kSelf, 1);
  m.Start();
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2)}), "");
  EXPECT_EQ(Do(m, event::Prepared{}), "start, started, fetch 0@2");
  EXPECT_TRUE(m.waiting());
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(1, 1, 3)}), "fetch 1@3");
  EXPECT_FALSE(m.waiting());
  EXPECT_EQ(Do(m, event::ReadDone{0}), "fetched");
  EXPECT_EQ(Do(m, event::ReadDone{0}), "") << "the same news twice";
  EXPECT_FALSE(m.inputs_done());
  EXPECT_EQ(Do(m, event::ReadDone{1}), "fetched");
  EXPECT_TRUE(m.inputs_done());
  EXPECT_EQ(Do(m, event::ChildEnded{}), "store");
  const auto actions = m.Step(event::OutputStored{});
  const auto& finished = std::get<action::ReportFinished>(actions.front());
  EXPECT_THAT(finished.consumed, testing::ElementsAre(Consumed{0, 0, 1, {1, 1}}, Consumed{0, 1, 1, {1, 1}}));
}

TEST_F(AttemptTest, ALocalReplicaIsReadFirstAndABoundOneBeforeIt) {
  AttemptMachine m(Reads(1), kSelf, 1);
  m.Start();
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2)});
  m.Step(event::ReplicaAdded{MakeReplica(0, 2, kSelf.value)});
  AttemptMachine bound = m;
  EXPECT_EQ(Do(m, event::Prepared{}), "start, started, fetch 0@7");
  bound.Step(event::ReplicaAdded{MakeReplica(0, 3, 4), true});
  EXPECT_EQ(Do(bound, event::Prepared{}), "start, started, fetch 0@4");
}

// A reader by bind without any binding yet. The directory has a replica of each output that it reads.
AttemptMachine ByBind(uint32_t tasks) {
  AttemptMachine m(Reads(tasks), kSelf, 1, true);
  m.Start();
  for (uint32_t t = 0; t < tasks; ++t) m.Step(event::ReplicaAdded{MakeReplica(t, 1, 2)});
  m.Step(event::Prepared{});
  return m;
}

TEST_F(AttemptTest, AReaderByBindReadsOnlyWhatItIsTold) {
  AttemptMachine m = ByBind(2);
  EXPECT_TRUE(m.waiting());
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, kSelf.value)}), "") << "a replica here is not its own either";
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3), true}), "fetch 0@3");
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2)}), "");
  EXPECT_TRUE(m.waiting());
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(1, 1, 2), true}), "fetch 1@2");
  EXPECT_FALSE(m.waiting());
  EXPECT_EQ(Do(m, event::ReadDone{0}), "fetched");
  EXPECT_EQ(Do(m, event::ReadDone{1}), "fetched");
  EXPECT_EQ(Do(m, event::ChildEnded{}), "store");
}

TEST_F(AttemptTest, WhatAReaderByBindIsToldBeforeItIsPreparedHolds) {
  AttemptMachine m(Reads(1), kSelf, 1, true);
  m.Start();
  m.Step(event::ReplicaAdded{MakeReplica(0, 2, 3), true});
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2)});
  EXPECT_EQ(Do(m, event::Prepared{}), "start, started, fetch 0@3");
}

TEST_F(AttemptTest, ARepeatedBindChangesNothing) {
  AttemptMachine m = ByBind(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2), true});
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2), true}), "");
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "x"}), "unfetched, later 50");
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2), true}), "") << "the pause goes on";
  EXPECT_EQ(Do(m, event::RetryDue{0}), "fetch 0@2");
  m.Step(event::ReadDone{0});
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2), true}), "");
}

TEST_F(AttemptTest, AReaderByBindThatFailedReadsWhereItIsToldNext) {
  AttemptMachine m = ByBind(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 2, 3)});
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2), true});
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "gone"}), "unfetched, later 50")
      << "not from the directory";
  AttemptMachine pausing = m;
  EXPECT_EQ(Do(pausing, event::ReplicaAdded{MakeReplica(0, 2, 3), true}), "fetch 0@3");
  EXPECT_EQ(Do(m, event::ReplicaRemoved{MakeReplica(0, 1, 2)}), "");
  EXPECT_EQ(Do(m, event::RetryDue{0}), "") << "what is dropped is not tried again";
  EXPECT_TRUE(m.waiting());
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3), true}), "fetch 0@3");
}

// The worker with the replica was given up and came back with it.
TEST_F(AttemptTest, AReaderByBindReadsAReplicaThatWasRemovedAndIsBoundAgain) {
  AttemptMachine m = ByBind(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2), true});
  m.Step(event::ReadFailed{0, Delivered::kNothing, "gone"});
  m.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  EXPECT_EQ(Do(m, event::RetryDue{0}), "");
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1, 2), true}), "fetch 0@2");
}

TEST_F(AttemptTest, AReaderByBindThatIsToldAnotherReplicaWhileItFetchesGoesThereWhenTheFetchFails) {
  AttemptMachine m = ByBind(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2), true});
  EXPECT_EQ(Do(m, event::ReplicaRemoved{MakeReplica(0, 1, 2)}), "");
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3), true}), "");
  AttemptMachine served = m;
  EXPECT_EQ(Do(served, event::ReadDone{0}), "fetched") << "the bytes were there, and are checked";
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kWholePartitions, "gone"}), "unfetched, fetch 0@3");
}

TEST_F(AttemptTest, AReaderByBindGoesOnFromEqualContentOnly) {
  AttemptMachine m = ByBind(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 1, 2), true});
  m.Step(event::ReadFailed{0, Delivered::kWholePartitions, "gone"});
  m.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  AttemptMachine other = m;
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3), true}), "fetch 0@3");
  EXPECT_EQ(Do(other, event::ReplicaAdded{MakeReplica(0, 2, 3, 9, 2), true}), "nofetch, killchild");
}

TEST_F(AttemptTest, AFailedReplicaIsReplacedByAnotherOne) {
  AttemptMachine m = Running(1);
  m.Step(event::ReplicaAdded{MakeReplica(0, 2, 3)});
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "gone"}), "unfetched, fetch 0@3");
}

TEST_F(AttemptTest, TheOnlyReplicaIsTriedAgainWithGrowingPausesAndThenTheAttemptFails) {
  AttemptMachine m = Running(1);
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "x"}), "unfetched, later 50");
  EXPECT_EQ(Do(m, event::RetryDue{0}), "fetch 0@2");
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "x"}), "unfetched, later 100");
  for (int i = 3; i < 9; ++i) {
    m.Step(event::RetryDue{0});
    m.Step(event::ReadFailed{0, Delivered::kNothing, "x"});
  }
  m.Step(event::RetryDue{0});
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kNothing, "x"}), "unfetched, nofetch, killchild");
  EXPECT_EQ(Do(m, event::ChildEnded{true, FailureKind::kKilled}), "drop, failed lost, free");
}

TEST_F(AttemptTest, ARemovedReplicaIsNotTriedAgainButItsSuccessorIs) {
  AttemptMachine m = Running(1);
  m.Step(event::ReadFailed{0, Delivered::kNothing, "gone"});
  EXPECT_EQ(Do(m, event::ReplicaRemoved{MakeReplica(0, 1, 2)}), "");
  EXPECT_EQ(Do(m, event::RetryDue{0}), "");
  EXPECT_TRUE(m.waiting());
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 1001, 3, 1, 2)}), "fetch 0@3");
}

TEST_F(AttemptTest, NewsOfAReplicaEndsAPause) {
  AttemptMachine m = Running(1);
  m.Step(event::ReadFailed{0, Delivered::kNothing, "gone"});
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3)}), "fetch 0@3");
  EXPECT_EQ(Do(m, event::RetryDue{0}), "") << "the pause was over";
}

// The output was damaged, and is made again while its reader waits for it.
TEST_F(AttemptTest, AnOutputThatWasMadeAgainHasTheTriesOfANewOne) {
  AttemptMachine m = Running(1);
  for (int i = 0; i < 8; ++i) {
    m.Step(event::ReadFailed{0, Delivered::kNothing, "damaged"});
    m.Step(event::RetryDue{0});
  }
  m.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  m.Step(event::ReadFailed{0, Delivered::kNothing, "gone"});
  EXPECT_EQ(m.state(), AttemptState::kStopping) << "the ninth";
  AttemptMachine other = Running(1);
  for (int i = 0; i < 8; ++i) {
    other.Step(event::ReadFailed{0, Delivered::kNothing, "damaged"});
    if (i < 7) other.Step(event::RetryDue{0});
  }
  other.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  EXPECT_EQ(Do(other, event::ReplicaAdded{MakeReplica(0, 2, 3)}), "fetch 0@3");
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(other.state(), AttemptState::kRunning);
    other.Step(event::ReadFailed{0, Delivered::kNothing, "slow"});
    other.Step(event::RetryDue{0});
  }
  EXPECT_EQ(other.state(), AttemptState::kRunning);
}

TEST_F(AttemptTest, APartlyDeliveredPartitionFailsTheAttemptAsLost) {
  AttemptMachine m = Running(1);
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kPartOfPartition, "gone"}), "unfetched, nofetch, killchild");
  EXPECT_EQ(m.state(), AttemptState::kStopping);
  EXPECT_EQ(Do(m, event::ChildEnded{true, FailureKind::kKilled}), "drop, failed lost, free");
}

TEST_F(AttemptTest, AfterWholePartitionsOnlyEqualContentMayFollow) {
  AttemptMachine m = Running(1);
  EXPECT_EQ(Do(m, event::ReadFailed{0, Delivered::kWholePartitions, "gone"}), "unfetched, later 50");
  m.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  AttemptMachine other = m;
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3, 1, 2)}), "fetch 0@3");
  EXPECT_EQ(Do(other, event::ReplicaAdded{MakeReplica(0, 2, 3, 9, 2)}), "nofetch, killchild");
}

TEST_F(AttemptTest, AnUntouchedReadTakesOtherContent) {
  AttemptMachine m = Running(1);
  m.Step(event::ReadFailed{0, Delivered::kNothing, "gone"});
  m.Step(event::ReplicaRemoved{MakeReplica(0, 1, 2)});
  EXPECT_EQ(Do(m, event::ReplicaAdded{MakeReplica(0, 2, 3, 9, 2)}), "fetch 0@3");
}

TEST_F(AttemptTest, AChildThatEndsBeforeTheFetchersLastWordWaitsForIt) {
  AttemptMachine m = Running(1);
  EXPECT_EQ(Do(m, event::ChildEnded{}), "");
  EXPECT_EQ(Do(m, event::ReadDone{0}), "fetched, store");
}

TEST_F(AttemptTest, AKillEndsEveryStateInOneKilledReportAndNoOutput) {
  AttemptMachine preparing({}, kSelf, 1);
  preparing.Start();
  EXPECT_EQ(Do(preparing, event::KillAsked{}), "drop, killed, free");
  EXPECT_EQ(Do(preparing, event::Prepared{}), "") << "late";

  AttemptMachine running = Running(2);
  EXPECT_EQ(Do(running, event::KillAsked{}), "nofetch, killchild");
  EXPECT_EQ(Do(running, event::KillAsked{}), "");
  EXPECT_EQ(Do(running, event::ReadDone{0}), "") << "late";
  EXPECT_EQ(Do(running, event::ChildEnded{}), "drop, killed, free") << "even if it came to its end";

  AttemptMachine storing = Running(0);
  storing.Step(event::ChildEnded{});
  EXPECT_EQ(Do(storing, event::KillAsked{}), "drop, killed, free");
  EXPECT_EQ(Do(storing, event::OutputStored{}), "") << "late";

  AttemptMachine reporting = Running(0);
  reporting.Step(event::ChildEnded{});
  reporting.Step(event::OutputStored{});
  EXPECT_EQ(Do(reporting, event::KillAsked{}), "") << "the answer to the report decides";
  EXPECT_EQ(Do(reporting, event::Answered{Verdict::kStale}), "drop, forget");
}

TEST_F(AttemptTest, AKillOverridesAFailureThatIsStillStopping) {
  AttemptMachine m = Running(1);
  m.Step(event::ReadFailed{0, Delivered::kPartOfPartition, "gone"});
  EXPECT_EQ(Do(m, event::KillAsked{}), "");
  EXPECT_EQ(Do(m, event::ChildEnded{true}), "drop, killed, free");
}

TEST_F(AttemptTest, OnlyAnAttemptWithoutAllItsInputsCanBeTakenBack) {
  AttemptMachine m = Running(1);
  AttemptMachine complete = m;
  EXPECT_EQ(Do(m, event::TakeBackAsked{}), "nofetch, killchild");
  complete.Step(event::ReadDone{0});
  EXPECT_EQ(Do(complete, event::TakeBackAsked{}), "");
  EXPECT_EQ(complete.state(), AttemptState::kRunning);
}

TEST_F(AttemptTest, WhatTheChildSaysOfItsFailureIsReported) {
  AttemptMachine m = Running(1);
  const auto actions = m.Step(event::ChildEnded{true, FailureKind::kUser, "exit 3"});
  EXPECT_EQ(Names(actions), "nofetch, drop, failed user, free");
  EXPECT_EQ(std::get<action::ReportFailed>(actions[2]).message, "exit 3");
}

TEST_F(AttemptTest, FailuresToPrepareOrToStoreAreNotTheUsers) {
  AttemptMachine m({}, kSelf, 1);
  m.Start();
  EXPECT_EQ(Do(m, event::PrepareFailed{"no file"}), "drop, failed environment, free");
  AttemptMachine full({}, kSelf, 1);
  full.Start();
  EXPECT_EQ(Do(full, event::PrepareFailed{"no space", FailureKind::kEnvironment, true}), "drop, refused, free");
  EXPECT_EQ(Do(full, event::Answered{Verdict::kNoted}), "forget");
  AttemptMachine storing = Running(0);
  storing.Step(event::ChildEnded{});
  EXPECT_EQ(Do(storing, event::OutputFailed{"disk full"}), "drop, failed environment, free");
}

// Any sequence of events: one final report, slot freed once, output dropped or kept exactly as the
// report says, the child killed only while it runs, nothing after the end.
TEST_F(AttemptTest, NoSequenceOfEventsReachesAnImpossibleState) {
  uint64_t ended = 0;
  for (uint64_t seed = 1; seed <= 3000; ++seed) {
    Rng rng(seed);
    const uint32_t tasks = static_cast<uint32_t>(rng.Below(4));
    AttemptMachine m(Reads(tasks), kSelf, seed, seed % 2 == 0);
    int started = 0, finals = 0, frees = 0, kills = 0, forgets = 0, stores = 0;
    bool finished = false, kept = false;
    std::vector<int> fetching(tasks, 0);
    auto check = [&](const std::vector<AttemptAction>& actions) {
      for (const auto& a : actions) {
        ASSERT_EQ(forgets, 0) << "an action after the end, seed " << seed;
        if (std::holds_alternative<action::StartChild>(a)) ++started;
        if (std::holds_alternative<action::KillChild>(a)) {
          ++kills;
          ASSERT_EQ(started, 1);
          ASSERT_EQ(m.state(), AttemptState::kStopping);
        }
        if (const auto* f = std::get_if<action::Fetch>(&a)) {
          ASSERT_EQ(started, 1);
          ASSERT_EQ(fetching[f->read]++, 0) << "a read is fetched once at a time, seed " << seed;
        }
        if (std::holds_alternative<action::StoreOutput>(a)) {
          ++stores;
          ASSERT_TRUE(m.inputs_done());
        }
        finished |= std::holds_alternative<action::ReportFinished>(a);
        if (std::holds_alternative<action::ReportFinished>(a) || std::holds_alternative<action::ReportFailed>(a) ||
            std::holds_alternative<action::ReportKilled>(a)) {
          ++finals;
        }
        if (std::holds_alternative<action::KeepOutput>(a)) kept = true;
        if (std::holds_alternative<action::FreeSlot>(a)) ++frees;
        if (std::holds_alternative<action::Forget>(a)) ++forgets;
      }
    };
    check(m.Start());
    for (int step = 0; step < 60; ++step) {
      const uint32_t t = static_cast<uint32_t>(rng.Below(4));
      const auto before = m.state();
      AttemptEvent e;
      switch (rng.Below(14)) {
        case 0:
        case 1: e = event::Prepared{}; break;
        case 2: e = rng.Below(8) == 0 ? AttemptEvent(event::PrepareFailed{"x"}) : event::Prepared{}; break;
        case 3:
        case 4:
          e = event::ReplicaAdded{MakeReplica(t, 1 + rng.Below(3), 1 + rng.Below(8), 1 + rng.Below(2)),
                                  rng.Below(4) == 0};
          break;
        case 5: e = event::ReplicaRemoved{MakeReplica(t, 1 + rng.Below(3), 1 + rng.Below(8))}; break;
        case 6:
        case 7: e = event::ReadDone{t}; break;
        case 8: e = event::ReadFailed{t, static_cast<Delivered>(rng.Below(3)), "x"}; break;
        case 9: e = event::RetryDue{t}; break;
        case 10: e = event::ChildEnded{rng.Below(3) == 0, FailureKind::kUser, "x"}; break;
        case 11: e = rng.Below(3) == 0 ? AttemptEvent(event::OutputFailed{"x"}) : event::OutputStored{}; break;
        case 12:
          e = rng.Below(6) == 0   ? AttemptEvent(event::KillAsked{})
              : rng.Below(4) == 0 ? AttemptEvent(event::TakeBackAsked{})
                                  : event::RetryDue{t};
          break;
        default: e = event::Answered{static_cast<Verdict>(rng.Below(6))}; break;
      }
      // The shell reports the end only of a fetch that it still runs.
      if (const auto* d = std::get_if<event::ReadDone>(&e)) {
        if (d->read >= tasks || fetching[d->read] == 0) continue;
        fetching[d->read] = 0;
      }
      if (const auto* f = std::get_if<event::ReadFailed>(&e)) {
        if (f->read >= tasks || fetching[f->read] == 0) continue;
        fetching[f->read] = 0;
      }
      check(m.Step(e));
      if (HasFatalFailure()) return;
      ASSERT_GE(m.state(), before) << "states go forward only";
      ASSERT_LE(finals, 1);
      ASSERT_LE(stores, 1);
      ASSERT_LE(kills, 1);
      ASSERT_EQ(frees, finals) << "the slot is freed with the final report";
      ASSERT_EQ(m.holds_slot(), finals == 0);
      ASSERT_EQ(finals == 1, m.state() >= AttemptState::kReporting);
      ASSERT_TRUE(!kept || finished);
      ASSERT_EQ(forgets == 1, m.state() == AttemptState::kEnded);
    }
    ended += m.state() == AttemptState::kEnded;
  }
  EXPECT_GT(ended, 500u) << "the sequences must get somewhere";
}

}  // namespace
}  // namespace mr::worker
