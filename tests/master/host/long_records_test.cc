// Records of jobs that are longer than the journal's limit: their job fails in words, or leaves something out; the
// master goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "master/core/records.h"
#include "master/journal/directory.h"
#include "tests/master/host/restarts_fixture.h"

namespace mr::master {
namespace {

constexpr uint32_t kOtherVersion = 77;

class LongRecordsTest : public test::RestartsFixture {
 protected:
  Result<JobId> Submit(const std::string& output) {
    return client_->Submit([&](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 2);
      spec.getOutput().setUri(output.c_str());
    });
  }
  // "" where it succeeds.
  std::string EndOf(JobId job) {
    EXPECT_TRUE(io_.Until([&] {
      const auto state = client_->Job(job).state;
      return state == rpc::JobState::SUCCEEDED || state == rpc::JobState::FAILED;
    }));
    return client_->Job(job).error;
  }
  // Calls fn(event, bytes of its record) for each event in the journal of a stopped master.
  void ForEachEvent(const std::function<void(const EventRecord&, size_t)>& fn) {
    const auto read = journal::ReadDirectory(
        options_.directory + "/journal", 0, UINT64_MAX, [&](const journal::Record& record, uint64_t) {
          EventRecord event;
          const bool is_event = record.kind == static_cast<uint8_t>(RecordKind::kEvent);
          if (is_event && DecodeEvent(record.payload, &event)) fn(event, record.payload.size());
          return Status::Ok();
        });
    EXPECT_TRUE(read.ok()) << read.status().ToString();
  }
};

// The inputs that the attempt read, and the decisions, are in the same record.
TEST_F(LongRecordsTest, ACommitWhoseWholeRecordIsTooLongFailsItsJob) {
  const auto run = [&](const std::string& output) {
    EXPECT_TRUE(Start().ok());
    test::FakeWorker worker(io_, "one");
    worker.edit = [](const AttemptId& attempt, rpc::Finished::Builder finished) {
      if (attempt.task.stage != 1) return;
      auto outputs = finished.getManifest().initOutputs(100);
      for (unsigned i = 0; i < outputs.size(); ++i) {
        outputs[i].setName(("part-" + std::to_string(attempt.task.task) + "-" + std::to_string(100 + i)).c_str());
      }
    };
    EXPECT_TRUE(worker.Register(master_->port()).ok());
    const auto job = Submit(output);
    EXPECT_TRUE(job.ok()) << job.status().ToString();
    const std::string error = EndOf(*job);
    Stop();
    return error;
  };
  const auto last_commit = [&] {
    size_t bytes = 0;
    ForEachEvent([&](const EventRecord& event, size_t size) {
      for (const sched::Decision& d : *event.outcome) {
        if (std::holds_alternative<sched::CommitJob>(d)) bytes = size;
      }
    });
    return bytes;
  };
  ASSERT_EQ(run("dfs:///out1"), "");
  const size_t bytes = last_commit();
  options_.record_bytes = bytes + 50;
  EXPECT_EQ(run("dfs:///out2"), "");
  options_.record_bytes = bytes - 50;
  EXPECT_THAT(run("dfs:///out3"), testing::HasSubstr("is the most"));
  EXPECT_LT(last_commit(), options_.record_bytes);
}

TEST_F(LongRecordsTest, AJobThatIsTakenOverKeepsTheOutputsThatARecordTakes) {
  struct Taken {
    size_t bytes = 0, outputs = 0;
  };
  const auto last = [&] {
    Taken taken;
    ForEachEvent([&](const EventRecord& event, size_t size) {
      const auto* over = std::get_if<sched::JobTakenOver>(&event.stamped.event);
      if (over != nullptr) taken = {size, over->outputs.size()};
    });
    return taken;
  };
  for (const bool plan_fits : {true, false}) {
    options_.record_bytes = kRecordBytes;
    options_.scheduler_version = kOtherVersion;
    ASSERT_TRUE(Start().ok());
    test::FakeWorker worker(io_, "one");
    worker.hold = [](const AttemptId& attempt) { return attempt.task.stage == 1; };
    ASSERT_TRUE(worker.Register(master_->port()).ok());
    const auto job = Submit("file://" + root_ + "/out" + (plan_fits ? "1" : "2"));
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2 && worker.verdicts.size() == 3; }));
    Stop();
    options_.scheduler_version = sched::kSchedulerVersion;
    ASSERT_TRUE(Start().ok());
    Stop();
    const Taken whole = last();
    ASSERT_EQ(whole.outputs, 3u);
    options_.scheduler_version = kOtherVersion;
    options_.record_bytes = plan_fits ? whole.bytes - 60 : 100;
    ASSERT_TRUE(Start().ok());
    worker.hold = [](const AttemptId&) { return false; };
    ASSERT_TRUE(worker.Register(master_->port()).ok());
    const std::string error = EndOf(*job);
    Stop();
    const Taken shorter = last();
    if (plan_fits) {
      EXPECT_EQ(error, "");
      EXPECT_GT(shorter.outputs, 0u);
      EXPECT_LT(shorter.bytes, whole.bytes - 60);
    } else {
      EXPECT_THAT(error, testing::HasSubstr("is the most"));
    }
    EXPECT_LT(shorter.outputs, 3u);
  }
}

}  // namespace
}  // namespace mr::master
