// A worker that is damaged, or not ours: it registers as others do, and then its reports have any ids, sizes and lists.
// The master goes on, and so do the jobs of the others.
#include <gtest/gtest.h>

#include <algorithm>

#include "common/base/rng.h"
#include "common/io/files.h"
#include "common/rpc/wire.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/master_fixture.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;

class HostileWorkerTest : public test::MasterFixture {
 protected:
  uint32_t Field() { return static_cast<uint32_t>(rng_.Below(2) == 0 ? rng_.Below(4) : rng_.Next()); }
  uint64_t Wide() {
    const uint64_t edges[] = {0, 1, INT64_MAX, uint64_t{1} << 63, UINT64_MAX};
    return rng_.Below(2) == 0 ? edges[rng_.Below(std::size(edges))] : rng_.Next();
  }
  std::string Text() {
    const std::string texts[] = {"", "part-r-00000", "../../x", root_ + "/input", std::string(70'000, 'x'), "\x01\xff"};
    return texts[rng_.Below(std::size(texts))];
  }
  // One of its own, or of anybody.
  AttemptId Attempt(const FakeWorker& liar) {
    if (liar.held.empty() || rng_.Below(3) == 0) return {{{Field(), Field()}, Field(), Field()}, Field()};
    return *std::next(liar.held.begin(), static_cast<std::ptrdiff_t>(rng_.Below(liar.held.size())));
  }
  void FillReplica(const AttemptId& of, rpc::Replica::Builder replica) {
    rpc::ToWire(rng_.Below(2) == 0 ? of.task : TaskId{{Field(), Field()}, Field(), Field()}, replica.initTask());
    replica.setGeneration(Field());
    replica.setAttempt(Field());
    replica.initWorker().setId(Field());
    replica.getWorker().setIncarnation(Wide());
  }
  void FillFinished(rpc::Finished::Builder out) {
    auto manifest = out.initManifest();
    manifest.setRecords(Wide());
    manifest.setBytes(Wide());
    rpc::ToWire(Digest128{Wide(), Wide()}, manifest.initContent());
    manifest.setPartitions(Field());
    for (auto row : manifest.initTable(static_cast<unsigned>(rng_.Below(100)))) {
      row.setBytes(Wide());
      row.setChunks(Field());
    }
    for (auto output : manifest.initOutputs(static_cast<unsigned>(rng_.Below(3)))) {
      output.setName(Text().c_str());
      output.setStaged(Text().c_str());
      output.setBytes(Wide());
      for (auto block : output.initBlocks(static_cast<unsigned>(rng_.Below(3)))) {
        block.setId(Wide());
        block.setLength(Wide());
        block.initWorkers(1).set(0, Field());
      }
    }
    const uint64_t inputs = rng_.Below(4) != 0 ? 0 : rng_.Below(4) != 0 ? rng_.Below(4) : rng_.Below(5'000);
    for (auto consumed : out.initConsumed(static_cast<unsigned>(inputs))) {
      consumed.setStage(Field());
      consumed.setTask(Field());
      consumed.setGeneration(Field());
    }
    out.setRanUs(Wide());
    out.setWaitedUs(Wide());
    for (auto counter : out.initCounters(static_cast<unsigned>(rng_.Below(3)))) {
      counter.setGroup(Text().c_str());
      counter.setName("n");
      counter.setValue(static_cast<int64_t>(Wide()));
    }
  }
  // Fills a random report. finishes: only ends, with any output, name attempts of its own. Else only other reports do.
  void FillReport(const FakeWorker& liar, bool finishes, rpc::Report::Builder report) {
    AttemptId attempt = Attempt(liar);
    const auto kind = finishes && rng_.Below(2) == 0 ? 0 : rng_.Below(9);
    if ((kind == 0) != finishes) attempt.task.job.seq += 1000;
    report.setNumber(Wide());
    rpc::ToWire(attempt, report.initAttempt());
    switch (kind) {
      case 0: return FillFinished(report.initFinished());
      case 1: return report.setStarted();
      case 2: return report.initFailed().setKind(static_cast<rpc::FailureKind>(rng_.Next()));
      case 3: return report.setRefused(Text().c_str());
      case 4: return report.setKilled();
      case 5: {
        auto done = report.initFetchDone();
        FillReplica(attempt, done.initReplica());
        done.setBytes(Wide());
        done.setTookUs(Wide());
        return done.setReaders(Field());
      }
      case 6: return FillReplica(attempt, report.initFetchFailed().initReplica());
      case 7: return FillReplica(attempt, report.initReplicaMade());
      case 8: return FillReplica(attempt, report.initReplicaNotMade().initReplica());
    }
  }
  // Said in turn; the answers are waited for, and may be errors. Ends where the master has turned the liar away.
  void Lie(FakeWorker& liar, int times, bool finishes) {
    const auto fill = [&](rpc::WorkerRef::Builder ref) {
      ref.setId(rng_.Below(20) == 0 ? Field() : liar.id);
      ref.setIncarnation(rng_.Below(20) == 0 ? Wide() : liar.incarnation());
    };
    int answered = 0;
    for (int i = 0; i < times; ++i) {
      kj::Promise<void> call = nullptr;
      if (const auto what = rng_.Below(6); what < 3) {
        auto request = liar.master().reportRequest();
        fill(request.initWorker());
        for (auto r : request.initReports(static_cast<unsigned>(rng_.Below(5)))) FillReport(liar, finishes, r);
        call = liar.SendAsItIs(kj::mv(request));
      } else if (what < 5) {
        auto request = liar.master().progressRequest();
        fill(request.initWorker());
        for (auto frame : request.initFrames(static_cast<unsigned>(rng_.Below(5)))) {
          rpc::ToWire(Attempt(liar), frame.initAttempt());
          frame.setPhase(static_cast<uint8_t>(rng_.Below(2) == 0 ? rng_.Below(5) : rng_.Next()));
          frame.setTakenBytes(Wide());
          frame.setTotalBytes(Wide());
          frame.setInputsDone(rng_.Below(2) == 0);
        }
        call = request.send().ignoreResult();
      } else {
        auto request = liar.master().blockReceivedRequest();
        fill(request.initWorker());
        for (auto block : request.initBlocks(static_cast<unsigned>(rng_.Below(4)))) {
          block.setId(Wide());
          block.setGeneration(Field());
          block.setLength(Wide());
        }
        call = request.send().ignoreResult();
      }
      call.then([&answered] { ++answered; }, [](kj::Exception&&) {}).wait(io_.io.waitScope);
    }
    EXPECT_GT(answered, times / 2) << "most have to be heard";
  }
  // Two stages, or one that reads nothing but files.
  Result<JobId> Submit(FakeClient& client, const std::string& output, bool one_stage = false) {
    return client.Submit([&](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/" + output, 2);
      if (!one_stage) return;
      auto all = spec.disownStages();
      spec.initStages(1).setWithCaveats(0, all.getReader()[0]);
      spec.getStages()[0].initPorts(1)[0].initFiles().setFormat("text");
    });
  }

  Rng rng_{20261122};
};

TEST_F(HostileWorkerTest, WhateverItReportsTheJobsOfOthersEndWell) {
  FakeWorker liar(io_, "liar", 4), honest(io_, "honest", 2);
  liar.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(liar.Register(master_->port()).ok());
  FakeClient client(io_, master_->port());
  const auto job = Submit(client, "out");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return liar.held.size() >= 3; }));
  Lie(liar, 600, false);
  ASSERT_TRUE(honest.Register(master_->port()).ok());
  liar.Disconnect();
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << client.Job(*job).error;
  EXPECT_EQ(ReadFile(root_ + "/out/part-r-00000").value(), "task 0\n");
}

TEST_F(HostileWorkerTest, WhateverItSaysThatItMadeTheMasterAndItsFilesStayWhole) {
  FakeWorker liar(io_, "liar", 4);
  liar.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(liar.Register(master_->port()).ok());
  FakeClient client(io_, master_->port());
  uint32_t committed = 0;
  for (int round = 0; round < 6; ++round) {
    const auto job = Submit(client, "bad" + std::to_string(round), round % 2 == 0);
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    (void)io_.Until([&] { return liar.held.size() >= 2; }, 1);
    Lie(liar, 300, true);
    auto counters = client.master().countersRequest();
    rpc::ToWire(*job, counters.initJob());
    (void)counters.send().wait(io_.io.waitScope);
    for (const uint32_t done : client.Job(*job).done) committed += done;
    auto kill = client.master().killRequest();
    rpc::ToWire(*job, kill.initJob());
    (void)kill.send().wait(io_.io.waitScope);
    liar.held.clear();
  }
  EXPECT_GE(committed, 6u) << "some has to be believed";
  liar.Disconnect();
  EXPECT_EQ(FileSize(root_ + "/input").value(), 10'000u);
  FakeWorker honest(io_, "honest", 2);
  ASSERT_TRUE(honest.Register(master_->port()).ok());
  const auto job = Submit(client, "out");
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << client.Job(*job).error;
}

}  // namespace
}  // namespace mr::master
