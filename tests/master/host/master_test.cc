// A whole master in this process, spoken to over its sockets: jobs from submission to published
// output, lost sessions, restarts, rubbish on its ports.
#include "master/host/master.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/rng.h"
#include "common/io/files.h"
#include "common/rpc/http_entry.h"
#include "common/rpc/wire.h"
#include "tests/master/host/fake_worker.h"

namespace mr::master {
namespace {

using test::FakeClient;
using test::FakeWorker;
using test::TestIo;

class MasterTest : public testing::Test {
 protected:
  MasterTest() {
    char path[] = "/tmp/master_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", std::string(10'000, 'x')).ok());
    StartMaster();
  }
  ~MasterTest() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }
  void StartMaster() {
    Master::Options options;
    options.directory = root_ + "/master";
    options.port = port_;
    options.advertise = advertise_;
    if (!policies_.empty()) options.policies = policies_;
    auto started = Master::Start(options);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
    port_ = master_->port();
  }
  auto Spec(const std::string& output = "out", uint32_t reduces = 2) {
    return [this, output, reduces](rpc::JobSpec::Builder spec) {
      test::FillTwoStages(spec, root_ + "/input", root_ + "/" + output, reduces);
    };
  }
  std::string Out(const std::string& name) { return ReadFile(root_ + "/out/" + name).value(); }
  static size_t Launches(const FakeWorker& worker, uint32_t stage) {
    return static_cast<size_t>(std::count_if(worker.launched.begin(), worker.launched.end(),
                                             [stage](const AttemptId& a) { return a.task.stage == stage; }));
  }

  // All that the master decided about the job, for a failure's text.
  std::string Why(FakeClient& client, JobId job) {
    std::string text;
    std::vector<std::string> subjects = {Name(job)};
    for (uint32_t t = 0; t < 3; ++t) subjects.push_back(Name(TaskId{job, 0, t}, TaskLetter::kMap));
    for (uint32_t t = 0; t < 2; ++t) subjects.push_back(Name(TaskId{job, 1, t}, TaskLetter::kReduce));
    for (const auto& subject : subjects) {
      text += subject + "\n";
      for (const auto& line : client.Why(subject)) text += "  " + line + "\n";
    }
    return text;
  }

  std::string root_;
  uint16_t port_ = 0;
  std::string advertise_, policies_;
  TestIo io_;
  std::unique_ptr<Master> master_;
};

TEST_F(MasterTest, TakesAJobFromSubmissionToPublishedOutput) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(client, *job);
  EXPECT_EQ(Launches(worker, 0), 3u) << "10000 bytes in splits of 4096";
  EXPECT_EQ(Launches(worker, 1), 2u);
  EXPECT_THAT(worker.directory[0], testing::ElementsAre(testing::Key(0), testing::Key(1), testing::Key(2)));
  for (const auto& [attempt, verdict] : worker.verdicts) EXPECT_EQ(verdict, "winner");
  EXPECT_EQ(Out("part-r-00000"), "task 0\n");
  EXPECT_EQ(Out("part-r-00001"), "task 1\n");
  EXPECT_THAT(Out("_SUCCESS"), testing::HasSubstr("\"job\": \"" + Name(*job) + "\""));
  for (const auto& name : ListDirectory(root_).value()) EXPECT_FALSE(name.starts_with(".out.")) << name;
}

TEST_F(MasterTest, SaysWhyATaskHasNotBeenLaunched) {
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(job.ok()) << job.status().ToString();
  ASSERT_TRUE(io_.Until([&] { return !client.TasksByReplicas(*job).empty(); }));
  EXPECT_THAT(client.Why(Name(TaskId{*job, 0, 2}, TaskLetter::kMap)),
              testing::ElementsAre(testing::HasSubstr("has not been launched yet"),
                                   testing::HasSubstr("no worker is registered")));
}

TEST_F(MasterTest, GivesTheSameJobForARepeatedSubmissionIdAndRefusesAnotherSpec) {
  FakeClient client(io_, port_);
  auto first = client.Submit(Spec(), "mine"), again = client.Submit(Spec(), "mine");
  ASSERT_TRUE(first.ok() && again.ok());
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(client.Submit(Spec("other"), "mine").status().code(), Code::kRejected);
  master_ = nullptr;
  StartMaster();
  FakeClient later(io_, port_);
  auto after = later.Submit(Spec(), "mine");
  ASSERT_TRUE(after.ok()) << after.status().ToString();
  EXPECT_EQ(*after, *first);
}

TEST_F(MasterTest, RefusesBadJobsWithTheReason) {
  FakeClient client(io_, port_);
  const auto missing = client.Submit(
      [this](rpc::JobSpec::Builder spec) { test::FillTwoStages(spec, root_ + "/imput", root_ + "/out", 1); });
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_THAT(missing.status().message(), testing::HasSubstr(root_ + "/input"));
  ASSERT_TRUE(MakeDirectories(root_ + "/out").ok());
  ASSERT_TRUE(WriteFileDurably(root_ + "/out/there", "x").ok());
  EXPECT_EQ(client.Submit(Spec()).status().code(), Code::kRejected);
  for (const std::string& queue : {std::string("a\nb"), std::string(201, 'q')}) {
    const auto job = client.Submit([&](rpc::JobSpec::Builder spec) {
      Spec("queued")(spec);
      spec.setQueue(queue.c_str());
    });
    EXPECT_EQ(job.status().code(), Code::kInvalidArgument) << "no queue that 'queue set' takes: " << queue;
  }
  const auto invalid = client.Submit([](rpc::JobSpec::Builder spec) { spec.setName("empty"); });
  EXPECT_EQ(invalid.status().code(), Code::kInvalidArgument);
}

TEST_F(MasterTest, RunsAgainWhatAKilledWorkerHeld) {
  FakeWorker one(io_, "one"), two(io_, "two");
  one.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(one.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(io_.Until([&] { return one.held.size() == 2; }));
  ASSERT_TRUE(two.Register(port_).ok());
  one.Disconnect();
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED, 4)) << "a broken session is noticed at once\n"
                                                                    << Why(client, *job);
  EXPECT_EQ(Launches(two, 0), 3u);
}

TEST_F(MasterTest, KeepsCommittedTasksOverARestartInMidJob) {
  FakeWorker worker(io_, "one");
  worker.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  ASSERT_TRUE(worker.Register(port_).ok());
  auto client = std::make_unique<FakeClient>(io_, port_);
  auto job = client->Submit(Spec());
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  ASSERT_TRUE(io_.Until([&] { return worker.verdicts.size() == 3; }));
  client = nullptr;
  master_ = nullptr;
  StartMaster();
  client = std::make_unique<FakeClient>(io_, port_);
  EXPECT_THAT(client->Job(*job).done, testing::ElementsAre(3, 0));
  ASSERT_TRUE(worker.Register(port_).ok());
  worker.hold = [](const AttemptId&) { return false; };
  worker.FinishHeld();
  ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED)) << client->Job(*job).error;
  EXPECT_EQ(Launches(worker, 0), 3u) << "a committed task ran again";
  EXPECT_EQ(client->Job(*job).parts, 2u);
}

TEST_F(MasterTest, AClonesSlotIsLentOverARestartToo) {
  master_ = nullptr;
  policies_ = "fifo,opportunistic";
  StartMaster();
  FakeWorker one(io_, "one", 6), two(io_, "two", 6);
  one.hold = two.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(one.Register(port_).ok());
  ASSERT_TRUE(two.Register(port_).ok());
  auto client = std::make_unique<FakeClient>(io_, port_);
  auto job = client->Submit(Spec("out", 1));
  ASSERT_TRUE(job.ok());
  const auto clones = [&] {
    const auto of = [](const FakeWorker& worker) {
      return std::count_if(worker.held.begin(), worker.held.end(), [](const AttemptId& a) { return a.number > 1; });
    };
    return of(one) + of(two);
  };
  ASSERT_TRUE(io_.Until([&] { return one.held.size() + two.held.size() == 3; }));
  one.StartHeld();
  two.StartHeld();
  ASSERT_TRUE(io_.Until([&] { return clones() == 2; })) << Why(*client, *job);
  client = nullptr;
  master_ = nullptr;
  StartMaster();
  ASSERT_TRUE(one.Register(port_).ok());
  ASSERT_TRUE(two.Register(port_).ok());
  client = std::make_unique<FakeClient>(io_, port_);
  EXPECT_EQ(client->Worker(one.id).first, "live");
  EXPECT_EQ(clones(), 2);
  EXPECT_THAT(Why(*client, *job), testing::Not(testing::HasSubstr("drain")));
  EXPECT_THAT(one.killed, testing::IsEmpty());
  EXPECT_THAT(two.killed, testing::IsEmpty());
  one.hold = two.hold = [](const AttemptId&) { return false; };
  one.FinishHeld();
  two.FinishHeld();
  ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(*client, *job);
}

TEST_F(MasterTest, AsksForAReplicaAgainAfterARestartAndReadersGoOnFromIt) {
  master_ = nullptr;
  policies_ = "fifo,mantri_replication(always=on)";
  StartMaster();
  FakeWorker one(io_, "one", 2), two(io_, "two", 2);
  one.hold = two.hold = [](const AttemptId& a) { return a.task.stage == 1; };
  ASSERT_TRUE(one.Register(port_).ok());
  ASSERT_TRUE(two.Register(port_).ok());
  auto client = std::make_unique<FakeClient>(io_, port_);
  auto job = client->Submit(Spec("out", 1));
  ASSERT_TRUE(job.ok());
  const auto asked = [&] { return one.asked_to_replicate.size() + two.asked_to_replicate.size(); };
  ASSERT_TRUE(io_.Until([&] { return asked() == 3 && one.held.size() + two.held.size() == 1; }));
  using Counts = std::map<uint32_t, uint32_t>;
  EXPECT_EQ(client->TasksByReplicas(*job), (Counts{{0, 1}, {1, 3}}));
  for (const bool made : {false, true}) {
    client = nullptr;
    master_ = nullptr;
    StartMaster();
    one.asked_to_replicate.clear();
    two.asked_to_replicate.clear();
    one.replicates = two.replicates = true;
    ASSERT_TRUE(one.Register(port_).ok());
    ASSERT_TRUE(two.Register(port_).ok());
    client = std::make_unique<FakeClient>(io_, port_);
    EXPECT_TRUE(io_.Until([&] {
      return client->TasksByReplicas(*job) == Counts{{0, 1}, {2, 3}};
    })) << Why(*client, *job);
    EXPECT_EQ(asked(), made ? 0u : 3u);
  }
  FakeWorker& reader = one.held.empty() ? two : one;
  FakeWorker& other = one.held.empty() ? one : two;
  const size_t maps = Launches(one, 0) + Launches(two, 0);
  other.Disconnect();
  EXPECT_TRUE(io_.Until([&] { return client->TasksByReplicas(*job) == Counts{{0, 1}, {1, 3}}; }));
  reader.FinishHeld();
  ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(*client, *job);
  EXPECT_EQ(Launches(one, 0) + Launches(two, 0), maps) << "an output that has another replica was made again";
}

TEST_F(MasterTest, AReplicaThatOneWorkerCannotMakeIsAskedOfAnotherAndWhySaysSo) {
  master_ = nullptr;
  policies_ = "fifo,mantri_replication(always=on)";
  StartMaster();
  FakeWorker one(io_, "one", 3), full(io_, "full"), dies(io_, "dies"), good(io_, "good");
  for (FakeWorker* worker : {&one, &full, &dies, &good}) worker->hold = [](const AttemptId&) { return true; };
  // The source is asked whether it has the output, and does not answer as long as this lasts.
  const UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in at{};
  socklen_t length = sizeof at;
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(silent.get(), reinterpret_cast<sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(silent.get(), 10), 0);
  ASSERT_EQ(::getsockname(silent.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
  one.data_address = "127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  ASSERT_TRUE(one.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec("out", 1));
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(io_.Until([&] { return one.held.size() == 3; }));
  for (FakeWorker* worker : {&full, &dies, &good}) ASSERT_TRUE(worker->Register(port_).ok());
  full.why_no_replica = "no space left on device";
  good.replicates = true;
  one.FinishHeld();
  ASSERT_TRUE(io_.Until([&] { return dies.asked_to_replicate.size() == 2; }));  // of tasks 1 and, behind w2, 0
  dies.Disconnect();
  const std::map<uint32_t, uint32_t> two_of_each = {{0, 1}, {2, 3}};
  EXPECT_TRUE(io_.Until([&] { return client.TasksByReplicas(*job) == two_of_each; })) << Why(client, *job);
  EXPECT_EQ(good.asked_to_replicate.size(), 3u);
  const std::string why = Why(client, *job), first = Name(AttemptId{{*job, 0, 0}, 1}, TaskLetter::kMap);
  for (const std::string line : {" on w2: no space left on device\n", " on w3: it was lost: its connections broke\n"}) {
    EXPECT_THAT(why, testing::HasSubstr("replica not made " + first + line));
  }
  for (const std::string line : {" on w3: worker w2 could not make the replica (try 2) [mantri_replication]",
                                 " on w4: worker w3 could not make the replica (try 3)"}) {
    EXPECT_THAT(why, testing::HasSubstr("replica requested " + first + line));
  }

  // Repeated reports, reports about other replicas, and random ones change nothing.
  Rng rng(4711);
  const auto field = [&] { return static_cast<uint32_t>(rng.Below(2) == 0 ? rng.Below(4) : rng.Next()); };
  const auto asked = [&] { return full.asked_to_replicate.size() + good.asked_to_replicate.size(); };
  const size_t before = asked();
  for (size_t i = 0; i < 300; ++i) {
    const AttemptId of{{i % 3 == 0 ? *job : JobId{field(), field()}, field(), field()}, field()};
    full.ReportReplica(i % 4 == 0, of, field(), {field()}, i % 5 == 0 ? 1 : rng.Next(), std::string(i, '\xff'));
  }
  full.ReportReplica(false, {{*job, 0, 0}, 1}, 1, {1}, 1, "no space left on device");
  const AttemptId last{{*job, 0, 77}, 77};
  full.ReportReplica(true, last, 1, {1}, 1);
  ASSERT_TRUE(io_.Until([&] { return full.verdicts[last] == "stale"; })) << full.verdicts[last];
  EXPECT_EQ(asked(), before);
  EXPECT_EQ(client.TasksByReplicas(*job), two_of_each);
  one.hold = [](const AttemptId&) { return false; };
}

TEST_F(MasterTest, AFullDiskWhereAReplicaWasToBeMadeCastsNoDoubtOnItsSource) {
  master_ = nullptr;
  policies_ = "fifo,mantri_replication(always=on)";
  StartMaster();
  FakeWorker one(io_, "one", 3), full(io_, "full");
  one.hold = full.hold = [](const AttemptId&) { return true; };
  full.why_no_replica = "no space left on device";
  full.own_fault = true;
  ASSERT_TRUE(one.Register(port_).ok());  // where nobody answers whether an output is there: asked, it loses it
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec("out", 1));
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(io_.Until([&] { return one.held.size() == 3; }));
  ASSERT_TRUE(full.Register(port_).ok());
  one.FinishHeld();
  ASSERT_TRUE(io_.Until([&] { return full.asked_to_replicate.size() == 3; }));
  using Counts = std::map<uint32_t, uint32_t>;
  // Another reason: the source is asked, and this one output is made again.
  const AttemptId of{{*job, 0, 0}, 1};
  full.own_fault = false;
  full.ReportReplica(false, of, 1, {1}, Hash64("one") | 1, "cannot be read");
  ASSERT_TRUE(io_.Until([&] { return Launches(one, 0) + Launches(full, 0) == 4; })) << Why(client, *job);
  EXPECT_EQ(client.TasksByReplicas(*job), (Counts{{0, 2}, {1, 2}})) << "the others were in no doubt";
  one.hold = full.hold = [](const AttemptId&) { return false; };
  one.FinishHeld();
  full.FinishHeld();
}

TEST_F(MasterTest, ReplaysItsJournalToTheLiveDigest) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  {
    FakeClient client(io_, port_);
    for (int i = 0; i < 3; ++i) {
      auto job = client.Submit(Spec("out" + std::to_string(i), 5));
      ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED));
    }
  }
  worker.Disconnect();
  ASSERT_TRUE(io_.Until([&] {
    return FakeClient(io_, port_).master().workersRequest().send().wait(io_.io.waitScope).getWorkers()[0].getState() ==
           "lost";
  }));
  const uint64_t live = master_->StateDigest();
  master_ = nullptr;
  const auto replayed = ReplayedDigest(root_ + "/master");
  ASSERT_TRUE(replayed.ok()) << replayed.status().ToString();
  EXPECT_EQ(*replayed, live);
}

TEST_F(MasterTest, KillsAJobAndLeavesNothingVisible) {
  FakeWorker worker(io_, "one");
  worker.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(io_.Until([&] { return worker.held.size() == 2; }));
  auto request = client.master().killRequest();
  rpc::ToWire(*job, request.initJob());
  request.send().wait(io_.io.waitScope);
  EXPECT_TRUE(client.UntilState(*job, rpc::JobState::KILLED));
  EXPECT_TRUE(io_.Until([&] { return worker.killed.size() == 2; }));
  EXPECT_FALSE(PathExists(root_ + "/out"));
}

TEST_F(MasterTest, SaysWhatFailsWhileAJobRunsAndFailsItWhereTheEnvironmentDoes) {
  FakeWorker worker(io_, "one");
  bool sick = true;
  worker.fate = [&](const AttemptId& a) {
    return sick && a.task.task == 1 ? FakeWorker::Fate::kEnvironmentFailure : FakeWorker::Fate::kDone;
  };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec("mended"));
  ASSERT_TRUE(io_.Until([&] { return !client.Job(*job).last_failure.empty(); }));
  const auto running = client.Job(*job);
  EXPECT_EQ(running.state, rpc::JobState::RUNNING);
  EXPECT_THAT(running.last_failure,
              testing::MatchesRegex("attempt_1_0001_0_m_000001_[1-8] failed on w1: no space left on device"));
  sick = false;
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(client, *job);
  EXPECT_EQ(client.Job(*job).last_failure, "");

  sick = true;
  job = client.Submit(Spec());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::FAILED, 15)) << Why(client, *job);
  EXPECT_EQ(client.Job(*job).error,
            "task 1 of stage 'count' failed 8 times, the last time as attempt_1_0002_0_m_000001_8 on w1 "
            "(its log: mrctl logs attempt_1_0002_0_m_000001_8): no space left on device\n"
            "limit 8 for a task: the failure is not the operator's, so --max-attempts does not count it\n"
            "8 attempts failed alike, of 1 task");
}

TEST_F(MasterTest, TriesAUsersFailureOnAnotherWorkerAndFailsTheJobWithinASecondOrTwo) {
  FakeWorker one(io_, "one"), two(io_, "two");
  one.fate = two.fate = [](const AttemptId&) { return FakeWorker::Fate::kUserFailure; };
  ASSERT_TRUE(one.Register(port_).ok());
  ASSERT_TRUE(two.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::FAILED, 5)) << Why(client, *job);
  const std::string error = client.Job(*job).error;
  const size_t at = error.find("attempt_");
  ASSERT_NE(at, std::string::npos) << error;
  const auto last = ParseAttemptId(error.substr(at, error.find(' ', at) - at));
  ASSERT_TRUE(last.has_value()) << error;
  EXPECT_EQ(last->number, 4u);
  // Not each of them: an early reduce may have the slot that one of them would go to.
  std::set<TaskId> on_one, on_both;
  for (const AttemptId& a : one.launched) on_one.insert(a.task);
  for (const AttemptId& a : two.launched) {
    if (on_one.contains(a.task)) on_both.insert(a.task);
  }
  EXPECT_FALSE(on_both.empty()) << Why(client, *job);
}

TEST_F(MasterTest, AWorkerThatMissedABatchOfCommandsIsToldToRegisterAgain) {
  FakeWorker worker(io_, "one");
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  worker.refuses_calls = true;
  auto job = client.Submit(Spec());
  ASSERT_TRUE(job.ok());
  ASSERT_TRUE(io_.Until([&] { return !worker.known; })) << "it would wait for the batch that it missed";
  worker.refuses_calls = false;
  ASSERT_TRUE(worker.Register(port_).ok());
  EXPECT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(client, *job);
}

TEST_F(MasterTest, NamesAFailedReduceAsOneAlsoInItsLog) {
  FakeWorker worker(io_, "one");
  worker.fate = [](const AttemptId& a) {
    return a.task.stage == 1 && a.number == 1 ? FakeWorker::Fate::kUserFailure : FakeWorker::Fate::kDone;
  };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  testing::internal::CaptureStderr();
  auto job = client.Submit(Spec("out", 1));
  const bool done = client.UntilState(*job, rpc::JobState::SUCCEEDED);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("attempt failed: attempt_1_0001_1_r_000000_1 on w1: bad record"));
  EXPECT_TRUE(done) << Why(client, *job);
}

TEST_F(MasterTest, SaysTheLastFailureInOneLine) {
  FakeWorker worker(io_, "one");
  worker.fate = [](const AttemptId& a) {
    return a.number == 1 ? FakeWorker::Fate::kUserFailure : FakeWorker::Fate::kDone;
  };
  worker.hold = [](const AttemptId&) { return true; };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(io_.Until([&] { return !client.Job(*job).last_failure.empty(); }));
  EXPECT_THAT(client.Job(*job).last_failure, testing::HasSubstr("failed on w1: bad record and more"));
}

TEST_F(MasterTest, TellsTheAddressThatItAdvertises) {
  const auto told = [this] {
    FakeClient client(io_, port_);
    auto response = client.master().infoRequest().send().wait(io_.io.waitScope);
    return std::string(response.getAddress().cStr());
  };
  EXPECT_EQ(told(), "127.0.0.1:" + std::to_string(port_));
  master_ = nullptr;
  advertise_ = "master.example";
  StartMaster();
  EXPECT_EQ(told(), "master.example:" + std::to_string(port_));
}

TEST_F(MasterTest, CountsTheLaunchesThatAWorkerRefuses) {
  FakeWorker worker(io_, "one", 1);
  worker.fate = [](const AttemptId&) { return FakeWorker::Fate::kRefused; };
  ASSERT_TRUE(worker.Register(port_).ok());
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(io_.Until([&] { return worker.launched.size() >= 4; }));
  ASSERT_TRUE(io_.Until([&] { return !client.Job(*job).last_failure.empty(); }));
  EXPECT_THAT(client.Job(*job).last_failure, testing::HasSubstr("was not started by w1, as "));
  EXPECT_THAT(client.Why("w1").at(0), testing::ContainsRegex("it did not start [0-9]+ of the attempts"));
  EXPECT_THAT(client.Why("w1"),
              testing::Contains(testing::ContainsRegex("^it gets nothing for another [0-9.]+ .*s, since it "
                                                       "did not start what it was given$")));
  EXPECT_THAT(client.Why("task_1_0001_0_m_000000"), testing::Contains(testing::HasSubstr("not started: no such luck")));
  worker.fate = [](const AttemptId&) { return FakeWorker::Fate::kDone; };
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(client, *job);
}

TEST_F(MasterTest, KeepsAWorkerDrainedOverItsRestartAndItsOwn) {
  FakeWorker drained(io_, "one"), other(io_, "two");
  ASSERT_TRUE(drained.Register(port_).ok());
  auto client = std::make_unique<FakeClient>(io_, port_);
  EXPECT_EQ(client->Worker(drained.id), (std::pair<std::string, uint32_t>("live", 4711)));
  ASSERT_TRUE(client->Drain(drained.id, true).ok());
  EXPECT_EQ(client->Drain(99, true).code(), Code::kNotFound);
  for (const bool new_life : {false, true}) {
    client = nullptr;
    drained.Disconnect();
    other.Disconnect();
    master_ = nullptr;
    StartMaster();
    if (new_life) drained.Restart();
    drained.drained = false;
    client = std::make_unique<FakeClient>(io_, port_);
    // Work is there before the worker is: it must not be given to it in the step of its registration.
    auto job = client->Submit(Spec(new_life ? "second" : "first"));
    ASSERT_TRUE(drained.Register(port_).ok());
    EXPECT_EQ(client->Worker(drained.id).first, "draining");
    EXPECT_TRUE(io_.Until([&] { return drained.drained; })) << "the worker is notified, too";
    ASSERT_TRUE(other.Register(port_).ok());
    ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(*client, *job);
    EXPECT_THAT(drained.launched, testing::IsEmpty());
  }
  other.Disconnect();
  ASSERT_TRUE(client->Drain(drained.id, false).ok());
  auto job = client->Submit(Spec());
  ASSERT_TRUE(client->UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(*client, *job);
  EXPECT_FALSE(drained.drained);
  EXPECT_EQ(client->Worker(drained.id).first, "live");
}

TEST_F(MasterTest, GivesNothingToAWorkerThatRegistersAsLeaving) {
  FakeWorker leaving(io_, "one"), other(io_, "two");
  leaving.leaving = true;
  FakeClient client(io_, port_);
  auto job = client.Submit(Spec());
  ASSERT_TRUE(leaving.Register(port_).ok());
  EXPECT_EQ(client.Worker(leaving.id).first, "draining");
  ASSERT_TRUE(other.Register(port_).ok());
  ASSERT_TRUE(client.UntilState(*job, rpc::JobState::SUCCEEDED)) << Why(client, *job);
  EXPECT_THAT(leaving.launched, testing::IsEmpty());
  leaving.leaving = false;
  leaving.Disconnect();
  leaving.Restart();
  ASSERT_TRUE(leaving.Register(port_).ok());
  EXPECT_EQ(client.Worker(leaving.id).first, "live");
}

TEST_F(MasterTest, RefusesASecondWorkerOfALiveName) {
  FakeWorker one(io_, "one"), twin(io_, "one");
  twin.Restart();
  ASSERT_TRUE(one.Register(port_).ok());
  EXPECT_EQ(twin.Register(port_).code(), Code::kRejected);
}

// Sends bytes to a port and reads what comes until the peer closes or a moment has passed.
std::string Talk(uint16_t port, const std::string& bytes) {
  const UniqueFd fd(socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  timeval limit{0, 200'000};
  setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (connect(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) return "no connection";
  (void)!send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  std::string out(65536, '\0');
  const ssize_t n = recv(fd.get(), out.data(), out.size(), MSG_WAITALL);
  out.resize(n > 0 ? static_cast<size_t>(n) : 0);
  return out;
}

TEST_F(MasterTest, LivesThroughRubbishOnItsPorts) {
  std::string rubbish;
  for (int i = 0; i < 5000; ++i) rubbish += static_cast<char>(i * 7919 >> 3);
  for (int i = 0; i < 8; ++i) {
    Talk(port_, rubbish.substr(static_cast<size_t>(i) * 100));
    Talk(master_->http_port(), rubbish.substr(static_cast<size_t>(i) * 100, 700));
  }
  io_.Until([] { return false; }, 0.05);  // the loop's idea of now is as old as its last turn
  FakeClient client(io_, port_);
  EXPECT_TRUE(client.Submit(Spec()).ok());
  EXPECT_THAT(Talk(master_->http_port(), "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"),
              testing::HasSubstr("200 OK"));
  const auto bearer = rpc::BearerFor("127.0.0.1:" + std::to_string(master_->http_port()));
  ASSERT_TRUE(bearer.ok()) << bearer.status().ToString();
  EXPECT_THAT(Talk(master_->http_port(), "GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: " +
                                             bearer->Reveal() + "\r\n\r\n"),
              testing::HasSubstr("mr_attempts_launched_total 0"));
}

}  // namespace
}  // namespace mr::master
