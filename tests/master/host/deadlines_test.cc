// Jobs with deadlines at a whole master, over its sockets: what is said of them before they run, and what a restart
// keeps of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/core/records.h"
#include "master/host/master.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/rewrite_journal.h"
#include "tests/master/host/taught_job.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;
using test::kThreeSlotsMs;
using test::kTwoSlotsMs;
using test::TestIo;

constexpr uint32_t kOtherVersion = 77;

class DeadlinesTest : public testing::Test {
 protected:
  DeadlinesTest() {
    char path[] = "/tmp/deadlines_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/master";
    options_.policies = "fair,jockey";
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    EXPECT_TRUE(MakeDirectories(options_.directory).ok());
    test::TeachTwoStages(root_ + "/input", options_.directory + "/profiles");
    worker_.hold = [](const AttemptId&) { return true; };
  }
  ~DeadlinesTest() noexcept override {
    StopMaster();
    (void)RemoveTree(root_);
  }

  void StartMaster() {
    StopMaster();
    auto started = Master::Start(options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
    options_.port = master_->port();
    client_ = std::make_unique<FakeClient>(io_, options_.port);
  }
  void StopMaster() {
    client_ = nullptr;
    master_ = nullptr;
  }

  using More = std::function<void(rpc::JobSpec::Builder)>;
  Result<JobId> Submit(const More& more) {
    return client_->Submit([&](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/out" + std::to_string(next_++), 2);
      more(spec);
    });
  }
  static More Deadline(uint64_t ms) {
    return [ms](rpc::JobSpec::Builder spec) { spec.setDeadlineMs(ms); };
  }
  // A utility with the effect of that deadline: 1 until then, and falling afterwards.
  static More UtilityUpTo(uint64_t ms) {
    return [ms](rpc::JobSpec::Builder spec) {
      auto points = spec.initUtility(3);
      points[0].setUtility(1);
      points[1].setAtMs(ms);
      points[1].setUtility(1);
      points[2].setAtMs(ms + ms / 6);
      points[2].setUtility(-1);
    };
  }
  bool UntilGuaranteed(JobId job, uint32_t slots) {
    return io_.Until([&] { return client_->Job(job).guaranteed == slots; });
  }

  std::string Journal() const { return options_.directory + "/journal/journal"; }
  // The event of a record, if it is one of this kind.
  template <class E>
  static std::optional<E> EventOf(const test::StoredRecord& stored) {
    EventRecord event;
    if (stored.record.kind != static_cast<uint8_t>(RecordKind::kEvent)) return {};
    EXPECT_TRUE(DecodeEvent(stored.payload, &event));
    const auto* e = std::get_if<E>(&event.stamped.event);
    return e == nullptr ? std::nullopt : std::optional(*e);
  }
  // Cuts the journal where a crash during the first prediction would. Returns false if it has no prediction.
  bool LosePrediction() {
    bool found = false;
    test::RewriteJournal(Journal(), Journal(), [&](test::StoredRecord* stored) {
      found = EventOf<sched::ProfileLoaded>(*stored).has_value();
      return !found;
    });
    return found;
  }

  std::string root_;
  Master::Options options_;
  TestIo io_;
  std::unique_ptr<Master> master_;
  std::unique_ptr<FakeClient> client_;
  FakeWorker worker_{io_, "one", 4};
  int next_ = 0;
};

TEST_F(DeadlinesTest, AJobSucceedsWhoseProfileCannotBeKeptAndALaterOneLeavesOne) {
  const std::string profiles = options_.directory + "/profiles";
  ASSERT_TRUE(RemoveTree(profiles).ok());
  ASSERT_TRUE(WriteFileDurably(profiles, "no directory").ok());
  worker_.hold = [](const AttemptId&) { return false; };
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto runs = [&] {
    auto request = client_->master().profileRequest();
    request.setName("two stages");
    auto response = request.send().wait(io_.io.waitScope);
    return rpc::FromOutcome(response.getOutcome()).ok() ? response.getProfile().getRuns() : 0;
  };
  // With a deadline it is not predicted from what cannot be read either.
  const auto lost = Submit(Deadline(kThreeSlotsMs));
  ASSERT_TRUE(lost.ok()) << lost.status().ToString();
  ASSERT_TRUE(client_->UntilState(*lost, rpc::JobState::SUCCEEDED)) << client_->Job(*lost).error;
  EXPECT_EQ(runs(), 0u);
  ASSERT_TRUE(RemoveTree(profiles).ok());
  worker_.directory.clear();
  const auto kept = Submit([](rpc::JobSpec::Builder) {});
  ASSERT_TRUE(kept.ok()) << kept.status().ToString();
  ASSERT_TRUE(client_->UntilState(*kept, rpc::JobState::SUCCEEDED)) << client_->Job(*kept).error;
  EXPECT_TRUE(io_.Until([&] { return runs() == 1; }));
}

// The period of jockey is half a minute here: what comes within it is of the restart.
TEST_F(DeadlinesTest, ARestartInTheMiddleOfAPredictionEndsWithTheJobGuaranteedItsSlots) {
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto job = Submit(Deadline(kThreeSlotsMs));
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(client_->Job(*job).guaranteed, 3u) << "from its first moment";
  StopMaster();
  ASSERT_TRUE(LosePrediction());
  // And in the middle of that which makes up for it.
  StartMaster();
  StartMaster();
  EXPECT_EQ(client_->Job(*job).deadline_ms, kThreeSlotsMs);
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  EXPECT_TRUE(UntilGuaranteed(*job, 3)) << client_->Job(*job).guaranteed;
  EXPECT_THAT(worker_.killed, testing::IsEmpty()) << "its attempts run on";
  // This start finds the prediction in the journal.
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  EXPECT_TRUE(UntilGuaranteed(*job, 3)) << client_->Job(*job).guaranteed;
}

TEST_F(DeadlinesTest, PointsOfUtilityComeBackFromTheSpec) {
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto job = Submit(UtilityUpTo(kTwoSlotsMs));
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_EQ(client_->Job(*job).guaranteed, 2u);
  StopMaster();
  ASSERT_TRUE(LosePrediction());
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  EXPECT_TRUE(UntilGuaranteed(*job, 2)) << client_->Job(*job).guaranteed;
  EXPECT_EQ(client_->Job(*job).deadline_ms, 0u);
}

TEST_F(DeadlinesTest, ADeadlineThatWasSetOutlivesARestartInTheMiddleOfItsPrediction) {
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto job = Submit([](rpc::JobSpec::Builder) {});
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_FALSE(client_->Job(*job).predicted);
  ASSERT_TRUE(client_->SetDeadline(*job, kThreeSlotsMs).ok());
  EXPECT_TRUE(UntilGuaranteed(*job, 3));
  StopMaster();
  ASSERT_TRUE(LosePrediction());
  StartMaster();
  EXPECT_EQ(client_->Job(*job).deadline_ms, kThreeSlotsMs);
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  EXPECT_TRUE(UntilGuaranteed(*job, 3)) << client_->Job(*job).guaranteed;
}

// Whatever a table of quantiles is to that release.
TEST_F(DeadlinesTest, WhatAnotherReleasePredictedIsSkippedAndJobsKeepTheirDeadlines) {
  options_.scheduler_version = kOtherVersion;
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto given = Submit(Deadline(kTwoSlotsMs)), set = Submit([](rpc::JobSpec::Builder) {});
  ASSERT_TRUE(given.ok() && set.ok());
  ASSERT_TRUE(client_->SetDeadline(*set, kTwoSlotsMs).ok());
  ASSERT_TRUE(UntilGuaranteed(*given, 2) && UntilGuaranteed(*set, 2));
  StopMaster();
  int predictions = 0;
  test::RewriteJournal(Journal(), Journal(), [&](test::StoredRecord* stored) {
    if (!EventOf<sched::ProfileLoaded>(*stored)) return true;
    ++predictions;
    EXPECT_EQ(stored->record.record_class, journal::RecordClass::kSoft);
    stored->payload = "a prediction of a kind to come";
    return true;
  });
  EXPECT_EQ(predictions, 2);
  options_.scheduler_version = sched::kSchedulerVersion;
  StartMaster();
  EXPECT_EQ(client_->Job(*given).deadline_ms, kTwoSlotsMs);
  EXPECT_EQ(client_->Job(*set).deadline_ms, kTwoSlotsMs);
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  EXPECT_TRUE(UntilGuaranteed(*given, 2) && UntilGuaranteed(*set, 2))
      << client_->Job(*given).guaranteed << " " << client_->Job(*set).guaranteed;
}

TEST_F(DeadlinesTest, ADeadlineThatIsSetIsTakenAndWarnedOfWhereItIsNotLikelyToBeMet) {
  using testing::HasSubstr;
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  const auto first = Submit(Deadline(kTwoSlotsMs)), second = Submit([](rpc::JobSpec::Builder) {});
  ASSERT_TRUE(first.ok() && second.ok());
  const auto warning = [&](JobId job, uint64_t ms) {
    const auto set = client_->SetDeadline(job, ms);
    EXPECT_TRUE(set.ok()) << set.status().ToString();
    EXPECT_EQ(client_->Job(job).deadline_ms, ms) << "it is taken as asked";
    return set.ok() ? *set : "";
  };
  EXPECT_EQ(warning(*first, kThreeSlotsMs), "") << "what it is guaranteed itself is not in its way";
  EXPECT_THAT(warning(*first, 1'000'000),
              HasSubstr("the deadline of 16m40s after its submission cannot be met: what is left of its longest "
                        "chain of tasks alone takes about 25m00s; the earliest deadline that can be promised is 31m"));
  EXPECT_THAT(warning(*first, 1'700'000), HasSubstr(": all 4 slots of the cluster are too few for it; the earliest "));
  EXPECT_EQ(warning(*first, 0), "");
  EXPECT_EQ(warning(*first, kThreeSlotsMs), "");
  EXPECT_THAT(warning(*second, kThreeSlotsMs),
              HasSubstr(": it needs 3 slots, and of the cluster's 4 only 1 is not guaranteed to others (3 to jobs with "
                        "deadlines); the earliest deadline that can be promised is 1h08m"))
      << "once the first has ended: (2000 + 1800) / .95 s, a hundredth more, in minutes";
  EXPECT_EQ(warning(*second, 68 * 60'000), "") << "what it names is likely";
}

// Also in the dead zone, which the row of three slots once left out: 1800 s are less than 1850.
TEST_F(DeadlinesTest, EachRowOfExplainSaysInTimeExactlyWhereASubmitWithSoManySlotsIsTaken) {
  StartMaster();
  ASSERT_TRUE(worker_.Register(options_.port).ok());
  std::set<bool> said;
  for (uint32_t slots = 1; slots <= 4; ++slots) {
    ASSERT_TRUE(client_->SetQueue("default", 0, -1, slots).ok());
    for (const uint64_t seconds : {100, 1500, 1799, 1800, 1850, 1894, 1895, 2999, 3100, 3157, 3158, 4799, 5052, 5053}) {
      auto request = client_->master().explainRequest();
      test::FillTwoStages(request.initSpec(), root_ + "/input", root_ + "/out", 2);
      request.getSpec().setDeadlineMs(seconds * 1000);
      auto response = request.send().wait(io_.io.waitScope);
      const auto plan = response.getPlan();
      ASSERT_TRUE(plan.getHasAdmission());
      ASSERT_EQ(plan.getAvailableSlots(), slots);
      ASSERT_EQ(plan.getPredictions().size(), 4u);
      const auto row = plan.getPredictions()[slots - 1];
      EXPECT_EQ(row.getInTime(), plan.getAdmitted()) << slots << " slots, " << seconds << " s";
      EXPECT_EQ(plan.getRefusals().size(), plan.getAdmitted() ? 0u : 1u);
      said.insert(row.getInTime());
      if (plan.getAdmitted()) continue;
      // A submit hears the same.
      const auto refused = Submit(Deadline(seconds * 1000));
      EXPECT_EQ(refused.status().code(), Code::kRejected);
    }
  }
  EXPECT_EQ(said.size(), 2u);
}

}  // namespace
}  // namespace mr::master
