// Commands that share a message, commands that are held, and commands that leave at the end of the turn.
#include "master/host/dispatcher.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

// A job of 40 maps, which run on c, and a reduce. Workers a and b are drained until a test needs them.
class DispatcherTest : public test::HostFixture {
 protected:
  // A batch of commands as it left.
  struct Sent {
    size_t verdicts = 0, commands = 0;
    std::set<uint32_t> entries;  // tasks with an entry in the directory of the maps
    size_t infos = 0, deltas = 0, ends = 0;
    uint64_t version = 0;
  };

  explicit DispatcherTest(uint32_t maps = 40) : HostFixture("fifo"), maps_(maps) {
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(maps_ * 4096, 'x')).ok());
    outlets_.applied = [this](uint64_t session, const Message& batch) { Note(session, batch); };
    RegisterC();
    for (const char name : {'a', 'b'}) {
      Drain(name, true);
      On([&] { host_->sessions().RegisterAnswered(static_cast<uint64_t>(name)); });
    }
  }

  void RegisterC() {
    On([&] {
      RegisterIn in;
      in.extra.name = "c";
      in.info.incarnation = Incarnation{'c'};
      in.info.address = "127.0.0.3:1";
      in.info.slots.total = maps_;
      in.info.memory_bytes = 1ull << 40;
      host_->sessions().Register('c', in, [](const RegisterOut&) {});
      host_->sessions().HeartbeatConnected(in.info.incarnation, true);
      host_->sessions().RegisterAnswered('c');
    });
  }

  void Note(uint64_t session, const Message& batch) {
    Sent sent;
    const auto root = batch->getRoot<rpc::CommandBatch>().asReader();
    sent.verdicts = root.getAnswers().size();
    sent.commands = root.getCommands().size();
    for (const auto command : root.getCommands()) {
      sent.infos += command.isStage() ? 1 : 0;
      sent.ends += command.isEndJob() ? 1 : 0;
      if (!command.isDirectory()) continue;
      ++sent.deltas;
      EXPECT_GT(command.getDirectory().getVersion(), sent.version) << "a worker drops a delta that is not newer";
      sent.version = command.getDirectory().getVersion();
      for (const auto entry : command.getDirectory().getAdded()) sent.entries.insert(entry.getTask());
    }
    sent_[static_cast<char>(session)].push_back(sent);
  }

  void Drain(char name, bool on) {
    On([&] { host_->sessions().Drain(Of(name).id, on, [](const Changed&) {}); });
  }
  void SubmitMaps() {
    const auto job = Submit();
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    job_ = *job;
  }
  // The reduce runs on b, and waits for the maps.
  void StartReader() {
    Drain('b', false);
    while (Took([](const Sent& sent) { return sent.deltas; }) == 0) Turn();
  }
  // In one turn. rows: of the table of each output.
  void Commit(uint32_t from, uint32_t to, size_t rows = 0) {
    On([&] {
      for (uint32_t task = from; task < to; ++task) {
        mr::Report report = Finished({{job_, 0, task}, 1});
        std::get<report::Finished>(report.what).output.partitions = reduces_;
        std::get<report::Finished>(report.what).output.rows.resize(rows);
        Report('c', report);
      }
    });
  }
  // Ends the turn that runs.
  void Turn() {
    On([] {});
    On([] {});
  }
  // Sums up the messages to the worker.
  template <class F>
  size_t Took(F of, char worker = 'b') {
    size_t sum = 0;
    On([&] {
      for (const Sent& sent : sent_[worker]) sum += of(sent);
    });
    return sum;
  }
  size_t Entries(char worker = 'b') {
    return Took([](const Sent& sent) { return sent.entries.size(); }, worker);
  }

  const uint32_t maps_;
  std::map<char, std::vector<Sent>> sent_;
};

TEST_F(DispatcherTest, EarlyEntriesOfADirectoryWaitForOthers) {
  SubmitMaps();
  StartReader();
  EXPECT_EQ(Entries(), 0u);
  const Instant begin = Now();
  Commit(0, 7);
  Turn();
  // Nothing holds them where this machine stood still.
  if (const size_t early = Entries(); Now() - begin < Millis(100)) {
    EXPECT_EQ(early, 0u);
  }
  Commit(7, 8);  // the last 32 maps are left
  Turn();
  EXPECT_EQ(Entries(), 8u);
  const size_t messages = Took([](const Sent&) { return 1; });
  Commit(8, 9);
  Turn();
  EXPECT_EQ(Entries(), 9u);
  EXPECT_EQ(Took([](const Sent&) { return 1; }), messages + 1);
}

TEST_F(DispatcherTest, HeldEntriesLeaveByThemselves) {
  SubmitMaps();
  StartReader();
  Commit(0, 1);
  while (Entries() == 0) Turn();
  EXPECT_EQ(Entries(), 1u);
}

TEST_F(DispatcherTest, WhatIsHeldTravelsWithTheNextCommand) {
  SubmitMaps();
  StartReader();
  Commit(0, 3);
  Turn();
  Drain('b', true);
  Turn();
  EXPECT_EQ(Entries(), 3u);
}

TEST_F(DispatcherTest, ALostReplicaIsReportedAtOnceBehindHeldEntries) {
  SubmitMaps();
  StartReader();
  Commit(0, 3);
  Turn();
  On([&] { host_->driver().Feed(sched::WorkerLost{Of('c').id, Of('c').info.incarnation}); });
  Turn();
  EXPECT_EQ(Entries(), 3u);
  EXPECT_GE(Took([](const Sent& sent) { return sent.deltas; }), 3u);
}

TEST_F(DispatcherTest, AVerdictComesWithoutAnotherMessage) {
  SubmitMaps();
  const auto verdicts = [this] { return Took([](const Sent& sent) { return sent.verdicts; }, 'c'); };
  Commit(0, 2);
  while (verdicts() < 2) Turn();
  EXPECT_EQ(verdicts(), 2u);
}

TEST_F(DispatcherTest, TheEndOfAJobLeavesTimeToItsClient) {
  SubmitMaps();
  const auto ends = [this] { return Took([](const Sent& sent) { return sent.ends; }, 'c'); };
  const Instant begin = Now();
  On([&] {
    host_->requests().KillJob(job_, Everything(), "", [](const Status& killed) { EXPECT_TRUE(killed.ok()); });
  });
  Turn();
  if (const size_t early = ends(); Now() - begin < Millis(20)) {
    EXPECT_EQ(early, 0u);
  }
  while (ends() == 0) Turn();
  EXPECT_EQ(ends(), 1u);
}

TEST_F(DispatcherTest, EachWorkerWithReadersGetsTheStageAndItsDirectoryOnce) {
  reduces_ = 4;
  SubmitMaps();
  StartReader();
  Drain('c', true);
  Commit(0, 9);
  Turn();
  EXPECT_EQ(Entries('b'), 9u);
  Drain('a', false);
  Turn();
  EXPECT_EQ(Entries('a'), 9u);
  Commit(9, 10);
  Turn();
  for (const char worker : {'a', 'b'}) {
    EXPECT_EQ(Entries(worker), 10u);
    EXPECT_EQ(Took([](const Sent& sent) { return sent.infos; }, worker), 1u);
  }
  On([this] { EXPECT_EQ(sent_['a'].back().version, sent_['b'].back().version); });
}

TEST_F(DispatcherTest, AnotherSessionGetsTheWholeDirectoryAndItsChanges) {
  SubmitMaps();
  StartReader();
  Commit(0, 9);
  Turn();
  EXPECT_EQ(Entries(), 9u);
  On([&] {
    sent_.clear();
    host_->sessions().SessionEnded('b');
  });
  Commit(9, 10);
  Turn();
  EXPECT_EQ(Entries(), 0u) << "b has no connection";
  On([&] {
    RegisterIn in;
    in.extra.name = "b";
    in.info = Of('b').info;
    in.info.running = {{{job_, 1, 0}, 1}};
    host_->sessions().Register('B', in, [](const RegisterOut&) {});
    host_->sessions().RegisterAnswered('B');
  });
  Turn();
  EXPECT_EQ(Entries('B'), 10u);
  Commit(10, 11);
  Turn();
  EXPECT_EQ(Entries('B'), 11u);
}

// Directories of some megabytes.
class LargeDirectoryTest : public DispatcherTest {
 protected:
  LargeDirectoryTest() : DispatcherTest(1000) { reduces_ = 64; }
  void Take() {
    On([this] {
      for (const auto& taken : std::exchange(outlets_.untaken, {})) taken();
    });
    Turn();
  }
};

TEST_F(LargeDirectoryTest, LargeMessagesWaitUntilTheirWorkerHasTakenEarlierOnes) {
  SubmitMaps();
  Drain('c', true);
  Commit(0, maps_, reduces_);
  outlets_.keeps_taken = true;
  StartReader();
  const size_t first = Entries();
  EXPECT_GT(first, 0u);
  EXPECT_LT(first, maps_);
  // Later commands do not overtake them.
  Drain('b', true);
  Turn();
  EXPECT_EQ(Entries(), first);
  // Other workers do not wait for b.
  Drain('a', false);
  Turn();
  EXPECT_EQ(Entries('a'), first);
  for (int i = 0; i < 10 && Entries() < maps_; ++i) Take();
  EXPECT_EQ(Entries(), maps_);
  EXPECT_EQ(Entries('a'), maps_);
}

TEST_F(LargeDirectoryTest, AnotherSessionDoesNotWaitForLargeMessagesOfTheOneBefore) {
  SubmitMaps();
  Drain('c', true);
  Commit(0, maps_, reduces_);
  outlets_.keeps_taken = true;
  StartReader();
  On([this] {
    host_->sessions().SessionEnded('b');
    RegisterIn in;
    in.extra.name = "b";
    in.info = Of('b').info;
    in.info.running = {{{job_, 1, 0}, 1}, {{job_, 1, 1}, 1}};
    host_->sessions().Register('B', in, [](const RegisterOut&) {});
    host_->sessions().RegisterAnswered('B');
  });
  Turn();
  EXPECT_GT(Entries('B'), 0u);
  for (int i = 0; i < 10 && Entries('B') < maps_; ++i) Take();
  EXPECT_EQ(Entries('B'), maps_);
}

}  // namespace
}  // namespace mr::master
