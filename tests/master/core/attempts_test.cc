// Attempts as people see them, while a scheduler launches, loses and commits them.
#include "master/core/attempts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "common/base/fields.h"
#include "master/core/master_core.h"
#include "tests/master/core/fold.h"

namespace mr::master {
namespace {

// A job of one map and its reduce on two workers with two slots each.
class AttemptsTest : public testing::Test {
 protected:
  AttemptsTest() : core_(NewCore()) {
    Feed(EpochStarted{1, sched::kSchedulerVersion, 1});
    Feed(sched::ConfigChanged{"fifo", 1, sched::kSchedulerVersion, Millis(100)});
    Register("a", 11);
    Register("b", 22);
    SubmitExtra extra = test::TwoStages(1, 1, 1);
    auto spec = std::make_shared<JobSpec>(*test::ReadSpec(extra.spec));
    auto record = core_->PrepareSubmit({spec, extra}, now_);
    EXPECT_TRUE(record.ok()) << record.status().ToString();
    job_ = std::get<sched::JobSubmitted>(record->stamped.event).job;
    Feed(Record(*std::move(record)));
  }
  static std::unique_ptr<MasterCore> NewCore(uint32_t version = sched::kSchedulerVersion) {
    return std::make_unique<MasterCore>(MasterCore::Config{.directory = "/m", .scheduler_version = version},
                                        test::ReadSpec);
  }
  Applied Feed(Record record) {
    Applied applied = core_->Apply(&record, {++sequence_, 1});
    core_->NoteDurable(sequence_);
    for (const FollowUp& follow_up : applied.follow_ups) {
      if (auto event = core_->Prepare(follow_up)) Feed(*std::move(event));
    }
    return applied;
  }
  Applied Feed(sched::Event event, std::string extra = {}) {
    now_ = now_ + Seconds(1);
    return Feed(Record(EventRecord{{now_, std::move(event)}, std::move(extra)}));
  }
  void Register(const std::string& name, Incarnation incarnation, std::vector<AttemptId> running = {}) {
    now_ = now_ + Seconds(1);
    Registration in;
    in.extra.name = name;
    in.info.incarnation = incarnation;
    in.info.address = name + ":1";
    in.info.slots = {2, 0, 0};
    in.info.running = std::move(running);
    auto records = core_->PrepareRegister(std::move(in), now_, now_);
    ASSERT_TRUE(records.ok()) << records.status().ToString();
    if (records->named) Feed(Record(*records->named));
    Feed(Record(std::move(records->event)));
    Feed(Record(std::move(records->joined)));
  }
  AttemptId Map(uint32_t number) const { return {{job_, 0, 0}, number}; }
  AttemptView View(uint32_t number) const {
    const auto view = core_->attempts().Find(Map(number));
    EXPECT_TRUE(view.has_value()) << number;
    return view.value_or(AttemptView{});
  }
  Reporter From(uint32_t number) const {
    const AttemptView view = View(number);
    return {view.id, view.worker, view.incarnation};
  }
  MasterCore::FinishedAnswer Finish(uint32_t number) { return Finish(From(number)); }
  MasterCore::FinishedAnswer Finish(const Reporter& from) {
    now_ = now_ + Seconds(1);
    report::Finished finished;
    finished.output.manifest = {1, 100, {7, 7}};
    finished.output.partitions = 1;
    finished.output.rows = {{1, 100, {7, 7}, 1}};
    auto answer = core_->PrepareFinished(from, std::move(finished), now_);
    if (answer.record) answer.verdict = VerdictOf(from.attempt, Feed(Record(*answer.record)).decisions);
    return answer;
  }
  void Progress(uint32_t number, uint64_t taken, uint8_t phase = 0) {
    const Reporter from = From(number);
    Feed(sched::AttemptProgress{from.worker, from.incarnation, {{Map(number), phase, taken, 100, 0, false}}});
  }
  void Fail(uint32_t number, FailureKind kind = FailureKind::kUser) {
    const Reporter from = From(number);
    Feed(sched::AttemptFailed{Map(number), from.worker, from.incarnation, kind, "no\nluck"},
         EncodeFields(FailedExtra{"line 1", "oh"}));
    // Its task is launched again when its back-off is over.
    for (int i = 0; i < 100 && !core_->attempts().Find(Map(number + 1)); ++i) {
      ASSERT_TRUE(core_->NextTimer().has_value());
      now_ = std::max(now_, *core_->NextTimer());
      Feed(*core_->DueTimer(now_));
    }
  }
  StageCounts Maps() const { return core_->attempts().Counts(*core_->jobs().Find(job_), 0); }
  const JobNotes& Notes() const { return core_->jobs().Find(job_)->notes; }
  // Goes on behind a snapshot.
  void Restart() {
    auto again = NewCore();
    core_->Save(
        [&](RecordKind kind, const std::string& part) { ASSERT_TRUE(again->Restore(kind, part, sequence_).ok()); });
    EXPECT_EQ(again->Digest(), core_->Digest());
    core_ = std::move(again);
  }

  std::unique_ptr<MasterCore> core_;
  uint64_t sequence_ = 0;
  Instant now_{Seconds(1).ns};
  JobId job_;
};

TEST_F(AttemptsTest, BytesOfAnAttemptThatDidNotCommitCountNoMore) {
  Progress(1, 60);
  EXPECT_EQ(Notes().stages[0].taken_bytes, 60u);
  EXPECT_EQ(View(1).taken_bytes, 60u);
  Fail(1);
  EXPECT_EQ(Notes().stages[0].taken_bytes, 0u);
  EXPECT_EQ(Notes().stages[0].failed, 1u);
  Progress(2, 100);
  Finish(2);
  EXPECT_EQ(Notes().stages[0].taken_bytes, 100u);
}

// People see how much operators have taken: a number that does not start again when the shuffle has ended.
TEST_F(AttemptsTest, BytesThatArriveInAShuffleAreTakenByNoOperatorYet) {
  Progress(1, 60, kShufflePhase);
  EXPECT_EQ(Notes().stages[0].taken_bytes, 0u);
  EXPECT_EQ(View(1).taken_bytes, 0u);
  Progress(1, 10, 3);
  EXPECT_EQ(Notes().stages[0].taken_bytes, 10u);
}

TEST_F(AttemptsTest, NoAttemptRanForLongerThanItHeldItsSlot) {
  const sched::Attempt& attempt = *core_->scheduler().state().FindAttempt(Map(1));
  for (const Duration reported : {Seconds(-5), Seconds(9'000'000'000)}) {
    report::Finished finished;
    finished.ran = finished.waited = reported;
    const auto answer = core_->PrepareFinished(From(1), std::move(finished), attempt.launched_at + Seconds(8));
    ASSERT_TRUE(answer.record.has_value());
    const auto& event = std::get<sched::AttemptFinished>(answer.record->stamped.event);
    const Duration possible = reported.ns < 0 ? Duration{} : Seconds(8);
    EXPECT_EQ(event.ran, possible);
    EXPECT_EQ(event.waited, possible);
  }
}

TEST_F(AttemptsTest, AFailureIsKnownWithItsWordsThroughASnapshot) {
  Fail(1);
  for (int i = 0; i < 2; ++i, Restart()) {
    EXPECT_EQ(View(1).state, AttemptState::kFailed);
    EXPECT_TRUE(View(1).note->failed);
    EXPECT_EQ(View(1).note->message, "no\nluck");
    EXPECT_EQ(View(1).note->record, "line 1");
    EXPECT_EQ(View(1).note->stderr_tail, "oh");
    EXPECT_THAT(Notes().last_failure, testing::EndsWith("_1 failed on w1: no (at line 1) luck"));
    EXPECT_EQ(core_->jobs().totals().attempts.failed, 1u);
    EXPECT_EQ(View(2).state, AttemptState::kRunning);
    EXPECT_EQ(core_->attempts().Live(job_), 2u) << "the map, and a reduce that waits for it";
  }
}

TEST_F(AttemptsTest, ARepeatedReportGetsTheSameAnswerThroughASnapshot) {
  EXPECT_EQ(Finish(1).verdict, Verdict::kWinner);
  const uint64_t sequence = View(1).note->sequence;
  for (int i = 0; i < 2; ++i, Restart()) {
    const auto again = Finish(1);
    EXPECT_FALSE(again.record.has_value());
    EXPECT_EQ(again.verdict, Verdict::kWinner);
    EXPECT_EQ(again.sequence, sequence);
  }
}

TEST_F(AttemptsTest, AFailureForALostInputIsAFailureAndTheLossOfItsWorkerIsNone) {
  Fail(1, FailureKind::kLost);
  EXPECT_EQ(View(1).state, AttemptState::kFailed);
  EXPECT_EQ(core_->jobs().totals().attempts.failed, 1u);
  const Reporter from = From(2);
  Feed(sched::WorkerLost{from.worker, from.incarnation, "silent"});
  EXPECT_EQ(View(2).state, AttemptState::kKilled);
  EXPECT_EQ(View(2).note->message, "its worker was lost: silent");
  EXPECT_EQ(core_->jobs().totals().attempts.failed, 1u);
}

// No decision precedes it, so nothing else would show why it ended.
TEST_F(AttemptsTest, AnAttemptThatItsWorkerEndedUnaskedSaysSo) {
  const Reporter from = From(1);
  Feed(sched::AttemptKilled{from.attempt, from.worker, from.incarnation});
  for (int i = 0; i < 2; ++i, Restart()) {
    EXPECT_EQ(View(1).state, AttemptState::kKilled);
    EXPECT_EQ(View(1).note->message, "ended by its worker; the journal has no request for it");
  }
}

TEST_F(AttemptsTest, AnAttemptThatTheMasterKilledHasAReasonAndNoMessage) {
  const Reporter from = From(1);
  Feed(*core_->PrepareKill(job_, Everything(), "asked"));
  EXPECT_EQ(Notes().why.at({0, 0}).All().back().reason.code, sched::ReasonCode::kJobEnded);
  Feed(sched::AttemptKilled{from.attempt, from.worker, from.incarnation});
  EXPECT_EQ(View(1).state, AttemptState::kKilled);
  EXPECT_EQ(View(1).note->message, "");
}

// The scheduler of another version has the output and not the attempt.
TEST_F(AttemptsTest, AReportOfTheCommittedOutputIsAnsweredAlsoAfterATakeover) {
  const Reporter from = From(1);
  EXPECT_EQ(Finish(1).verdict, Verdict::kWinner);
  auto other = NewCore(sched::kSchedulerVersion + 1);
  core_->Save(
      [&](RecordKind kind, const std::string& part) { ASSERT_TRUE(other->Restore(kind, part, sequence_).ok()); });
  core_ = std::move(other);
  EXPECT_TRUE(core_->Foreign());
  Feed(Record(EpochStarted{2, sched::kSchedulerVersion + 1, 1}));
  Feed(sched::ConfigChanged{"fifo", 1, sched::kSchedulerVersion + 1, Millis(100)});
  std::vector<std::string> notes;
  for (sched::Event& event : core_->PrepareTakeOver(now_, &notes)) Feed(std::move(event));
  EXPECT_EQ(Maps().done, 1u);
  EXPECT_FALSE(core_->attempts().Find(Map(1)).has_value());
  const auto again = Finish(from);
  EXPECT_FALSE(again.record.has_value());
  EXPECT_EQ(again.verdict, Verdict::kWinner);
  // Another attempt of the task is not the one that committed.
  EXPECT_EQ(Finish({Map(7), from.worker, from.incarnation}).verdict, Verdict::kStale);
}

TEST_F(AttemptsTest, ATaskThatRunsAgainForItsLostOutputIsNotDone) {
  Finish(1);
  EXPECT_EQ(Maps().done, 1u);
  const Reporter from = From(1);
  Feed(sched::WorkerLost{from.worker, from.incarnation, "silent"});
  EXPECT_EQ(Maps().done, 0u);
  EXPECT_EQ(Maps().running, 1u);
  Finish(2);
  EXPECT_EQ(Maps().done, 1u);
}

TEST_F(AttemptsTest, AnAttemptOfAnEarlierProcessOfItsWorkerHasEndedWhateverTheNewOneNames) {
  const std::string name = View(1).worker == WorkerId{1} ? "a" : "b";
  Register(name, View(1).incarnation, {Map(1)});
  EXPECT_EQ(View(1).state, AttemptState::kRunning) << "it is the same process";
  Register(name, 33, {Map(1)});
  EXPECT_EQ(View(1).state, AttemptState::kKilled);
  EXPECT_EQ(View(1).note->message, "its worker came back without it");
  EXPECT_EQ(core_->jobs().totals().attempts.killed, 1u);
}

TEST_F(AttemptsTest, PagesOfAttemptsFollowEachOther) {
  Fail(1);
  std::vector<uint32_t> numbers;
  AttemptId after;
  for (;;) {
    const auto page = core_->attempts().Of(job_, after, 1);
    if (page.empty()) break;
    ASSERT_EQ(page.size(), 1u);
    after = page[0].id;
    if (after.task.stage == 0) numbers.push_back(after.number);
  }
  EXPECT_THAT(numbers, testing::ElementsAre(1, 2));
  EXPECT_EQ(core_->attempts().Of(TaskId{job_, 0, 0}).size(), 2u);
}

}  // namespace
}  // namespace mr::master
