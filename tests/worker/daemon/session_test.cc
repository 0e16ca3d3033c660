// The session of a worker with far more to say than fits into one message, and of one whose master cannot take all that
// it says. The worker's books are real; nothing runs.
#include "worker/daemon/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/wire.h"
#include "tests/worker/daemon/fake_master.h"
#include "worker/daemon/heartbeat.h"
#include "worker/daemon/url_inputs.h"
#include "worker/daemon/worker.h"

namespace mr::worker {
namespace {

using testing::HasSubstr;
using testing::Pair;

constexpr JobId kJob{1, 1};
constexpr Incarnation kIncarnation = 77;

class NoHost final : public TaskHost {
 public:
  size_t EndLeftovers() override { return 0; }
  std::shared_ptr<RunningTask> Run(TaskSpec, std::shared_ptr<TaskObserver>) override { return nullptr; }
  void EndJob(JobId) override {}
  void RenewLease(Instant) override {}
  const RoomReport& room() const override { return room_; }
  RoomReport room_;
};

class SessionTest : public testing::Test {
 protected:
  SessionTest() {
    char path[] = "/tmp/session_test.XXXXXX";
    root_ = mkdtemp(path);
    for (const char* name : {"lib", "files", "scratch", "log"}) EXPECT_TRUE(MakeDirectories(root_ + "/" + name).ok());
    auto store = ShuffleStore::Open({.directory = root_ + "/shuffle"});
    EXPECT_TRUE(store.ok()) << store.status().ToString();
    store_ = *std::move(store);
    loop_.Run([this] { Build(); });
  }
  ~SessionTest() noexcept override {
    loop_.Run([this] { session_->Stop(); });
    pool_.Stop();
    loop_.Run([this] {
      session_.reset();
      seen_.reset();
      worker_.reset();
      services_.reset();
      inputs_.reset();
      side_files_.reset();
      libraries_.reset();
      replicator_.reset();
      fetches_.reset();
    });
    store_.reset();
    (void)RemoveTree(root_);
  }

  void Build() {
    FetchPool::Options fetch;
    fetch.incarnation = kIncarnation;
    fetches_ = std::make_unique<FetchPool>(loop_, store_, pool_.poster(), fetch);
    replicator_ = std::make_unique<Replicator>(loop_, *fetches_, store_);
    libraries_ = std::make_unique<LibraryCache>(
        loop_, pool_.poster(), "", root_ + "/lib",
        [this](const std::string& sha256, uint64_t offset) { return session_->AskLibrary(sha256, offset); });
    side_files_ = std::make_unique<SideFiles>(pool_.poster(), *libraries_, root_ + "/files");
    inputs_ = std::make_unique<InputOpener>(
        pool_.poster(), [] { return kj::Promise<dfs::DfsClient*>(static_cast<dfs::DfsClient*>(nullptr)); },
        root_ + "/scratch", roots_, urls_);
    services_.reset(new Services{loop_,
                                 pool_,
                                 host_,
                                 *store_,
                                 *libraries_,
                                 *side_files_,
                                 directory_,
                                 *inputs_,
                                 roots_,
                                 [this](FetchObserver& o) { return fetches_->NewFetcher(&o); },
                                 nullptr,
                                 [this](mr::Report report, std::function<void(Verdict)> answered) {
                                   return session_->Report(std::move(report), std::move(answered));
                                 },
                                 [this](uint64_t report) { session_->Withdraw(report); },
                                 *replicator_,
                                 {{}, kIncarnation},
                                 root_ + "/scratch",
                                 root_ + "/log",
                                 nullptr,
                                 nullptr});
    Worker::Options options;
    options.slots.total = 2;
    worker_ = std::make_unique<Worker>(*services_, options);
    Session::Options o;
    o.master = master_.address();
    o.name = "one";
    o.incarnation = kIncarnation;
    o.address = "127.0.0.1:1";
    o.slots = options.slots;
    o.blocks = [this] { return blocks_; };
    if (seen_ == nullptr) seen_ = std::make_unique<JournalSeen>(loop_, pool_.poster(), root_ + "/journal_seen");
    o.seen = seen_.get();
    session_ = std::make_unique<Session>(loop_, *worker_, directory_, std::move(o));
  }
  void Start() {
    loop_.Post([this] { session_->Start(); });
  }
  void Keep(uint32_t outputs) {
    loop_.Run([&] {
      for (uint32_t i = 0; i < outputs; ++i) services_->on_kept({{{kJob, 0, i}, 1}, 1, {}, kIncarnation});
    });
  }
  static AttemptId Attempt(uint32_t task) { return {{kJob, 1, task}, 1}; }
  // The end of an attempt that read so many outputs.
  static report::Finished Read(uint32_t outputs) {
    report::Finished finished;
    finished.output.manifest.records = 5;
    for (uint32_t i = 0; i < outputs; ++i) finished.consumed.push_back({0, i, 1, {i + 1, i}});
    return finished;
  }
  void Report(uint32_t task, decltype(mr::Report::what) what) {
    loop_.Run([&] { session_->Report({Attempt(task), std::move(what)}, [this](Verdict) { ++answered_; }); });
  }

  FakeMaster master_;
  std::string root_;
  Pool pool_{2};
  NoHost host_;
  rpc::KjThread loop_{"session_test"};
  std::vector<BlockRef> blocks_;
  std::atomic<uint32_t> answered_ = 0;
  std::shared_ptr<ShuffleStore> store_;
  // On the loop:
  Directory directory_;
  std::unique_ptr<FetchPool> fetches_;
  std::unique_ptr<Replicator> replicator_;
  std::unique_ptr<LibraryCache> libraries_;
  std::unique_ptr<SideFiles> side_files_;
  const FileRoots roots_ = FileRoots::Any();
  UrlInputs urls_{nullptr, 0, ""};
  std::unique_ptr<InputOpener> inputs_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<JournalSeen> seen_;
  std::unique_ptr<Session> session_;
};

TEST_F(SessionTest, ListsHundredsOfThousandsOfBlocksAndOutputsInPages) {
  Keep(200'000);
  for (uint64_t i = 0; i < 300'000; ++i) blocks_.push_back({{i + 1}, 1, i, 2 * i});
  Start();
  const auto first = master_.WaitForRegistration(1);
  EXPECT_GT(first.pages, 50u) << "a page is far below 1 MiB";
  ASSERT_EQ(first.inventory.size(), 200'000u);
  ASSERT_EQ(first.blocks.size(), 300'000u);
  for (uint32_t i : {0u, 4095u, 4096u, 199'999u}) EXPECT_EQ(first.inventory[i].output.task.task, i);
  for (uint64_t i : {0u, 8191u, 8192u, 299'999u}) {
    EXPECT_EQ(first.blocks[i].id.value, i + 1);
    EXPECT_EQ(first.blocks[i].digest, 2 * i);
  }
  // The same again behind a restart, where the master says that nobody needs the outputs.
  master_.SetDropsInventory(true);
  master_.Restart();
  EXPECT_EQ(master_.WaitForRegistration(2).inventory.size(), 200'000u);
  const Instant limit = Now() + Seconds(60);
  while (loop_.Run([this] { return worker_->kept(); }) != 0 && Now() < limit) std::this_thread::yield();
  master_.Restart();
  const auto third = master_.WaitForRegistration(3);
  EXPECT_EQ(third.inventory.size(), 0u);
  EXPECT_EQ(third.blocks.size(), 300'000u);
}

TEST_F(SessionTest, SendsWhatBecameOfBlocksDuringARegistrationBehindIt) {
  blocks_ = {{{1}, 1, 10, 0}, {{2}, 1, 10, 0}};
  master_.HoldRegistrations(true);
  Start();
  EXPECT_EQ(master_.WaitForRegistration(1).blocks.size(), 2u);
  // Under way, not answered: block 1 goes bad, block 3 comes.
  loop_.Run([&] {
    EXPECT_FALSE(session_->registered());
    session_->BlockSuspect({{1}, 1, 10, 0});
    session_->BlockReceived({{3}, 1, 10, 0});
  });
  master_.HoldRegistrations(false);
  EXPECT_THAT(master_.WaitForBlockNews(2), testing::UnorderedElementsAre(Pair(1, false), Pair(3, true)));
}

TEST_F(SessionTest, OfABlockThatGoesBadAndComesAgainTheLaterNewsCount) {
  Start();
  master_.WaitForRegistration(1);
  // Behind the answer, so that all of it is sent and none is listed.
  Report(0, report::Killed{});
  master_.WaitForReport(Attempt(0), {"killed"});
  loop_.Run([&] {
    session_->BlockReceived({{1}, 1, 10, 0});
    session_->BlockSuspect({{1}, 1, 10, 0});
    session_->BlockSuspect({{2}, 1, 10, 0});
    session_->BlockReceived({{2}, 1, 10, 0});
  });
  master_.WaitForBlockNews(2);
  Report(1, report::Killed{});
  master_.WaitForReport(Attempt(1), {"killed"});
  EXPECT_THAT(master_.WaitForBlockNews(2), testing::UnorderedElementsAre(Pair(1, false), Pair(2, true)));
}

TEST_F(SessionTest, SendsManyBlockReportsInCallsThatFit) {
  Start();
  master_.WaitForRegistration(1);
  loop_.Run([&] {
    for (uint64_t i = 1; i <= 150'000; ++i) session_->BlockReceived({{i}, 1, 10, 0});
  });
  const auto heard = master_.WaitForBlockNews(150'000);
  EXPECT_EQ(heard.size(), 150'000u);
  EXPECT_EQ(master_.Registrations(), 1u) << "the session holds";
}

// The calls fail like those under way when the master dies.
TEST_F(SessionTest, NewsOfBlocksThatCannotBeDeliveredEndTheSessionAndNotTheWorker) {
  Start();
  master_.WaitForRegistration(1);
  for (int round = 1; round <= 3; ++round) {
    master_.FailBlockNews(1);
    loop_.Run([&] {
      if (round % 2 == 1) session_->BlockReceived({{7}, 1, 10, 0});
      if (round % 2 == 0) session_->BlockSuspect({{7}, 1, 10, 0});
    });
    master_.WaitForRegistration(static_cast<size_t>(round) + 1);
  }
  loop_.Run([&] { session_->BlockReceived({{8}, 1, 10, 0}); });
  EXPECT_EQ(master_.WaitForBlockNews(1).size(), 1u) << "the last session is a good one";
}

TEST_F(SessionTest, SendsAReportOfAHundredThousandInputsInPieces) {
  Start();
  Report(1, Read(120'000));
  const auto heard = master_.WaitForReport(Attempt(1), {"finished"});
  EXPECT_EQ(heard.records, 5u);
  ASSERT_EQ(heard.consumed.size(), 120'000u);
  EXPECT_EQ(heard.consumed[119'999].task, 119'999u);
  EXPECT_EQ(heard.consumed[119'999].content, (Digest128{120'000, 119'999}));
  EXPECT_EQ(master_.Registrations(), 1u) << "the session holds";
}

TEST_F(SessionTest, FailsAnAttemptForGoodWhoseReportIsTooLongEvenForPieces) {
  Start();
  Report(1, Read(1'300'000));
  const auto heard = master_.WaitForReport(Attempt(1), {"finished", "failed"});
  EXPECT_EQ(heard.what, "failed");
  EXPECT_EQ(heard.failure_kind, FailureKind::kUserFinal);
  EXPECT_THAT(heard.message, HasSubstr("can be sent"));
}

TEST_F(SessionTest, AReportThatCannotBeDeliveredHoldsUpNoOtherAndBecomesAFailure) {
  master_.FailReportsOf(Attempt(1));
  Start();
  master_.WaitForRegistration(1);
  Report(1, Read(3));
  for (uint32_t task = 2; task < 20; ++task) Report(task, report::Killed{});
  for (uint32_t task = 2; task < 20; ++task) master_.WaitForReport(Attempt(task), {"killed"});
  const auto heard = master_.WaitForReport(Attempt(1), {"failed"});
  EXPECT_EQ(heard.failure_kind, FailureKind::kEnvironment) << "not the user's fault";
  EXPECT_THAT(heard.message, HasSubstr("could not be delivered"));
  EXPECT_THAT(heard.message, HasSubstr("as the test wants it")) << "the cause";
  loop_.Run([&] { EXPECT_EQ(session_->given_up(), 1u); });
  // And the session is a good one again.
  Report(20, Read(3));
  master_.WaitForReport(Attempt(20), {"finished"});
}

// The failure may be as little the cause as the report that it replaces, so that it has all its tries, too.
TEST_F(SessionTest, TheFailureInPlaceOfAReportThatCannotBeDeliveredIsSentAgainToo) {
  master_.FailReportsOf(Attempt(1), /*failures=*/2);
  Start();
  master_.WaitForRegistration(1);
  Report(1, Read(3));
  EXPECT_THAT(master_.WaitForReport(Attempt(1), {"failed"}).message, HasSubstr("could not be delivered"));
  loop_.Run([&] { EXPECT_EQ(session_->given_up(), 1u); });
}

// One that came before another is not heard any more when the connection breaks: numbers begin anew.
TEST_F(SessionTest, CommandsThatCameTooEarlyForAConnectionTakeNobodysPlaceOnTheNext) {
  const auto kill = [](uint32_t task) {
    return [task](capnp::List<rpc::Command>::Builder out) { rpc::ToWire(Attempt(task), out[0].initKill()); };
  };
  Start();
  master_.WaitForRegistration(1);
  master_.SendAhead(1, kill(9));
  master_.Restart();
  master_.WaitForRegistration(2);
  for (uint32_t task = 1; task <= 3; ++task) master_.Send(1, kill(task));
  for (uint32_t task = 1; task <= 3; ++task) master_.WaitForReport(Attempt(task), {"killed"});
  EXPECT_EQ(master_.ReportsOf(Attempt(9), "killed"), 0u);
}

TEST_F(SessionTest, TheEndOfAJobReplacesAReportThatBreaksTheConnection) {
  master_.FailReportsOf(Attempt(1));
  Start();
  master_.WaitForRegistration(1);
  master_.HoldRegistrations(true);
  Report(1, Read(3));
  master_.WaitForRegistration(2);  // it broke the connection
  // Carried out before anything is sent again.
  master_.SendUnanswered(1, [](capnp::List<rpc::Command>::Builder out) { rpc::ToWire(kJob, out[0].initEndJob()); });
  master_.HoldRegistrations(false);
  master_.WaitForReport(Attempt(1), {"killed"});
  EXPECT_EQ(master_.ReportsOf(Attempt(1), "failed"), 0u);
  loop_.Run([&] { EXPECT_EQ(session_->given_up(), 0u); });
}

// The file that keeps the last durable record for a restarted worker of the same data directory. Epoch 0: no record.
class JournalSeenTest : public testing::Test {
 protected:
  JournalSeenTest() {
    char path[] = "/tmp/journal_seen_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~JournalSeenTest() noexcept override {
    pool_.Stop();
    (void)RemoveTree(root_);
  }
  std::string Path() const { return root_ + "/journal_seen"; }
  JournalRecord Read(uint64_t cluster) {
    return loop_.Run([&] { return JournalSeen(loop_, pool_.poster(), Path()).Of(cluster); });
  }
  std::string root_;
  Pool pool_{1};
  rpc::KjThread loop_{"seen_test"};
};

TEST_F(JournalSeenTest, ItsFileOutlivesTheWorkerAndADamagedOneSaysNothing) {
  const JournalRecord newest{4, 1700, 200};
  auto seen = loop_.Run([&] { return std::make_unique<JournalSeen>(loop_, pool_.poster(), Path()); });
  loop_.Run([&] {
    EXPECT_EQ(seen->Of(7), JournalRecord{});
    seen->Note(7, {4, 1700, 100});
    seen->Note(7, newest);
    seen->Note(7, {3, 1600, 900});
    seen->Note(7, {4, 1700, 150});
    seen->Note(7, {});
    EXPECT_EQ(seen->Of(7), newest) << "what is older changes nothing";
    EXPECT_EQ(seen->Of(8), JournalRecord{}) << "another cluster's";
  });
  const Instant end = Now() + Seconds(60);
  while (Read(7) != newest && Now() < end) std::this_thread::yield();
  EXPECT_EQ(Read(7), newest);
  EXPECT_EQ(Read(8), JournalRecord{});
  loop_.Run([&] { seen.reset(); });
  std::string text = ReadFile(Path()).value();
  text[text.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileDurably(Path(), text).ok());
  EXPECT_EQ(Read(7), JournalRecord{});
  ASSERT_TRUE(WriteFileDurably(Path(), "").ok());
  EXPECT_EQ(Read(7), JournalRecord{});
}

TEST_F(JournalSeenTest, AnotherClustersRecordReplacesWhatWasSeenThoughItIsOlder) {
  auto seen = loop_.Run([&] { return std::make_unique<JournalSeen>(loop_, pool_.poster(), Path()); });
  const JournalRecord other{1, 900, 5};
  loop_.Run([&] {
    seen->Note(7, {4, 1700, 200});
    seen->Note(8, other);
    EXPECT_EQ(seen->Of(8), other);
    EXPECT_EQ(seen->Of(7), JournalRecord{});
  });
  const Instant end = Now() + Seconds(60);
  while (Read(8) != other && Now() < end) std::this_thread::yield();
  EXPECT_EQ(Read(8), other);
  EXPECT_EQ(Read(7), JournalRecord{});
  loop_.Run([&] { seen.reset(); });
}

TEST_F(JournalSeenTest, AWriteThatFailsIsTriedAgainWithoutANewerRecord) {
  const std::string directory = root_ + "/later";
  const JournalRecord newest{4, 1700, 200};
  auto seen = loop_.Run([&] { return std::make_unique<JournalSeen>(loop_, pool_.poster(), directory + "/seen"); });
  loop_.Run([&] { seen->Note(7, newest); });
  const auto record = [&] {
    return loop_.Run([&] { return JournalSeen(loop_, pool_.poster(), directory + "/seen").Of(7); });
  };
  // The first write has failed when its delay and one turn of the pool have passed.
  std::this_thread::sleep_for(std::chrono::nanoseconds(kNewEpochDelay.ns * 2));
  ASSERT_TRUE(MakeDirectories(directory).ok());
  const Instant end = Now() + Seconds(60);
  while (record() != newest && Now() < end) std::this_thread::yield();
  EXPECT_EQ(record(), newest);
  loop_.Run([&] { seen.reset(); });
}

TEST_F(SessionTest, ShowsWhatMastersSaidIsDurableWhenItRegisters) {
  master_.SetDurable({4, 1700, 200});
  Start();
  EXPECT_EQ(master_.WaitForRegistration(1).seen, JournalRecord{});
  Report(0, report::Finished{});  // behind the answer
  master_.WaitForReport(Attempt(0), {"finished"});
  loop_.Run([&] { session_->Durable({4, 1700, 300}); });  // as a beat was answered
  master_.Restart();
  EXPECT_EQ(master_.WaitForRegistration(2).seen, (JournalRecord{4, 1700, 300}));
}

TEST_F(SessionTest, AnAnswerToABeatFromBeforeTheRegistrationDoesNotEndIt) {
  const Instant before = Now();
  Start();
  Report(0, report::Finished{});
  master_.WaitForReport(Attempt(0), {"finished"});
  loop_.Run([&] {
    session_->Unknown(before);
    EXPECT_TRUE(session_->registered());
    session_->Unknown(Now());
    EXPECT_FALSE(session_->registered());
  });
  master_.WaitForRegistration(2);
}

TEST(HeartbeatTest, AnAnswerOfAMasterThatDoesNotKnowTheWorkerIsNoContact) {
  FakeMaster master;
  master.SetKnown(false);
  std::atomic<int> unknown = 0, contacts = 0;
  const auto until = [](const auto& is) {
    const Instant end = Now() + Seconds(60);
    while (!is() && Now() < end) std::this_thread::yield();
    return is();
  };
  Heartbeat heartbeat(
      master.address(), [&](Instant) { ++unknown; }, [] {}, [&](Instant, const JournalRecord&) { ++contacts; },
      [] { return Duration{}; }, [] { return DiskRoom{}; });
  heartbeat.Set({{FakeMaster::kWorkerId}, kIncarnation}, 0, Millis(10), Duration{});
  ASSERT_TRUE(until([&] { return unknown >= 3; }));
  EXPECT_EQ(contacts, 0) << "it would extend the lease of side effects, and the work was given to others";
  master.SetKnown(true);
  EXPECT_TRUE(until([&] { return contacts >= 1; }));
}

// Attempts that were launched after the first silence must end, too.
TEST(HeartbeatTest, EachSilenceIsToldAndNotOnlyTheFirst) {
  FakeMaster master;
  master.SetAnswersBeats(false);
  std::atomic<int> silences = 0;
  const auto until = [&](int count) {
    const Instant end = Now() + Seconds(60);
    while (silences < count && Now() < end) std::this_thread::yield();
    return silences == count;
  };
  Heartbeat heartbeat(
      master.address(), [](Instant) {}, [&] { ++silences; }, [](Instant, const JournalRecord&) {},
      [] { return Duration{}; }, [] { return DiskRoom{}; });
  for (int registration = 1; registration <= 3; ++registration) {
    heartbeat.Set({{FakeMaster::kWorkerId}, kIncarnation}, 0, Millis(10), Millis(30));
    EXPECT_TRUE(until(registration));
  }
}

}  // namespace
}  // namespace mr::worker
