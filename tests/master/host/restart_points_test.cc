// A master may die behind any record. The one that starts next must come up, whatever phase its jobs were in and
// whatever policies it has, and must leave a journal that replays to the state it has.
#include <gtest/gtest.h>

#include "common/io/files.h"
#include "common/rpc/wire.h"
#include "master/host/host.h"
#include "master/host/master.h"
#include "master/host/read_journal.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/no_outlets.h"
#include "tests/master/host/rewrite_journal.h"

namespace mr::master {
namespace {

using test::FakeWorker;

class RestartPointsTest : public testing::Test {
 protected:
  RestartPointsTest() {
    char path[] = "/tmp/restart_points_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/master";
    options_.learns = false;
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
  }
  ~RestartPointsTest() noexcept override { (void)RemoveTree(root_); }

  JobId Submit(test::FakeClient& client) {
    const auto job = client.Submit([&](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/out" + std::to_string(next_++), 2);
    });
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    return job.ok() ? *job : JobId{};
  }

  // Jobs that succeed, fail, are killed, wait for slots, have maps or reduces under way; a worker that is lost.
  void WriteHistory() {
    auto master = Master::Start(options_);
    ASSERT_TRUE(master.ok()) << master.status().ToString();
    test::FakeClient client(io_, (*master)->port());
    FakeWorker one(io_, "one"), two(io_, "two");
    ASSERT_TRUE(one.Register((*master)->port()).ok());
    ASSERT_TRUE(two.Register((*master)->port()).ok());
    ASSERT_TRUE(client.SetQueue("night", 2, 1, 0).ok());
    ASSERT_TRUE(client.UntilState(Submit(client), rpc::JobState::SUCCEEDED));
    one.fate = two.fate = [](const AttemptId&) { return FakeWorker::Fate::kFinalFailure; };
    ASSERT_TRUE(client.UntilState(Submit(client), rpc::JobState::FAILED));
    one.fate = two.fate = [](const AttemptId& a) {
      return a.number == 1 && a.task.task == 0 ? FakeWorker::Fate::kUserFailure : FakeWorker::Fate::kDone;
    };
    one.hold = two.hold = [](const AttemptId& a) { return a.task.stage == 1; };
    const JobId reducing = Submit(client);
    ASSERT_TRUE(io_.Until([&] { return one.held.size() + two.held.size() == 2; }));
    one.hold = two.hold = [](const AttemptId&) { return true; };
    Submit(client);
    ASSERT_TRUE(io_.Until([&] { return one.held.size() + two.held.size() == 4; }));
    const JobId waiting = Submit(client);
    two.Disconnect();
    ASSERT_TRUE(io_.Until([&] { return client.Worker(two.id).first == "lost"; }));
    auto kill = client.master().killRequest();
    rpc::ToWire(waiting, kill.initJob());
    kill.send().wait(io_.io.waitScope);
    one.hold = [reducing](const AttemptId& a) { return a.task.stage == 1 && a.task.job != reducing; };
    one.FinishHeld();
    ASSERT_TRUE(client.UntilState(reducing, rpc::JobState::SUCCEEDED)) << client.Job(reducing).error;
    Submit(client);
    ASSERT_TRUE(io_.Until([&] { return !one.held.empty(); }));
    one.Disconnect();
  }

  // The journal as it was behind its first `records` records, below `directory`; false: it has no more.
  bool CutBehind(uint64_t records, const std::string& directory) {
    (void)RemoveTree(directory);
    EXPECT_TRUE(MakeDirectories(directory + "/journal").ok());
    uint64_t seen = 0;
    test::RewriteJournal(options_.directory + "/journal/journal", directory + "/journal/journal",
                         [&](test::StoredRecord*) { return ++seen <= records; });
    return seen > records;
  }

  // Each group of records closes a file, so that a snapshot can be taken behind any.
  static HostOptions OptionsOf(const std::string& directory, const std::string& policies) {
    return {.directory = directory, .policies = policies, .snapshot_bytes = journal::kHeaderBytes};
  }

  // One start, one turn of its loop, and its end. Fails the test where the start or what it wrote is wrong.
  void Restart(const std::string& directory, const std::string& policies) {
    uint64_t digest = 0;
    reduces_ = 0;
    {
      Loop loop([] {});
      test::NoOutlets outlets;
      Host host(OptionsOf(directory, policies), loop, outlets);
      ASSERT_TRUE(host.Recover().ok());
      loop.Start();
      loop.Run([&] {
        host.Flush();
        for (const auto& [id, known] : host.core().scheduler().state().jobs()) {
          const JobView* job = host.core().jobs().Find(id);
          ASSERT_NE(job, nullptr) << Name(id);
          for (const AttemptView& a : host.core().attempts().Of(id)) reduces_ += a.id.task.stage == 1 ? 1 : 0;
          for (size_t s = 0; s < known.stages.size() && !job->brief; ++s) {
            if (!known.stages[s].planned()) continue;
            EXPECT_EQ(job->plan.stages[s].slices.size(), known.stages[s].tasks.size()) << Name(id) << " stage " << s;
          }
        }
      });
      // Ends of jobs count when they are on disk.
      for (bool ends = true; ends;) {
        loop.Run([&] {
          ends = !host.core().open().ends.empty();
          host.Flush();
        });
      }
      loop.Stop();
      digest = host.core().Digest();  // timers may have been due until now
    }
    MasterCore replayed({.directory = directory}, SpecOf);
    const auto read = ReadJournal(&replayed);
    ASSERT_TRUE(read.ok()) << read.status().ToString();
    EXPECT_EQ(replayed.Digest(), digest);
  }

  std::string root_;
  Master::Options options_;
  test::TestIo io_;
  int next_ = 0;
  size_t reduces_ = 0;  // attempts of the second stage that the last Restart knew
};

TEST_F(RestartPointsTest, AMasterStartsBehindEveryRecordUnderAnyPolicies) {
  WriteHistory();
  if (HasFatalFailure()) return;
  const std::string directory = root_ + "/cut";
  for (const std::string policies : {"fifo", sched::kDefaultPolicies}) {
    uint64_t records = 0;
    while (CutBehind(records, directory)) {
      SCOPED_TRACE("behind record " + std::to_string(records) + " under " + policies);
      Restart(directory, "fifo");
      // From a snapshot the tables lack what the scheduler knows; the start has to put it back first.
      const auto segments = journal::ListFiles(directory + "/journal")->segments;
      ASSERT_GE(segments.size(), 2u);
      ASSERT_TRUE(TakeSnapshot({.directory = directory}, segments.back().after).ok());
      Restart(directory, policies);
      if (HasFailure()) return;
      ++records;
    }
    EXPECT_GT(records, 50u) << "the history is not what this test needs";
  }
}

// The queue's limit keeps a reduce from a free slot. The next master has no such policy, and the slot's worker has not
// registered with it.
TEST_F(RestartPointsTest, AStartLaunchesNothingBeforeAWorkerRegisters) {
  options_.policies = "fair";
  options_.snapshot_bytes = journal::kHeaderBytes;
  auto master = Master::Start(options_);
  ASSERT_TRUE(master.ok()) << master.status().ToString();
  test::FakeClient client(io_, (*master)->port());
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register((*master)->port()).ok());
  ASSERT_TRUE(client.SetQueue("night", 1, 0, 1).ok());
  worker.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  const auto job = client.Submit([&](rpc::JobSpec::Builder spec) {
    test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 2);
    spec.setQueue("night");
  });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 1; }));
  // Groups of records behind the plan of the reduces: the snapshot covers all but the last one.
  ASSERT_TRUE(client.SetQueue("day", 1, 0, 1).ok());
  ASSERT_TRUE(client.SetQueue("day", 2, 0, 1).ok());
  // Before the worker goes, so that its slots are known to the next one.
  master->reset();
  const auto segments = journal::ListFiles(options_.directory + "/journal")->segments;
  ASSERT_GE(segments.size(), 2u);
  ASSERT_TRUE(TakeSnapshot({.directory = options_.directory}, segments.back().after).ok());
  Restart(options_.directory, "fifo");
  EXPECT_EQ(reduces_, 1u) << "the one that runs";
}

}  // namespace
}  // namespace mr::master
