// Nothing leaves a master before it is on its disk. Calls to the disk are delayed or made to fail in this process.
#include <gtest/gtest.h>

#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "tests/master/host/master_fixture.h"
#include "tests/master/host/sync_gate.h"

namespace mr::master {
namespace {

using test::SyncGate;

class DurabilityTest : public test::MasterFixture {
 protected:
  // Sets a queue; *answered when the master says so.
  kj::Promise<void> SetQueue(test::FakeClient& client, const char* name, bool* answered) {
    auto request = client.master().setQueueRequest();
    request.setQueue(name);
    request.setWeight(2);
    request.setMinShare(-1);
    request.setMaxShare(-1);
    return request.send()
        .then([answered](auto&& response) {
          EXPECT_TRUE(rpc::FromOutcome(response.getOutcome()).ok());
          *answered = true;
        })
        .eagerlyEvaluate(nullptr);
  }
  // Behind it all that the master has sent before is here.
  void RoundTrip(test::FakeClient& client) { client.master().queuesRequest().send().wait(io_.io.waitScope); }
};

TEST_F(DurabilityTest, NoReplyLeavesBeforeItsRecordIsSynced) {
  SyncGate gate;
  test::FakeClient client(io_, master_->port());
  RoundTrip(client);
  gate.Arm();
  bool first = false, second = false;
  const auto one = SetQueue(client, "one", &first);
  ASSERT_TRUE(io_.Until([&] { return gate.arrived() == 1; }));
  // Its record is the next behind the first one's: no seal comes between, since the journal is not idle.
  const auto two = SetQueue(client, "two", &second);
  RoundTrip(client);
  EXPECT_FALSE(first) << "answered while its sync is under way";
  gate.LetOneThrough();
  ASSERT_TRUE(io_.Until([&] { return first && gate.arrived() == 2; }));
  RoundTrip(client);
  EXPECT_FALSE(second) << "answered while its sync is under way";
  gate.LetOneThrough();
  EXPECT_TRUE(io_.Until([&] { return second; }));
}

// A worker repeats a report until it has a verdict: a commit that is not synced yet is none.
TEST_F(DurabilityTest, ARepeatedReportOfACommitIsNotAnsweredBeforeTheCommitIsSynced) {
  SyncGate gate;
  test::FakeClient client(io_, master_->port());
  test::FakeWorker worker(io_, "one", 4);
  worker.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(worker.Register(master_->port()).ok());
  const auto job = client.Submit(
      [&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 1); });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 3; }));
  const AttemptId attempt = *worker.held.begin();
  const auto repeat = [&] {
    auto request = worker.master().reportRequest();
    request.initWorker().setId(worker.id);
    request.getWorker().setIncarnation(worker.incarnation());
    auto report = request.initReports(1)[0];
    report.setNumber(1000);
    rpc::ToWire(attempt, report.initAttempt());
    report.initFinished();
    const auto response = request.send().wait(io_.io.waitScope);
    const rpc::Verdict verdict = response.getVerdicts()[0];
    return std::string(verdict == rpc::Verdict::LATER    ? "later"
                       : verdict == rpc::Verdict::WINNER ? "winner"
                                                         : "another");
  };
  gate.Arm();
  worker.FinishHeld();
  ASSERT_TRUE(io_.Until([&] { return gate.arrived() == 1; }));
  ASSERT_TRUE(io_.Until([&] { return worker.later == 3; })) << "the reports themselves";
  EXPECT_EQ(repeat(), "later");
  gate.LetOneThrough();
  gate.Open();
  ASSERT_TRUE(io_.Until([&] { return worker.verdicts[attempt] == "winner"; }));
  EXPECT_EQ(repeat(), "winner");
}

}  // namespace
}  // namespace mr::master
