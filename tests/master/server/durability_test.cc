// What leaves a master, against what is on its disk: calls to the disk are delayed or made to fail in this process.
#include <gtest/gtest.h>

#include <atomic>

#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "tests/master/server/master_fixture.h"
#include "tests/support/disk_shim.h"

namespace mr::master {
namespace {

using test::DiskCall;
using test::OnDiskCall;

// Lets the journal's syncs through one at a time once it is armed.
class SyncGate {
 public:
  SyncGate()
      : hook_([this](const DiskCall& call) {
          if (call.kind == DiskCall::kSync && call.data_only && call.path.ends_with("/journal/journal")) Pass();
          return 0;
        }) {}
  ~SyncGate() { Open(); }

  void Arm() { armed_ = true; }
  void LetOneThrough() {
    ++passes_;
    passes_.notify_all();
  }
  void Open() {
    armed_ = false;
    passes_ = 1 << 20;
    passes_.notify_all();
  }
  int arrived() const { return arrived_; }

 private:
  void Pass() {
    if (!armed_) return;
    const int mine = ++arrived_;
    for (int passes = passes_; passes < mine; passes = passes_) passes_.wait(passes);
  }
  std::atomic<bool> armed_{false};
  std::atomic<int> arrived_{0}, passes_{0};
  OnDiskCall hook_;
};

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

}  // namespace
}  // namespace mr::master
