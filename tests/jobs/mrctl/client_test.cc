// mrctl and its client with a master that answers in pages, breaks connections, or answers late.
#include "jobs/mrctl/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <future>
#include <memory>
#include <optional>
#include <thread>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/kj_thread.h"
#include "jobs/mrctl/wait.h"
#include "tests/jobs/mrctl/fake_master.h"
#include "tests/support/process.h"

namespace mr::ctl {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::SizeIs;

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    char path[] = "/tmp/client_test.XXXXXX";
    root_ = mkdtemp(path);
  }
  ~ClientTest() noexcept override {
    SetTimeLimit({});
    (void)RemoveTree(root_);
  }
  // The exit code of `mrctl submit sleep ...`.
  int Submit(const std::vector<std::string>& options) {
    std::vector<std::string> argv = {"--master", master_.address(),          "submit",  "sleep", "--ms", "1",
                                     "--output", "file://" + root_ + "/out", "--detach"};
    argv.insert(argv.end(), options.begin(), options.end());
    return Mrctl(argv);
  }
  // The exit code of mrctl with these words.
  int Mrctl(const std::vector<std::string>& args) {
    std::vector<std::string> argv = {MRCTL_PATH};
    argv.insert(argv.end(), args.begin(), args.end());
    auto process = test::Process::Spawn(argv, {.stderr_path = root_ + "/stderr"});
    EXPECT_TRUE(process.ok()) << process.status().ToString();
    return process.ok() ? process->Wait(Seconds(60)).value_or(-1) : -1;
  }
  std::string Stderr() const { return ReadFile(root_ + "/stderr").value(); }

  std::string root_;
  FakeMaster master_;
};

// The names that it finds, in their order.
template <class T, class Name>
std::vector<std::string> Names(const Result<std::vector<T>>& list, Name name) {
  EXPECT_TRUE(list.ok()) << list.status().ToString();
  std::vector<std::string> names;
  if (list.ok()) {
    for (const T& entry : *list) names.push_back(name(entry));
  }
  return names;
}

TEST_F(ClientTest, AListHasTheEntriesOfAllItsPagesOnce) {
  Client client(master_.address());
  const auto all = ElementsAre("entry0", "entry1", "entry2", "entry3", "entry4");
  const JobId job = FakeMaster::kJob;
  EXPECT_THAT(Names(client.Jobs(), [](const JobStatus& j) { return j.name; }), all);
  EXPECT_THAT(Names(client.Tasks(job), [](const TaskStatus& t) { return t.state; }), all);
  EXPECT_THAT(Names(client.Attempts(job), [](const AttemptStatus& a) { return a.state; }), all);
  EXPECT_THAT(Names(client.Counters(job), [](const CounterValue& c) { return c.name; }), all);
  EXPECT_THAT(Names(client.Workers(), [](const WorkerStatus& w) { return w.name; }), all);
  EXPECT_THAT(Names(client.Decisions(job), [](const DecisionStatus& d) { return d.what; }),
              ElementsAre("entry4", "entry3", "entry2", "entry1", "entry0"))
      << "in the order of time, over all pages";
}

TEST_F(ClientTest, AHistoryHasItsHeadOnceAndTheLinesOfAllItsPages) {
  Client client(master_.address());
  const auto history = client.History(FakeMaster::kJob);
  ASSERT_TRUE(history.ok()) << history.status().ToString();
  EXPECT_EQ(history->head, "head\n");
  EXPECT_EQ(history->text, "entry0\nentry1\nentry2\nentry3\nentry4\n");
  EXPECT_THAT(history->beside, ElementsAre(JobId{1, 3}));
}

TEST_F(ClientTest, EachProfileHasTheStagesOfAllItsPages) {
  Client client(master_.address());
  const auto profiles = client.Profiles("job");
  ASSERT_TRUE(profiles.ok()) << profiles.status().ToString();
  ASSERT_EQ(profiles->size(), 2u);
  for (uint32_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*profiles)[i].runs, i + 1);
    std::vector<std::string> names;
    for (const ProfileStage& stage : (*profiles)[i].stages) names.push_back(stage.name);
    EXPECT_THAT(names, ElementsAre("entry0", "entry1", "entry2", "entry3", "entry4"));
  }
}

TEST_F(ClientTest, AFileIsSentInPiecesAndAnEmptyOneAsOne) {
  Client client(master_.address());
  ASSERT_TRUE(WriteFileDurably(root_ + "/empty", "").ok());
  ASSERT_TRUE(client.PutLibrary("e", root_ + "/empty").ok());
  EXPECT_THAT(master_.Uploads(), ElementsAre(Pair(0, 0)));
  const uint64_t size = (2u << 20) + 5;
  ASSERT_TRUE(WriteFileDurably(root_ + "/large", std::string(size, 'x')).ok());
  ASSERT_TRUE(client.PutLibrary("l", root_ + "/large").ok());
  uint64_t next = 0;
  const auto pieces = master_.Uploads();
  for (size_t i = 1; i < pieces.size(); ++i) {
    EXPECT_EQ(pieces[i].first, next);
    EXPECT_LE(pieces[i].second, 1u << 20);
    next += pieces[i].second;
  }
  EXPECT_EQ(next, size);
}

// A call that --timeout ends before the loop sends it.
TEST_F(ClientTest, ACallThatIsNotWaitedForIsSentAsItWasGiven) {
  Client client(master_.address());
  ASSERT_TRUE(client.WaitConnected().ok());
  std::promise<void> go;
  client.loop().Post([free = go.get_future().share()] { free.wait(); });
  SetTimeLimit(Instant{Now().ns - 1});
  const std::string name(100, 'q');
  {
    const auto gone = std::make_unique<std::string>(name);
    EXPECT_EQ(client.SetQueue(*gone, 2.5, 3, std::nullopt).code(), Code::kDeadline);
  }
  EXPECT_EQ(client.Exclude({1}, true).code(), Code::kDeadline) << "its arguments are where those were";
  go.set_value();
  const Instant limit = Now() + Seconds(60);
  while (master_.Queues().empty() && Now() < limit) std::this_thread::yield();
  const auto queues = master_.Queues();
  ASSERT_THAT(queues, SizeIs(1));
  EXPECT_EQ(queues[0].name, name);
  EXPECT_EQ(queues[0].weight, 2.5);
  EXPECT_EQ(queues[0].min_share, 3);
  EXPECT_EQ(queues[0].max_share, -1);
}

// An accepted job would be submitted once more under another id.
TEST_F(ClientTest, ASubmitThatIsRepeatedAfterABrokenConnectionHasTheSameId) {
  for (const bool own_id : {false, true}) {
    const size_t before = master_.Submissions().size();
    master_.BreakSubmits(2);
    EXPECT_EQ(Submit(own_id ? std::vector<std::string>{"--submission-id", "mine"} : std::vector<std::string>{}), 0)
        << Stderr();
    auto ids = master_.Submissions();
    ids.erase(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(before));
    ASSERT_THAT(ids, SizeIs(3));
    EXPECT_THAT(ids, testing::Each(ids[0]));
    if (own_id) {
      EXPECT_EQ(ids[0], "mine");
    } else {
      EXPECT_EQ(ids[0].size(), 32u);
    }
  }
}

TEST_F(ClientTest, AKillThatIsRefusedDoesNotSpareTheJobsBehindIt) {
  const JobId first{1, 1}, second{1, 2};
  master_.RefuseKill(first);
  EXPECT_EQ(Mrctl({"--master", master_.address(), "kill", Name(first), Name(second)}), 7) << Stderr();
  EXPECT_THAT(master_.Kills(), ElementsAre(first, second));
  EXPECT_THAT(Stderr(), testing::AllOf(testing::HasSubstr("there is no such job"),
                                       testing::HasSubstr(Name(second) + " is being killed")));
}

TEST_F(ClientTest, AnUndrainNamesWhatTheWorkerStillLacks) {
  master_.SetWorkerState("excluded");
  EXPECT_EQ(Mrctl({"--master", master_.address(), "worker", "undrain", "w2"}), 0) << Stderr();
  EXPECT_THAT(Stderr(), testing::HasSubstr("it is excluded (mrctl worker include w2)"));
  master_.SetWorkerState("lost");
  EXPECT_EQ(Mrctl({"--master", master_.address(), "worker", "undrain", "w2"}), 0) << Stderr();
  EXPECT_THAT(Stderr(), testing::HasSubstr("it is lost"));
  master_.SetWorkerState("live");
  EXPECT_EQ(Mrctl({"--master", master_.address(), "worker", "undrain", "w2"}), 0) << Stderr();
  EXPECT_THAT(Stderr(), testing::HasSubstr("w2 takes work again"));
}

TEST_F(ClientTest, TwoSubmitsHaveTwoIds) {
  EXPECT_EQ(Submit({}), 0) << Stderr();
  EXPECT_EQ(Submit({}), 0) << Stderr();
  const auto ids = master_.Submissions();
  ASSERT_THAT(ids, SizeIs(2));
  EXPECT_NE(ids[0], ids[1]);
}

TEST_F(ClientTest, ASubmitThatIsRefusedBehindABrokenConnectionIsNotRepeated) {
  master_.BreakSubmits(1);
  master_.SetSubmitOutcome(Rejected("the output is another job's"));
  EXPECT_EQ(Submit({}), 3) << Stderr();
  EXPECT_THAT(master_.Submissions(), SizeIs(2));
}

// Nothing listens on port 1.
TEST_F(ClientTest, WithoutAMasterAWaitLastsUntilItsTimeoutAndAQueryFailsAtOnce) {
  const Instant begin = Now();
  EXPECT_EQ(Mrctl({"--master", "127.0.0.1:1", "--timeout", "700ms", "wait", "nightly"}), 124);
  EXPECT_GE(Now() - begin, Millis(700));
  EXPECT_THAT(Stderr(), testing::HasSubstr("; trying again until --timeout\n"));
  EXPECT_THAT(Stderr(), testing::HasSubstr("--timeout expired while no master answered at 127.0.0.1:1"));
  EXPECT_EQ(Mrctl({"--master", "127.0.0.1:1", "--timeout", "1h", "jobs"}), 5);
  EXPECT_THAT(Stderr(),
              testing::HasSubstr("--timeout limits the time of an answer and waits for no master; start one"));
}

}  // namespace
}  // namespace mr::ctl
