// Commands of operators about workers, with the real binaries: names, removal, reachability, shared disks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/within.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Json = nlohmann::json;

class OperatorsTest : public testing::Test {
 protected:
  void Start(ClusterOptions options, int live) {
    options.master_flags = {"--block_size=64k", "--replication=1"};
    cluster_ = std::make_unique<Cluster>(std::move(options));
    const Status started = cluster_->Start();
    ASSERT_TRUE(started.ok()) << started.ToString();
    const Status registered = cluster_->WaitForWorkers(live);
    ASSERT_TRUE(registered.ok()) << registered.ToString() << cluster_->Logs();
  }
  RunResult Mrctl(const std::vector<std::string>& args) const { return cluster_->Mrctl(args, Seconds(60)); }
  Json Workers() const { return Json::parse(Mrctl({"workers", "-o", "json"}).out)["workers"]; }
  std::string StateOf(const std::string& id) const {
    for (const Json& w : Workers()) {
      if (w["id"] == id) return w["state"];
    }
    return "";
  }
  std::string IdOf(const std::string& name) const {
    for (const Json& w : Workers()) {
      if (w["name"] == name) return w["id"];
    }
    return "";
  }
  void Lose(int index, const std::string& id) {
    cluster_->KillWorker(index);
    ASSERT_TRUE(Within(Seconds(30), [&] { return StateOf(id) == "lost"; })) << cluster_->Logs();
  }
  Json CheckNamed(const std::string& id) const {
    const Json shown = Json::parse(Mrctl({"doctor", "-o", "json"}).out);
    for (const Json& check : shown["checks"]) {
      if (check["id"] == id) return check;
    }
    return {};
  }

  std::unique_ptr<Cluster> cluster_;
};

TEST_F(OperatorsTest, AChosenNameStandsForTheIdAndOutlivesARestart) {
  Start({.workers = 2, .flags_of = {{"--name", "alpha"}, {"--name", "beta-2"}}}, 2);
  ASSERT_FALSE(HasFatalFailure());
  const std::string id = IdOf("beta-2");
  ASSERT_NE(id, "");
  EXPECT_THAT(Mrctl({"workers"}).out, HasSubstr("beta-2"));
  EXPECT_THAT(Mrctl({"worker", "show", "beta-2"}).out, HasSubstr(id));
  EXPECT_THAT(Mrctl({"why", "beta-2"}).out, HasSubstr(id + " at "));
  EXPECT_EQ(Mrctl({"worker", "drain", "beta-2"}).exit, 0);
  EXPECT_EQ(StateOf(id), "draining");
  EXPECT_EQ(Mrctl({"worker", "undrain", "beta-2"}).exit, 0);
  EXPECT_EQ(StateOf(id), "live");
  EXPECT_EQ(Mrctl({"worker", "show", "gamma"}).exit, 7);
  EXPECT_THAT(Mrctl({"worker", "show", "beta2"}).err, HasSubstr("did you mean 'beta-2'"));
  cluster_->KillWorker(1);
  ASSERT_TRUE(cluster_->StartWorker(1).ok());
  ASSERT_TRUE(Within(Seconds(20), [&] { return StateOf(id) == "live"; })) << cluster_->Logs();
  EXPECT_EQ(IdOf("beta-2"), id);
}

TEST_F(OperatorsTest, ASecondLiveWorkerOfOneNameIsRefusedUntilTheFirstIsGone) {
  Start({.workers = 2, .flags_of = {{"--name", "alpha"}, {"--name", "alpha"}}}, 1);
  ASSERT_FALSE(HasFatalFailure());
  const std::string why = "already uses the name alpha";
  EXPECT_TRUE(Within(Seconds(10), [&] { return cluster_->Logs(50).find(why) != std::string::npos; }))
      << cluster_->Logs();
  EXPECT_EQ(Workers().size(), 1u);
  cluster_->KillWorker(0);
  const std::string port = ":" + std::to_string(cluster_->worker_port(1));
  EXPECT_TRUE(Within(Seconds(30), [&] { return std::string(Workers()[0]["address"]).ends_with(port); }))
      << cluster_->Logs();
  EXPECT_EQ(Workers().size(), 1u) << "it is the machine that replaces the first one";
}

TEST_F(OperatorsTest, ALostWorkerIsForgottenForGoodAndItsIdIsNotGivenAgain) {
  Start({.workers = 3, .flags_of = {{"--name", "a"}, {"--name", "b"}, {"--name", "c"}}}, 3);
  ASSERT_FALSE(HasFatalFailure());
  const std::string id = "w3";
  int index = 0;
  for (const char* name : {"a", "b", "c"}) {
    if (IdOf(name) == id) break;
    ++index;
  }
  RunResult forget = Mrctl({"worker", "forget", id});
  EXPECT_EQ(forget.exit, 3);
  EXPECT_THAT(forget.err, HasSubstr("is live, and only a worker that is lost"));
  Lose(index, id);
  ASSERT_FALSE(HasFatalFailure());
  forget = Mrctl({"worker", "forget", id});
  EXPECT_EQ(forget.exit, 0) << forget.err;
  EXPECT_THAT(forget.err, HasSubstr("registers again, not excluded"));
  EXPECT_EQ(StateOf(id), "");
  EXPECT_EQ(Mrctl({"worker", "show", id}).exit, 7);
  EXPECT_EQ(Mrctl({"worker", "forget", id}).exit, 7);
  EXPECT_EQ(CheckNamed("workers")["verdict"], "ok");
  cluster_->KillMaster();
  ASSERT_TRUE(cluster_->StartMaster().ok()) << cluster_->Logs();
  ASSERT_TRUE(cluster_->WaitForWorkers(2).ok()) << cluster_->Logs();
  EXPECT_EQ(Workers().size(), 2u) << "a restart remembers it";
  ASSERT_TRUE(cluster_->StartWorker(index).ok());
  ASSERT_TRUE(cluster_->WaitForWorkers(3).ok()) << cluster_->Logs();
  EXPECT_EQ(StateOf(id), "") << "attempts of the old one have its id";
  EXPECT_EQ(StateOf("w4"), "live");
}

TEST_F(OperatorsTest, AWorkerWithLastReplicasIsForgottenByForceOnly) {
  Start({.workers = 2, .flags_of = {{"--name", "a"}, {"--name", "b"}}}, 2);
  ASSERT_FALSE(HasFatalFailure());
  const std::string in = cluster_->directory() + "/in";
  WriteWords(in, 30'000, 3);
  for (int i = 0; i < 6; ++i) ASSERT_EQ(Mrctl({"fs", "put", in, "/f" + std::to_string(i)}).exit, 0);
  const std::string id = IdOf("b");
  Lose(1, id);
  ASSERT_FALSE(HasFatalFailure());
  EXPECT_THAT(std::string(CheckNamed("files")["next"]), HasSubstr("start " + id + " again with the same --data"));
  RunResult forget = Mrctl({"worker", "forget", "b"});
  EXPECT_EQ(forget.exit, 3);
  EXPECT_THAT(forget.err, HasSubstr("may have their last replica on " + id + " (b): /f"));
  EXPECT_EQ(StateOf(id), "lost");
  forget = Mrctl({"worker", "forget", "b", "--force"});
  EXPECT_EQ(forget.exit, 0) << forget.err;
  EXPECT_EQ(StateOf(id), "");
  EXPECT_EQ(CheckNamed("files")["verdict"], "fail") << "they stay, and doctor names them";
  EXPECT_THAT(std::string(CheckNamed("files")["next"]), HasSubstr("fs rm /f"));
}

TEST_F(OperatorsTest, DoctorHasDaemonsConnectToEachOther) {
  Start({.workers = 3}, 3);
  ASSERT_FALSE(HasFatalFailure());
  const Json check = CheckNamed("network");
  EXPECT_EQ(check["verdict"], "ok") << check;
  EXPECT_EQ(check["text"], "9 connections from 3 workers to the master and to other workers work");
}

TEST_F(OperatorsTest, DoctorNamesThePairThatFailsAndWhyItMatters) {
  // It listens on 127.0.0.1 only, so nobody reaches it at the address that it advertises.
  Start({.workers = 2, .flags_of = {{}, {"--name", "deaf", "--advertise", "127.0.0.3"}}}, 2);
  ASSERT_FALSE(HasFatalFailure());
  const std::string deaf = IdOf("deaf"), other = deaf == "w1" ? "w2" : "w1";
  const Json check = CheckNamed("network");
  EXPECT_EQ(check["verdict"], "fail") << check;
  EXPECT_THAT(std::string(check["text"]), HasSubstr(other + " cannot reach " + deaf + " at 127.0.0.3:"));
  EXPECT_THAT(std::string(check["next"]), HasSubstr("workers read blocks and shuffle outputs there"));
  EXPECT_EQ(Mrctl({"doctor"}).exit, 1);
}

TEST_F(OperatorsTest, WorkersOnOneDiskCountItsFreeSpaceOnce) {
  Start({.workers = 3}, 3);
  ASSERT_FALSE(HasFatalFailure());
  Json df;
  // The disk is known with the first heartbeat.
  ASSERT_TRUE(Within(Seconds(10), [&] {
    df = Json::parse(Mrctl({"fs", "df", "-o", "json"}).out);
    return !df["df"][0]["disk"].is_null() && df["df"][0]["disk"] == df["df"][1]["disk"] &&
           df["df"][0]["disk"] == df["df"][2]["disk"];
  })) << df;
  const double one = df["df"][0]["capacity_bytes"], total = df["total"]["capacity_bytes"];
  EXPECT_LT(total, 1.5 * one);
  EXPECT_THAT(Mrctl({"fs", "df"}).err, HasSubstr("w1, w2, w3 share a disk: its free space counts once in total"));
  EXPECT_THAT(std::string(CheckNamed("disks")["text"]), HasSubstr("w1, w2, w3 share a disk, which counts once"));
}

}  // namespace
}  // namespace mr::test
