// Failures that another attempt would repeat end a job at once; and what counts of reports that
// read something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/wire.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/master_fixture.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;
using testing::HasSubstr;

class FinalFailuresTest : public test::MasterFixture {
 protected:
  auto Spec() {
    return [this](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 1); };
  }
};

TEST_F(FinalFailuresTest, EndTheJobAtTheFirstOne) {
  FakeWorker worker(io_, "one");
  worker.fate = [](const AttemptId& a) {
    return a.task.stage == 0 && a.task.task == 1 ? FakeWorker::Fate::kFinalFailure : FakeWorker::Fate::kDone;
  };
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  FakeClient client(io_, master_->port());
  auto job = client.Submit(Spec());
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::FAILED));
  EXPECT_THAT(client.Job(*job).error,
              HasSubstr("task 1 of stage 'count' failed 1 time, the last time as attempt_1_0001_0_m_000001_1"));
  for (const AttemptId& a : worker.launched) EXPECT_EQ(a.number, 1u) << "it was tried again";
}

void SetBadRecords(int64_t n, rpc::Finished::Builder out) {
  auto counters = out.initCounters(1);
  counters[0].setGroup("mr");
  counters[0].setName("bad_records");
  counters[0].setValue(n);
}

TEST_F(FinalFailuresTest, BadRecordsAboveTheLimitAreOne) {
  FakeWorker worker(io_, "one");
  worker.edit = [](const AttemptId& a, rpc::Finished::Builder out) {
    if (a.task.stage == 1) SetBadRecords(5, out);
  };
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  FakeClient client(io_, master_->port());
  auto job = client.Submit(Spec());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::FAILED));
  EXPECT_THAT(client.Job(*job).error, HasSubstr("met 5 bad records together, and --max-bad-records is 0"));
}

TEST_F(FinalFailuresTest, BadRecordsOfWhatIsNotTheCommittedOutputAreNone) {
  FakeWorker worker(io_, "one");
  worker.edit = [](const AttemptId& a, rpc::Finished::Builder out) {
    if (a.task.stage != 1 || a.number != 1) return;
    SetBadRecords(5, out);
    rpc::ToWire(Digest128{1, 2}, out.getConsumed()[0].getContent());
  };
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  FakeClient client(io_, master_->port());
  auto job = client.Submit(Spec());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << client.Job(*job).error;
  EXPECT_EQ(worker.verdicts.at({{*job, 1, 0}, 1}), "stale");
}

}  // namespace
}  // namespace mr::master
