// Registrations of workers that hold far more than fits into one message, at a whole master over its sockets.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <set>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/master.h"
#include "tests/master/host/fake_worker.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;
using test::TestIo;

class RegistrationTest : public testing::Test {
 protected:
  RegistrationTest() {
    char path[] = "/tmp/registration_test.XXXXXX";
    root_ = mkdtemp(path);
    StartMaster();
  }
  ~RegistrationTest() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }
  void StartMaster() {
    Master::Options options;
    options.directory = root_ + "/master";
    options.port = port_;
    auto started = Master::Start(options);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
    port_ = master_->port();
    // A large journal takes seconds; the loop's clock, from which timeouts count, stood still meanwhile.
    io_.io.provider->getTimer().afterDelay(1 * kj::MILLISECONDS).wait(io_.io.waitScope);
  }
  static std::vector<FakeWorker::Held> Outputs(uint32_t n) {
    std::vector<FakeWorker::Held> outputs;
    for (uint32_t i = 0; i < n; ++i) outputs.push_back({{{{1, 77}, 0, i}, 1}, 1});
    return outputs;
  }

  // Maps over a file of so many splits, which is a hole: nobody reads it.
  Result<JobId> Submit(FakeClient& client, uint32_t tasks, uint32_t reduces) {
    const std::string input = root_ + "/input";
    EXPECT_TRUE(WriteFileDurably(input, "").ok());
    EXPECT_EQ(truncate(input.c_str(), off_t{tasks} * 4096), 0);
    return client.Submit(
        [&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, input, root_ + "/out", reduces); });
  }

  std::string root_;
  uint16_t port_ = 0;
  TestIo io_;
  std::unique_ptr<Master> master_;
};

TEST_F(RegistrationTest, TakesHundredsOfThousandsOfBlocksAndOutputsBehindARestart) {
  FakeWorker worker(io_, "one");
  Status first = worker.Register(port_);
  ASSERT_TRUE(first.ok()) << first.ToString();
  master_ = nullptr;
  StartMaster();
  worker.others = Outputs(200'000);
  for (uint64_t i = 0; i < 300'000; ++i) worker.blocks.push_back(1'000'000 + i);
  const Status again = worker.Register(port_);
  ASSERT_TRUE(again.ok()) << again.ToString();
  EXPECT_EQ(worker.dropped, 200'000u) << "outputs of a job that nobody knows";
  FakeClient client(io_, port_);
  EXPECT_EQ(client.Worker(worker.id).first, "live");
  // The master goes on, and its commands arrive: the session holds.
  EXPECT_TRUE(io_.Until([&] { return worker.drop_commands == 200'000; })) << worker.drop_commands << " heard";
  EXPECT_TRUE(worker.known);
}

// Both reads of the join go into its report, which takes pieces; and into each worker's directory, which takes several
// deltas. The restart in between makes the worker list all outputs again.
TEST_F(RegistrationTest, JoinsTwoStagesOfSixtyThousandTasksOverARestart) {
  constexpr uint32_t kTasks = 60'000;
  const std::string input = root_ + "/input";
  ASSERT_TRUE(WriteFileDurably(input, "").ok());
  ASSERT_EQ(truncate(input.c_str(), off_t{kTasks} * 4096), 0) << "a hole: nobody reads it";
  FakeWorker worker(io_, "one", 10'000);
  worker.gathers = true;
  worker.upstream = {0, 1};
  worker.inputs = kTasks;
  worker.hold = [](const AttemptId& attempt) { return attempt.task.stage == 2; };
  ASSERT_TRUE(worker.Register(port_).ok());
  auto client = std::make_unique<FakeClient>(io_, port_);
  const auto job = client->Submit([&](rpc::JobSpec::Builder spec) {
    spec.setName("join");
    auto stages = spec.initStages(3);
    for (uint32_t i = 0; i < 2; ++i) {
      stages[i].setName(i == 0 ? "left" : "right");
      stages[i].setOperator("test.map");
      auto files = stages[i].initInputs(1)[0].initFiles();
      files.initUris(1).set(0, ("file://" + input).c_str());
      files.setFormat("text");
      files.setMaxSplitBytes(4096);
      stages[i].initPorts(1)[0].initShuffle().setSorted(true);
    }
    stages[2].setName("join");
    stages[2].setOperator("test.reduce");
    stages[2].setTasks(1);
    auto inputs = stages[2].initInputs(2);
    for (uint32_t i = 0; i < 2; ++i) {
      auto edge = inputs[i].initEdge();
      edge.setKind(rpc::EdgeKind::ALL_TO_ALL);
      edge.setStage(i);
      edge.setGrouped(true);
    }
    stages[2].initPorts(1)[0].initFiles().setFormat("text");
    spec.initOutput().setUri(("file://" + root_ + "/out").c_str());
  });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 1; }, 60)) << worker.launched.size() << " launched";
  const size_t launched = worker.launched.size();
  EXPECT_EQ(launched, 2 * kTasks + 1);

  client = nullptr;
  master_ = nullptr;
  StartMaster();
  const Status again = worker.Register(port_);
  ASSERT_TRUE(again.ok()) << again.ToString();
  EXPECT_EQ(worker.dropped, 0u) << "all are read yet";
  client = std::make_unique<FakeClient>(io_, port_);
  const AttemptId join = *worker.held.begin();
  worker.FinishHeld();
  ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED, 60)) << client->Job(*job).error;
  io_.Until([&] { return worker.verdicts.contains(join); });  // it may come after the state
  EXPECT_EQ(worker.verdicts[join], "winner") << "each output that it read is the committed one";
  EXPECT_EQ(worker.launched.size(), launched) << "nothing runs again";
}

// An honest worker keeps these bounds itself. A peer that does not gets a failed attempt, and the session goes on.
TEST_F(RegistrationTest, AReportBeyondItsBoundsFailsTheJobAndNotTheSession) {
  const std::string input = root_ + "/input";
  ASSERT_TRUE(WriteFileDurably(input, std::string(10'000, 'x')).ok());
  using Edit = std::function<void(const AttemptId&, rpc::Finished::Builder)>;
  const std::map<std::string, Edit> cases = {
      {"more than 258 counters", [](const AttemptId&, rpc::Finished::Builder f) { f.initCounters(90'000); }},
      {"more than 256 bytes in the name of a counter",
       [](const AttemptId&, rpc::Finished::Builder f) {
         for (auto c : f.initCounters(200)) c.setName(std::string(4000, 'n').c_str());
       }},
      {"more than 1000 output files",
       [](const AttemptId&, rpc::Finished::Builder f) { f.getManifest().initOutputs(100'000); }},
      {"more than 50000 blocks of output",
       [](const AttemptId&, rpc::Finished::Builder f) { f.getManifest().initOutputs(1)[0].initBlocks(200'000); }},
  };
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  for (const auto& [text, edit] : cases) {
    worker.edit = edit;
    const auto job =
        client.Submit([&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, input, root_ + "/out", 1); });
    ASSERT_TRUE(job.ok()) << job.status().ToString();
    ASSERT_TRUE(client.UntilState(*job, rpc::JobState::FAILED)) << text;
    EXPECT_THAT(client.Job(*job).error, testing::HasSubstr(text));
    EXPECT_THAT(client.Why(Name(*job)), testing::Contains(testing::HasSubstr(text)));
  }
  worker.edit = [](const AttemptId&, rpc::Finished::Builder) {};
  const auto job =
      client.Submit([&](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, input, root_ + "/out", 1); });
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  EXPECT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << "the same session works on";
}

// The other worker knows the directory, and receives the removal of each lost output.
TEST_F(RegistrationTest, TheLossOfAWorkerWithSeventyThousandOutputsEndsNoSession) {
  constexpr uint32_t kTasks = 70'000;
  FakeWorker one(io_, "one", 10'000), two(io_, "two", 2);
  one.gathers = true;
  one.reduce_slots = 1;
  one.inputs = two.inputs = kTasks;
  one.hold = two.hold = [](const AttemptId& attempt) { return attempt.task.stage == 1; };
  ASSERT_TRUE(one.Register(port_).ok());
  FakeClient client(io_, port_);
  const auto job = Submit(client, kTasks, 3);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return one.held.size() == 1; }, 60)) << one.launched.size() << " launched";
  ASSERT_TRUE(two.Register(port_).ok());
  ASSERT_TRUE(io_.Until([&] { return two.held.size() == 2; }, 60)) << "reads all that the first worker has";
  two.hold = [](const AttemptId&) { return true; };
  one.Disconnect();
  EXPECT_TRUE(io_.Until([&] { return two.removed_replicas == kTasks; }, 60)) << two.removed_replicas << " told";
  EXPECT_EQ(client.Worker(two.id).first, "live");
  EXPECT_EQ(client.Worker(one.id).first, "lost");
  EXPECT_TRUE(two.known) << "its session holds";
}

TEST_F(RegistrationTest, ListsOfTensOfThousandsComeInPages) {
  constexpr uint32_t kTasks = 10'000;
  FakeWorker worker(io_, "one", 5'000);
  worker.inputs = kTasks;
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  const auto job = Submit(client, kTasks, 1);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED, 60));
  size_t pages = 0;
  std::set<std::pair<uint32_t, uint32_t>> tasks;
  uint64_t from = 0;
  do {
    auto request = client.master().tasksRequest();
    rpc::ToWire(*job, request.initJob());
    request.setFrom(from);
    auto reply = request.send().wait(io_.io.waitScope);
    EXPECT_LT(reply.totalSize().wordCount * sizeof(capnp::word), 1u << 20);
    for (auto task : reply.getTasks()) {
      EXPECT_TRUE(tasks.insert({task.getStage(), task.getTask()}).second) << "once each";
    }
    from = reply.getNext();
    ++pages;
  } while (from != 0);
  EXPECT_EQ(tasks.size(), kTasks + 1);
  EXPECT_GT(pages, 1u);
  std::set<AttemptId> attempts;
  AttemptId after;
  for (bool more = true; more;) {
    auto request = client.master().attemptsRequest();
    rpc::ToWire(*job, request.initJob());
    if (after.valid()) rpc::ToWire(after, request.initAfter());
    auto reply = request.send().wait(io_.io.waitScope);
    EXPECT_LT(reply.totalSize().wordCount * sizeof(capnp::word), 1u << 20);
    for (auto attempt : reply.getAttempts()) {
      after = rpc::FromWire(attempt.getId());
      EXPECT_TRUE(attempts.insert(after).second) << "once each";
    }
    more = reply.getMore();
  }
  EXPECT_EQ(attempts.size(), worker.launched.size());
}

TEST_F(RegistrationTest, WhyNamesAWorkerThatGaveUpReports) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  EXPECT_THAT(client.Why("w1"), testing::Not(testing::Contains(testing::HasSubstr("gave up"))));
  worker.Disconnect();
  worker.reports_given_up = 2;
  ASSERT_TRUE(worker.Register(port_).ok());
  EXPECT_THAT(client.Why("w1"), testing::Contains(testing::HasSubstr("it gave up 2 reports")));
}

TEST_F(RegistrationTest, LeavesNothingBehindWhereTheConnectionBreaksInTheMiddle) {
  FakeWorker worker(io_, "one");
  worker.others = Outputs(20'000);
  worker.pages_before_break = 3;
  EXPECT_EQ(worker.Register(port_).code(), Code::kUnavailable);
  FakeClient client(io_, port_);
  EXPECT_EQ(client.Worker(1).first, "") << "nobody has registered yet";
  // The next connection begins anew, with less.
  worker.others = Outputs(5);
  worker.pages_before_break = 0;
  const Status again = worker.Register(port_);
  ASSERT_TRUE(again.ok()) << again.ToString();
  EXPECT_EQ(worker.dropped, 5u);
}

// It may repeat a report of the attempt that does not arrive.
TEST_F(RegistrationTest, AWorkerThatComesBackWithAnAttemptOfAnEndedJobHearsThatTheJobHasEnded) {
  FakeWorker worker(io_, "one");
  worker.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  const auto job = Submit(client, 1, 1);
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return !worker.held.empty(); }));
  worker.Disconnect();
  auto kill = client.master().killRequest();
  rpc::ToWire(*job, kill.initJob());
  io_.Wait(kill.send().then([](auto&&) { return true; }));
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::KILLED));
  worker.ended_jobs.clear();
  ASSERT_TRUE(worker.Register(port_).ok());
  EXPECT_TRUE(io_.Until([&] { return !worker.ended_jobs.empty(); }));
}

TEST_F(RegistrationTest, RefusesPagesThatAreMissingOrOutOfOrder) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  const auto page = [&](uint32_t number) {
    auto request = worker.master().registerPageRequest();
    request.setNumber(number);
    return io_.Wait(request.send().then([](auto&&) { return Status::Ok(); },
                                        [](kj::Exception&& e) { return rpc::FromException(e); }));
  };
  const auto end = [&](uint32_t pages) {
    auto request = worker.master().registerRequest();
    request.initInfo().setPages(pages);
    return io_.Wait(request.send().then([](auto&& reply) { return rpc::FromOutcome(reply.getResult().getOutcome()); },
                                        [](kj::Exception&& e) { return rpc::FromException(e); }));
  };
  EXPECT_TRUE(page(0).ok());
  EXPECT_THAT(page(2).message(), testing::HasSubstr("not the next one"));
  EXPECT_TRUE(page(1).ok());
  EXPECT_THAT(end(3).message(), testing::HasSubstr("are missing"));
  EXPECT_TRUE(page(0).ok()) << "page 0 begins anew";
  EXPECT_THAT(end(1).message(), testing::HasSubstr("a worker's name")) << "all pages are there";
}

}  // namespace
}  // namespace mr::master
