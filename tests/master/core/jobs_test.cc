// Ended jobs are bounded: whole, in brief, forgotten; and the same behind a snapshot.
#include "master/core/jobs.h"
#include "master/core/random_operators.h"
#include "master/sched/policies/dolly/reasons.h"
#include "master/sched/policies/jockey/reasons.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/core/fold.h"

namespace mr::master {
namespace {

std::string TwoStages(uint32_t n, uint32_t maps, uint32_t partitions, bool utility = false) {
  return EncodeSubmit(test::TwoStages(n, maps, partitions, utility));
}

// Returns the jobs as a snapshot restores them.
void Restore(const Jobs& jobs, Jobs* again) {
  jobs.Save([&](const std::string& part) { ASSERT_TRUE(again->RestorePart(part, test::ReadSpec).ok()); });
}

TEST(JobsTest, WhetherAnOutputIsTakenCostsTheSameWithManyJobs) {
  Jobs jobs;
  uint64_t sequence = 0;
  constexpr uint32_t kJobs = 3000;
  for (uint32_t n = 1; n <= kJobs; ++n) {
    const JobId id{1, n};
    test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(n, 1, 1), {}, ++sequence);
    if (n % 2 == 0) continue;
    test::Fold(&jobs, {{}, sched::JobKillAsked{id, ""}}, "", {sched::FailJob{id, true, "", {}}}, ++sequence);
    jobs.Settle(id);
  }
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    EXPECT_EQ(each->open(), kJobs / 2);
    const uint64_t before = each->looked_at();
    for (uint32_t n = 1; n <= kJobs; ++n) {
      const JobView* taken = each->OpenWithOutput(each->Find(JobId{1, n})->spec.output_uri);
      ASSERT_EQ(taken != nullptr, n % 2 == 0) << n;
    }
    EXPECT_EQ(each->OpenWithOutput("file:///elsewhere"), nullptr);
    EXPECT_LE(each->looked_at() - before, kJobs) << "at most one job for each question";
  }
}

// The end of the first is decided, and on its way to the disk, while the second is accepted.
TEST(JobsTest, OfTwoJobsWithOneOutputTheSecondHoldsItWhenTheEndOfTheFirstIsTold) {
  Jobs jobs;
  const JobId first{1, 1}, second{1, 2};
  const auto submit = [&](JobId id) {
    test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(1, 1, 1), {}, id.seq);
  };
  submit(first);
  test::Fold(&jobs, {{}, sched::JobKillAsked{first, ""}}, "", {sched::FailJob{first, true, "", {}}}, 3);
  submit(second);
  ASSERT_EQ(jobs.OpenJobs().size(), 2u);
  jobs.Settle(first);
  EXPECT_THAT(jobs.OpenJobs(), testing::ElementsAre(second)) << "its library is in use";
  const JobView* holder = jobs.OpenWithOutput(jobs.Find(second)->spec.output_uri);
  ASSERT_NE(holder, nullptr);
  EXPECT_EQ(holder->id, second);
}

TEST(JobsTest, JobsInBriefKeepTheirTotalsThroughASnapshot) {
  Jobs jobs(2000);
  const auto submit = [&](uint32_t n) {
    const JobId id{1, n};
    test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(n, 1, 1), {}, n);
    test::Fold(&jobs, {{}, sched::StagePlanned{id, 1, 1, {{}}, ""}}, "", {}, n);
    FinishedExtra finished;
    finished.outputs = {{"part-r-00000", "", 7, 1, {}, {}}};
    const AttemptId attempt{{id, 1, 0}, 1};
    test::Fold(&jobs, {{}, sched::AttemptFinished{attempt, {}, 0, {}, {}, {}, {}}}, EncodeFields(finished),
               {sched::Accept{attempt, {}, 0, true, {{attempt.task, 1}, 1, {}, 0}, {}, {}}, sched::CommitJob{id, {}}},
               n);
    jobs.Settle(id);
    jobs.Shrink([](JobId) { return false; });
  };
  for (uint32_t n = 1; n <= 2100; ++n) submit(n);
  EXPECT_EQ(jobs.jobs().size(), 2000u);
  EXPECT_EQ(jobs.Find(JobId{1, 100}), nullptr);
  EXPECT_EQ(jobs.FindSubmission(kNoOwner, "id100"), nullptr);
  Jobs again(2000);
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    ASSERT_NE(each->Find(JobId{1, 101}), nullptr);
    EXPECT_TRUE(each->Find(JobId{1, 101})->brief);
    EXPECT_EQ(each->Find(JobId{1, 101})->totals.bytes, 7u);
    EXPECT_EQ(each->Find(JobId{1, 101})->stages[1].committed, 1u);
    EXPECT_FALSE(each->Find(JobId{1, 2100})->brief);
    EXPECT_EQ(each->FindSubmission(kNoOwner, "id2000")->id, (JobId{1, 2000}));
    EXPECT_THAT(each->Unknown({1, 5}).message(), testing::HasSubstr("2,000 ended jobs"));
  }
}

TEST(JobsTest, ReplicasThatWereMadeAreKnownThroughASnapshotUntilTheirEnd) {
  Jobs jobs;
  const JobId id{1, 1};
  constexpr WorkerId kOne{1}, kTwo{2};
  uint64_t sequence = 0;
  const auto fold = [&](sched::Event event, std::vector<sched::Decision> decisions = {}, const std::string& with = {}) {
    return test::Fold(&jobs, {{}, std::move(event)}, with, decisions, ++sequence);
  };
  fold(sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}, {}, TwoStages(1, 2, 1));
  fold(sched::StagePlanned{id, 0, 1, {{}, {}}, ""});
  std::vector<Replica> first;
  for (uint32_t t = 0; t < 2; ++t) {
    const AttemptId attempt{{id, 0, t}, 1};
    first.push_back({{attempt.task, 1}, 1, kOne, 11});
    fold(sched::AttemptFinished{attempt, kOne, 11, {}, {}, {}, {}},
         {sched::Accept{attempt, kOne, 11, true, first[t], {1, 100, {}}, {}},
          sched::ReplicateOutput{first[t], kTwo, {sched::ReasonCode::kStale, "why_not", {}}}},
         EncodeFields(FinishedExtra{1, {{}}, {}, {}, "", ""}));
  }
  const Replica made{first[0].output, 1, kTwo, 22}, refused{first[1].output, 1, kTwo, 22};
  EXPECT_EQ(fold(sched::ReplicaMade{made}).added, std::vector<Replica>{made});
  EXPECT_TRUE(fold(sched::ReplicaMade{made}).added.empty()) << "said again";
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    const ReplicaView* view = each->FindReplica(made);
    ASSERT_NE(view, nullptr);
    EXPECT_EQ(view->manifest.bytes, 100u);
    EXPECT_EQ(view->extra.rows(), 1u);
    EXPECT_EQ(each->totals().replicas.made, 1u);
    EXPECT_EQ(each->totals().replicas.bytes, 100u);
    const auto why = each->Find(id)->notes.why[{0, 0}].All();
    EXPECT_EQ(why.back().what, What::kReplicaMade);
    EXPECT_EQ(why.back().reason.policy, "why_not") << "of the decision to make it";
    EXPECT_EQ(why.back().text, "");
  }
  EXPECT_TRUE(fold(sched::ReplicaMade{refused}, {sched::DropReplica{refused, {}}}).added.empty());
  EXPECT_EQ(jobs.FindReplica(refused), nullptr);
  EXPECT_EQ(fold(sched::ReplicaLost{first[0], ""}, {sched::DropReplica{first[0], {}}}).removed,
            std::vector<Replica>{first[0]});
  EXPECT_NE(jobs.FindReplica(made), nullptr);
}

// Two clones of a reduce are bound to the replicas that two clones of a map made. Then comes a third, random map.
TEST(JobsTest, ClonesAndWhatTheyWereToldAreCountedAndKnownThroughASnapshot) {
  Jobs jobs;
  const JobId id{1, 1};
  constexpr WorkerId kOne{1}, kTwo{2};
  const AttemptId maps[] = {{{id, 0, 0}, 1}, {{id, 0, 0}, 2}}, reduces[] = {{{id, 1, 0}, 1}, {{id, 1, 0}, 2}};
  uint64_t sequence = 0;
  const auto fold = [&](int64_t second, sched::Event event, std::vector<sched::Decision> decisions = {},
                        const std::string& with = {}, std::vector<AttemptChange> attempts = {}) {
    test::Fold(&jobs, {Instant{} + Seconds(second), std::move(event)}, with, decisions, ++sequence,
               {.attempts = std::move(attempts)});
  };
  const auto launch = [&](const AttemptId& attempt, WorkerId worker, Cause cause) {
    return sched::Launch{attempt, worker, worker.value, cause, 1, {}};
  };
  const auto replica = [&](const AttemptId& map, WorkerId worker) {
    return Replica{{map.task, 1}, map.number, worker, worker.value};
  };
  const auto bind = [&](const AttemptId& reader, const Replica& from, bool own) {
    const auto why = own ? sched::DollyReason::kOwnReplica : sched::DollyReason::kSharedReplica;
    return sched::Bind{reader, from, {why, "", {1, 1}}, own};
  };
  fold(0, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}, {}, TwoStages(1, 1, 2));
  fold(0, sched::StagePlanned{id, 0, 1, {{}}, ""});
  fold(0, sched::StagePlanned{id, 1, 1, {{}}, ""},
       {launch(maps[0], kOne, Cause::kFirst), launch(maps[1], kTwo, Cause::kClone),
        launch(reduces[0], kOne, Cause::kFirst), launch(reduces[1], kTwo, Cause::kClone)});
  const FinishedExtra made{2, {{1, 1, {1, 1}, 1}, {1, 1, {2, 2}, 1}}, {}, {}, "", ""};
  const Replica first = replica(maps[1], kTwo), second = replica(maps[0], kOne);
  fold(3, sched::AttemptFinished{maps[1], kTwo, 2, {}, {}, {}, {}},
       {sched::Accept{maps[1], kTwo, 2, true, first, {}, {}}, bind(reduces[0], first, true)}, EncodeFields(made),
       {{.id = maps[1],
         .cause = Cause::kClone,
         .ended = true,
         .state = AttemptState::kCommitted,
         .held = Seconds(3),
         .cloned = true}});
  fold(4, sched::AttemptFinished{maps[0], kOne, 1, {}, {}, {}, {}},
       {sched::Accept{maps[0], kOne, 1, false, second, {}, {}}, bind(reduces[1], second, false),
        bind(reduces[1], second, false)},
       EncodeFields(made),
       {{.id = maps[0],
         .cause = Cause::kFirst,
         .ended = true,
         .state = AttemptState::kReplica,
         .held = Seconds(4),
         .cloned = true}});
  fold(5, sched::WorkerLost{{9}, 9, ""}, {sched::DropReplica{second, {}}, bind(reduces[1], first, false)});
  FinishedExtra random = made;
  random.rows[1].content = {3, 3};
  fold(5, sched::AttemptFinished{{{id, 0, 0}, 3}, kOne, 1, {}, {}, {}, {}},
       {sched::MarkIndeterminate{maps[0].task, {}, {}, {sched::ReasonCode::kDifferentDigest, "", {}}}},
       EncodeFields(random));
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    // Said once more, behind the snapshot too: nothing new.
    test::Fold(each, {Instant{} + Seconds(6), sched::TimerDue{"", 0}}, "", {bind(reduces[1], first, false)}, 100);
    test::Fold(each, {Instant{} + Seconds(7), sched::AttemptKilled{reduces[1], kTwo, 2}}, "", {}, 101,
               {.attempts = {{.id = reduces[1],
                              .cause = Cause::kClone,
                              .ended = true,
                              .state = AttemptState::kKilled,
                              .held = Seconds(7),
                              .cloned = true}}});
    const JobView& job = *each->Find(id);
    for (const CloneCounts& counts : {job.notes.clones, each->totals().clones}) {
      EXPECT_EQ(counts.exclusive, 1u);
      EXPECT_EQ(counts.contended, 1u);
      EXPECT_EQ(counts.rebound, 1u);
      EXPECT_EQ(counts.killed, 1u);
      EXPECT_EQ(counts.extra, Seconds(4) + Seconds(7)) << "the map's other clone, and the reduce's clone";
    }
    EXPECT_EQ(job.notes.reads.size(), 1u) << "of the reduce that lives";
    EXPECT_THAT(job.notes.warnings.at(0),
                testing::HasSubstr("two runs of task_1_0001_0_m_000000 did not give the same records, in partition 1"));
    EXPECT_THAT(job.notes.why.at({1, 0}).All().back().text,
                testing::HasSubstr("it reads the output of attempt_1_0001_0_m_000000_2, "
                                   "since the replica that it was bound to is gone"));
  }
}

// Two maps have a clone each: one in the budget, one on a lent slot that is taken back.
TEST(JobsTest, ClonesOnIdleSlotsAreCountedApartAndKnownThroughASnapshot) {
  Jobs jobs;
  const JobId id{1, 1};
  uint64_t sequence = 0;
  const auto fold = [&](int64_t second, sched::Event event, std::vector<sched::Decision> decisions = {},
                        const std::string& with = {}, std::vector<AttemptChange> attempts = {}) {
    test::Fold(&jobs, {Instant{} + Seconds(second), std::move(event)}, with, decisions, ++sequence,
               {.attempts = std::move(attempts)});
  };
  const auto launch = [&](uint32_t task, uint32_t number, Cause cause) {
    const WorkerId worker{2 * task + number};
    return sched::Launch{{{id, 0, task}, number}, worker, worker.value, cause, 1, {}};
  };
  fold(0, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}, {}, TwoStages(1, 2, 1));
  fold(0, sched::StagePlanned{id, 0, 1, {{}, {}}, ""},
       {launch(0, 1, Cause::kFirst), launch(0, 2, Cause::kClone), launch(1, 1, Cause::kFirst),
        launch(1, 2, Cause::kOpportunistic)});
  fold(3, sched::AttemptKilled{{{id, 0, 1}, 2}, {4}, 4}, {}, "",
       {{.id = {{id, 0, 1}, 2},
         .cause = Cause::kOpportunistic,
         .ended = true,
         .state = AttemptState::kKilled,
         .held = Seconds(3),
         .lent = true}});
  fold(4, sched::AttemptKilled{{{id, 0, 0}, 2}, {2}, 2}, {}, "",
       {{.id = {{id, 0, 0}, 2},
         .cause = Cause::kClone,
         .ended = true,
         .state = AttemptState::kKilled,
         .held = Seconds(4),
         .cloned = true}});
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    const JobView& job = *each->Find(id);
    for (const LentCounts& counts : {job.notes.lent, each->totals().lent}) {
      EXPECT_EQ(counts.killed, 1u);
      EXPECT_EQ(counts.extra, Seconds(3));
    }
    for (const CloneCounts& counts : {job.notes.clones, each->totals().clones}) {
      EXPECT_EQ(counts.killed, 1u);
      EXPECT_EQ(counts.extra, Seconds(4));
    }
    for (const CauseCounts& causes : {job.notes.causes, each->totals().causes}) {
      EXPECT_EQ(causes[CauseIndex(Cause::kOpportunistic)], (sched::CauseCount{1, 0, Seconds(3)}));
    }
  }
}

TEST(JobsTest, WhyAReplicaWasNotMadeIsKnownThroughASnapshot) {
  Jobs jobs;
  const JobId id{1, 1};
  const auto fold = [&](sched::Event event, std::vector<sched::Decision> decisions, const std::string& with) {
    return test::Fold(&jobs, {{}, std::move(event)}, with, decisions, 1);
  };
  fold(sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}, {}, TwoStages(1, 2, 1));
  fold(sched::StagePlanned{id, 0, 1, {{}, {}}, ""}, {}, "");
  const Replica from{{{id, 0, 1}, 1}, 1, {1}, 11};
  fold(sched::FetchDone{}, {sched::ReplicateOutput{from, {2}, {}}}, "");
  fold(sched::ReplicaNotMade{from, {2}, "no space\nleft"}, {sched::ReplicateOutput{from, {3}, {}}}, "");
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    const auto why = each->Find(id)->notes.why[{0, 1}].All();
    ASSERT_EQ(why.size(), 3u);
    EXPECT_EQ(why[1].what, What::kReplicaNotMade);
    EXPECT_EQ(why[1].worker, WorkerId{2});
    EXPECT_EQ(why[1].text, "no space left");
    EXPECT_EQ(why[0].text + why[2].text, "");
  }
}

TEST(JobsTest, WhatUsersSetOfARunningJobOutlivesASnapshot) {
  Jobs jobs;
  const JobId id{1, 1};
  const auto fold = [&](sched::Event event) { test::Fold(&jobs, {{}, std::move(event)}, TwoStages(1, 2, 1), {}, 1); };
  fold(sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}});
  fold(sched::JobSet{id, 7, Seconds(90)});
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    EXPECT_EQ(each->Find(id)->spec.priority, 7);
    EXPECT_EQ(each->Find(id)->spec.deadline, Seconds(90));
  }
  // Nothing changes for a job that has ended.
  jobs.Find(id)->state = JobState::kSucceeded;
  fold(sched::JobSet{id, 8, {}});
  EXPECT_EQ(jobs.Find(id)->spec.priority, 7);
}

TEST(JobsTest, AUtilityThatAUserReplacedStaysReplaced) {
  for (const bool replaced : {false, true}) {
    Jobs jobs;
    const JobId id{1, 1};
    const auto fold = [&](sched::Event event) {
      test::Fold(&jobs, {{}, std::move(event)}, TwoStages(1, 2, 1, true), {}, 1);
    };
    fold(sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}});
    if (replaced) fold(sched::JobSet{id, 0, Seconds(90)});
    fold(sched::JobSet{id, 0, {}});
    Jobs again;
    Restore(jobs, &again);
    for (Jobs* each : {&jobs, &again}) EXPECT_EQ(each->Find(id)->spec.utility.empty(), replaced);
  }
}

TEST(JobsTest, WhatNeverWasHasNoLinesOfWhy) {
  Jobs jobs;
  const JobId id{1, 1};
  constexpr WorkerId kOne{1};
  const auto fold = [&](sched::Event event, std::vector<sched::Decision> decisions) {
    test::Fold(&jobs, {{}, std::move(event)}, TwoStages(1, 2, 1), decisions, 1);
  };
  const auto stopped = [&](const AttemptId& attempt) {
    fold(sched::AttemptStarted{attempt, kOne, 11},
         {sched::Kill{attempt, kOne, 11, {sched::ReasonCode::kStale, "", {}}}});
  };
  fold(sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}, {});
  fold(sched::StagePlanned{id, 0, 1, {{}, {}}, ""}, {});
  for (uint32_t n = 0; n < 100; ++n) {
    stopped({{id, n, 2 + n}, 1});
    stopped({{id, 1, n}, 1});
    stopped({{id, 0, n % 2}, 5 + n});
    fold(sched::ReplicaNotMade{{{{id, 9, n}, 1}, 1, kOne, 11}, kOne, "so it says"}, {});
  }
  EXPECT_TRUE(jobs.Find(id)->notes.why.empty());
  const AttemptId real{{id, 0, 1}, 1};
  fold(sched::FetchDone{}, {sched::Launch{real, kOne, 11, Cause::kFirst, 1, {}}});
  stopped(real);
  EXPECT_EQ((jobs.Find(id)->notes.why[{0, 1}].size()), 2u);
}

TEST(RandomOperatorsTest, KeepsTheNewestAndComesOutAsItWentIn) {
  RandomOperators known;
  for (uint32_t i = 0; i < RandomOperators::kMost + 3; ++i) {
    known.Add("op" + std::to_string(i), {1, i + 1});
    known.Add("op" + std::to_string(i), {9, 9});
  }
  EXPECT_EQ(known.Find("op2"), nullptr) << "it was found longest ago";
  ASSERT_NE(known.Find("op3"), nullptr);
  EXPECT_EQ(*known.Find("op3"), (JobId{1, 4})) << "the job that showed it first";
  RandomOperators again;
  for (const auto& found : known.All()) again.Add(found.op, found.job);
  EXPECT_EQ(again.All().size(), RandomOperators::kMost);
  EXPECT_EQ(again.All().front().op, "op3");
  EXPECT_EQ(EncodeFields(again.All()), EncodeFields(known.All()));
}

TEST(SteeringTest, IntegratesGuaranteesAndKeepsFewPoints) {
  Steering steering;
  const auto step = [&](double at, uint32_t slots) {
    steering.Note({{1, 1}, slots, {sched::JockeyReason::kAllotted, "jockey", {double(slots), 1, 10, at, 5, 60}}},
                  Instant{Seconds(100).ns} + FromSeconds(at));
  };
  EXPECT_FALSE(steering.any());
  for (int i = 0; i < 1000; ++i) step(i, i < 500 ? 4 : 2);
  EXPECT_LE(steering.points.size(), kSteeringPoints);
  EXPECT_EQ(steering.points.front().at, Duration{});
  EXPECT_EQ(steering.points.back().at, Seconds(999));
  EXPECT_TRUE(std::is_sorted(steering.points.begin(), steering.points.end(),
                             [](const SteeringPoint& a, const SteeringPoint& b) { return a.at < b.at; }));
  EXPECT_EQ(steering.HeldUntil(Instant{} + Seconds(1110)), Seconds(500 * 4 + 510 * 2));
  steering.End(Instant{} + Seconds(1110));
  EXPECT_EQ(steering.HeldUntil(Instant{} + Seconds(2000)), Seconds(500 * 4 + 510 * 2)) << "it has ended";
  const size_t points = steering.points.size();
  steering.Note({{1, 1}, 0, {sched::JockeyReason::kNotSteered, "", {}}}, Instant{} + Seconds(2000));
  EXPECT_EQ(steering.points.size(), points);
}

// A clone may have another table of partitions than the attempt that committed.
TEST(JobsTest, AReplicaHasItsOwnTableBehindASnapshotToo) {
  Jobs jobs;
  const JobId id{1, 1};
  constexpr WorkerId kOne{1};
  test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(1, 1, 1), {}, 1);
  test::Fold(&jobs, {{}, sched::StagePlanned{id, 0, 1, {{}}, ""}}, "", {}, 2);
  std::vector<Replica> replicas;
  for (const uint32_t number : {1, 2}) {
    const AttemptId map{{id, 0, 0}, number};
    replicas.push_back({{map.task, 1}, number, kOne, 11});
    test::Fold(&jobs, {{}, sched::AttemptFinished{map, kOne, 11, {}, {}, {}, {}}},
               EncodeFields(FinishedExtra{number, {}, {}, {}, "", ""}),
               {sched::Accept{map, kOne, 11, number == 1, replicas.back(), {}, {}}}, 2 + number);
  }
  Jobs again;
  Restore(jobs, &again);
  for (Jobs* each : {&jobs, &again}) {
    for (const Replica& replica : replicas) {
      ASSERT_NE(each->FindReplica(replica), nullptr);
      EXPECT_EQ(each->FindReplica(replica)->extra.partitions(), replica.attempt);
    }
  }
}

// Their ends still count, and their staging is cleaned up after them.
TEST(JobsTest, AJobIsNotShortenedWhileItsAttemptsAreBeingStopped) {
  Jobs jobs(1);
  for (uint32_t n = 1; n <= 3; ++n) {
    const JobId id{1, n};
    test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(n, 1, 1), {}, n);
    test::Fold(&jobs, {{}, sched::JobKillAsked{id, ""}}, "", {sched::FailJob{id, true, "", {}}}, n);
    jobs.Settle(id);
  }
  jobs.Shrink([](JobId id) { return id == JobId{1, 1}; });
  EXPECT_TRUE(jobs.Whole({1, 1}));
  EXPECT_TRUE(jobs.Whole({1, 2})) << "it ended later";
  jobs.Shrink([](JobId) { return false; });
  EXPECT_EQ(jobs.Find(JobId{1, 1}), nullptr);
  EXPECT_TRUE(jobs.Whole({1, 3}));
}

// A takeover may plan fewer tasks than the release before did.
TEST(JobsTest, NotesOfTasksThatAPlanLeavesOutGo) {
  Jobs jobs;
  const JobId id{1, 1};
  test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}}, TwoStages(1, 2, 1), {}, 1);
  test::Fold(&jobs, {{}, sched::StagePlanned{id, 0, 1, {{}, {}}, ""}}, "",
             {sched::Launch{{{id, 0, 0}, 1}, {1}, 1, Cause::kFirst, 1, {}},
              sched::Launch{{{id, 0, 1}, 1}, {1}, 1, Cause::kFirst, 1, {}}},
             2);
  sched::JobTakenOver taken;
  taken.submitted.job = id;
  taken.plans = {{id, 0, 1, {{}}, ""}};
  test::Fold(&jobs, {{}, taken}, "", {}, 3);
  EXPECT_EQ(jobs.Find(id)->notes.attempts.size(), 1u);
  Jobs again;
  Restore(jobs, &again);
  EXPECT_EQ(again.Find(id)->notes.attempts.size(), 1u);
}

TEST(JobsTest, TasksOfJobsInBriefMakeNoOtherJobBrief) {
  Jobs jobs(2000);
  const auto end = [&](uint32_t n, size_t tasks) {
    const JobId id{1, n};
    test::Fold(&jobs, {{}, sched::JobSubmitted{id, "j", "", 0, {}, 0, {}, {}}},
               TwoStages(n, static_cast<uint32_t>(tasks), 1), {}, n);
    test::Fold(&jobs, {{}, sched::StagePlanned{id, 0, 1, std::vector<sched::TaskPlan>(tasks), ""}}, "", {}, n);
    test::Fold(&jobs, {{}, sched::JobKillAsked{id, ""}}, "", {sched::FailJob{id, true, "", {}}}, n);
    jobs.Settle(id);
    jobs.Shrink([](JobId) { return false; });
  };
  end(1, kWholeTasks);
  end(2, 1);
  EXPECT_TRUE(jobs.Find(JobId{1, 1})->brief);
  end(3, 1);
  EXPECT_FALSE(jobs.Find(JobId{1, 2})->brief) << "two tasks are kept";
}

}  // namespace
}  // namespace mr::master
