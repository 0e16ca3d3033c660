// mrsim's replay over journals that a real master wrote: equal, and where it is not, what it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "common/io/files.h"
#include "master/core/records.h"
#include "master/host/master.h"
#include "master/journal/directory.h"
#include "master/sim/replay/command.h"
#include "master/sim/replay/replay.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/rewrite_journal.h"

namespace mr::master {
namespace {

namespace fs = std::filesystem;

using test::StoredRecord;

class ReplayTest : public testing::Test {
 protected:
  ReplayTest() {
    char path[] = "/tmp/replay_test.XXXXXX";
    root_ = mkdtemp(path);
    options_.directory = root_ + "/master";
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
  }
  ~ReplayTest() noexcept override { (void)RemoveTree(root_); }

  // A worker that is lost, retries, a queue and `jobs` jobs; the master ends.
  void WriteJournal(int jobs) {
    auto master = Master::Start(options_);
    ASSERT_TRUE(master.ok()) << master.status().ToString();
    test::FakeClient client(io_, (*master)->port());
    test::FakeWorker one(io_, "one"), two(io_, "two");
    ASSERT_TRUE(one.Register((*master)->port()).ok());
    ASSERT_TRUE(two.Register((*master)->port()).ok());
    ASSERT_TRUE(client.SetQueue("night", 2, 1, 0).ok());
    one.fate = [](const AttemptId& a) {
      return a.number == 1 && a.task.task == 0 ? test::FakeWorker::Fate::kUserFailure : test::FakeWorker::Fate::kDone;
    };
    for (int i = 0; i < jobs; ++i) {
      const auto job = client.Submit([&](rpc::JobSpec::Builder spec) {
        test::FillTwoStages(spec, root_ + "/input", root_ + "/out" + std::to_string(next_++), 2);
      });
      ASSERT_TRUE(job.ok());
      ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << client.Job(*job).error;
      if (i == 0) two.Disconnect();
    }
    digest_ = 0;
    one.Disconnect();
    EXPECT_TRUE(io_.Until([&] { return client.Worker(one.id).first == "lost"; }));
    digest_ = (*master)->StateDigest();
  }
  // Returns what `mrsim replay --attempt` prints about this attempt, after its exit code; or its error, after what it
  // printed.
  std::string Followed(const std::string& attempt, const std::string& journal, const std::string& form = "table") {
    sim::ReplayCommand command{.journal = journal, .form = form};
    command.attempt = attempt;
    testing::internal::CaptureStdout();
    const auto exit = sim::RunReplay(command);
    const std::string out = testing::internal::GetCapturedStdout();
    return exit.ok() ? std::to_string(*exit) + "\n" + out : out + exit.status().ToString();
  }
  std::string Directory() const { return options_.directory + "/journal"; }
  std::string File() const { return Directory() + "/journal"; }

  // The same journal with each record passed through `change`.
  std::string Rewritten(const std::function<void(StoredRecord*)>& change) {
    const std::string directory = root_ + "/rewritten";
    fs::remove_all(directory);
    EXPECT_TRUE(MakeDirectories(directory).ok());
    test::RewriteJournal(File(), directory + "/journal", [&](StoredRecord* stored) {
      change(stored);
      return true;
    });
    return directory;
  }
  // `change` gets each event of this kind.
  template <class E>
  std::string WithEvent(const std::function<void(E*, EventRecord*)>& change) {
    return Rewritten([&](StoredRecord* stored) {
      if (stored->record.kind != static_cast<uint8_t>(RecordKind::kEvent)) return;
      EventRecord event;
      ASSERT_TRUE(DecodeEvent(stored->payload, &event));
      if (auto* e = std::get_if<E>(&event.stamped.event)) change(e, &event);
      stored->payload = Encode(event);
    });
  }

  std::string root_;
  Master::Options options_;
  test::TestIo io_;
  int next_ = 0;
  uint64_t digest_ = 0;
};

TEST_F(ReplayTest, EveryRecordsDigestComesOutAndNothingIsWritten) {
  WriteJournal(3);
  WriteJournal(2);
  const std::string before = ReadFile(File()).value();
  uint64_t steps = 0;
  const auto replayed = sim::ReplayJournal(options_.directory, [&](const auto&, const auto&, const auto&) { ++steps; });
  ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
  EXPECT_EQ(replayed->verdict, sim::Verdict::kEqual) << sim::Table(*replayed);
  EXPECT_EQ(replayed->compared, replayed->events) << "each event has its digest";
  EXPECT_EQ(steps, replayed->events);
  EXPECT_EQ(replayed->digest, digest_);
  EXPECT_EQ(replayed->jobs, 5u);
  EXPECT_EQ(replayed->succeeded, 5u);
  EXPECT_EQ(replayed->epochs, 2u);
  EXPECT_EQ(replayed->by_kind.at("QueueSet"), 2u);
  EXPECT_GE(replayed->by_kind.at("WorkerLost"), 2u);
  EXPECT_GE(replayed->by_kind.at("AttemptFailed"), 1u);
  EXPECT_TRUE(ReadFile(File()).value() == before);
  EXPECT_THAT(*ListDirectory(Directory()), testing::ElementsAre("journal", "lock", "spare"));
}

TEST_F(ReplayTest, AnAttemptIsFollowedThroughTheJournal) {
  WriteJournal(1);
  const std::string attempt = "attempt_1_0001_0_m_000000_1", unknown = "attempt_1_0009_0_m_000000_1";
  const std::string out = Followed(attempt, Directory());
  EXPECT_THAT(
      out, testing::ContainsRegex("^0\n[0-9.]+ s  Launch attempt_1_0001_0_m_000000_1 on w[12] [(][a-z_]+[)] after "));
  EXPECT_THAT(out, testing::ContainsRegex("Attempt(Failed|Finished) of attempt_1_0001_0_m_000000_1 on w[12]"));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("_000001_")));
  EXPECT_THAT(out, testing::Not(testing::HasSubstr("ended by"))) << "the event names the attempt";
  EXPECT_THAT(Followed(unknown, Directory()), testing::EndsWith("no event or decision names " + unknown));
  EXPECT_THAT(Followed("attempt_1", Directory()), testing::HasSubstr("is not an attempt id"));
  EXPECT_THAT(Followed(attempt, Directory(), "json"), testing::HasSubstr("--attempt prints text only"));
  EXPECT_THAT(Followed(attempt, "-"), testing::HasSubstr("--attempt needs a journal"));
  EXPECT_THAT(Followed(attempt, root_ + "/input"), testing::HasSubstr("--attempt needs a journal"));
  // A replay that ends early may not have come to the attempt.
  const std::string changed = WithEvent<sched::AttemptFailed>(
      [](sched::AttemptFailed* e, EventRecord*) { e->kind = FailureKind::kEnvironment; });
  EXPECT_THAT(Followed(unknown, changed),
              testing::AllOf(testing::HasSubstr("diverged"), testing::HasSubstr("the place where the replay ended")));
}

TEST_F(ReplayTest, AnAttemptThatEndsWithItsWorkerIsFollowedToItsEnd) {
  {
    auto master = Master::Start(options_);
    ASSERT_TRUE(master.ok()) << master.status().ToString();
    test::FakeClient client(io_, (*master)->port());
    test::FakeWorker one(io_, "one");
    one.hold = [](const AttemptId&) { return true; };
    ASSERT_TRUE(one.Register((*master)->port()).ok());
    ASSERT_TRUE(
        client
            .Submit([&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/input", root_ + "/out", 2); })
            .ok());
    ASSERT_TRUE(io_.Until([&] { return !one.held.empty(); }));
    one.Disconnect();
    ASSERT_TRUE(io_.Until([&] { return client.Worker(one.id).first == "lost"; }));
  }
  const std::string out = Followed("attempt_1_0001_0_m_000000_1", Directory());
  EXPECT_THAT(out, testing::ContainsRegex("^0\n[0-9.]+ s  Launch attempt_1_0001_0_m_000000_1 on w1 "));
  EXPECT_THAT(out, testing::ContainsRegex("\n[0-9.]+ s  ended by WorkerLost on w1\n"));
}

TEST_F(ReplayTest, BeginsAtTheOldestSnapshot) {
  options_.snapshot_bytes = 16 << 10;
  for (int i = 0; i < 3; ++i) WriteJournal(8);
  ASSERT_FALSE(PathExists(File()));
  const auto replayed = sim::ReplayJournal(Directory());
  ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
  EXPECT_EQ(replayed->verdict, sim::Verdict::kEqual) << sim::Table(*replayed);
  EXPECT_EQ(replayed->snapshot, journal::ListFiles(Directory())->snapshots.front().after);
  EXPECT_EQ(replayed->digest, digest_);
  EXPECT_EQ(replayed->compared, replayed->events);
  EXPECT_THAT(Followed("attempt_1_0001_0_m_000000_1", Directory()),
              testing::HasSubstr("the oldest snapshot, at record " + std::to_string(replayed->snapshot)));
}

TEST_F(ReplayTest, ADivergenceIsFoundAtItsRecord) {
  WriteJournal(2);
  // The event is changed to one that the scheduler does not count as a failure.
  std::string directory = WithEvent<sched::AttemptFailed>(
      [](sched::AttemptFailed* e, EventRecord*) { e->kind = FailureKind::kEnvironment; });
  auto replayed = sim::ReplayJournal(directory);
  ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
  EXPECT_EQ(replayed->verdict, sim::Verdict::kDiverged);
  ASSERT_TRUE(replayed->divergence);
  EXPECT_TRUE(replayed->divergence->event.starts_with("AttemptFailed of attempt_1_0001_0_m_000000_1 on w"))
      << replayed->divergence->event;
  EXPECT_THAT(replayed->divergence->changed, testing::Contains("task job_1_0001/0/0"));
  EXPECT_THAT(sim::Json(*replayed), testing::HasSubstr("\"result\":\"diverged\""));

  // The recorded scheduler did not take the queue's settings.
  uint64_t before = 0;
  directory = Rewritten([&](StoredRecord* stored) {
    if (stored->record.kind != static_cast<uint8_t>(RecordKind::kEvent)) return;
    EventRecord event;
    ASSERT_TRUE(DecodeEvent(stored->payload, &event));
    if (std::holds_alternative<sched::QueueSet>(event.stamped.event)) event.digest = before;
    before = *event.digest;
    stored->payload = Encode(event);
  });
  replayed = sim::ReplayJournal(directory);
  ASSERT_TRUE(replayed.ok() && replayed->divergence);
  EXPECT_EQ(replayed->divergence->event, "QueueSet of 'night'");
  EXPECT_THAT(replayed->divergence->unchanged, testing::ElementsAre("counters of offers and arrivals", "queue 'night'"))
      << "a queue's number counts";

  // The state is the same, what was promised is not.
  directory =
      WithEvent<sched::AttemptFinished>([](sched::AttemptFinished*, EventRecord* record) { record->outcome->clear(); });
  replayed = sim::ReplayJournal(directory);
  ASSERT_TRUE(replayed.ok() && replayed->divergence);
  EXPECT_THAT(replayed->divergence->detail, testing::HasSubstr("recorded 0 promises"));
}

TEST_F(ReplayTest, TornDamagedAndForeignAreToldApart) {
  WriteJournal(2);
  const uint64_t records = sim::ReplayJournal(Directory())->records;
  const std::string whole = Rewritten([](StoredRecord*) {});  // without seal and preallocated space
  const std::string bytes = ReadFile(whole + "/journal").value();
  const auto with = [&](std::string changed) {
    EXPECT_TRUE(WriteFileDurably(whole + "/journal", changed).ok());
    const auto replayed = sim::ReplayJournal(whole);
    EXPECT_TRUE(replayed.ok()) << replayed.status().ToString();
    return *replayed;
  };
  const auto torn = with(bytes.substr(0, bytes.size() - 5));
  EXPECT_EQ(torn.verdict, sim::Verdict::kTorn);
  EXPECT_EQ(sim::ExitOf(torn.verdict), 9);
  EXPECT_EQ(torn.records, records - 1);
  EXPECT_GT(torn.cut_bytes, 0u);
  std::string flipped = bytes;
  flipped[flipped.size() / 2] = static_cast<char>(flipped[flipped.size() / 2] ^ 4);
  const auto damaged = with(flipped);
  EXPECT_EQ(damaged.verdict, sim::Verdict::kDamaged);
  EXPECT_EQ(sim::ExitOf(damaged.verdict), 10);
  EXPECT_THAT(damaged.damage, testing::HasSubstr("is damaged at offset"));
  EXPECT_GT(damaged.compared, 0u);

  const std::string later = Rewritten([](StoredRecord* stored) {
    if (stored->record.kind != static_cast<uint8_t>(RecordKind::kEpoch)) return;
    EpochStarted epoch;
    ASSERT_TRUE(DecodeFields(stored->payload, &epoch));
    epoch.scheduler_version = 77;
    stored->payload = EncodeFields(epoch);
  });
  const auto foreign = sim::ReplayJournal(later);
  ASSERT_TRUE(foreign.ok());
  EXPECT_EQ(foreign->verdict, sim::Verdict::kOtherVersion);
  EXPECT_EQ(sim::ExitOf(foreign->verdict), 3);
  EXPECT_EQ(foreign->events, 0u);
  EXPECT_GT(foreign->skipped, 0u);
  EXPECT_THAT(sim::Table(*foreign), testing::HasSubstr("scheduler version 77, this build has version"));

  EXPECT_EQ(sim::ReplayJournal(root_).status().code(), Code::kNotFound);
  EXPECT_EQ(sim::ReplayJournal(root_ + "/nowhere").status().code(), Code::kNotFound);
  EXPECT_EQ(sim::ReplayJournal(whole + "/journal").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace mr::master
