// Staging, libraries and ended jobs stay within their bounds. A master in this process.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <ctime>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "master/host/master.h"
#include "schema/dfs.capnp.h"
#include "tests/master/host/fake_worker.h"

namespace mr::test {
namespace {

using ::testing::HasSubstr;

class HousekeepingTest : public testing::Test {
 protected:
  HousekeepingTest() {
    char path[] = "/tmp/housekeeping_test.XXXXXX";
    root_ = mkdtemp(path);
    EXPECT_TRUE(WriteFileDurably(root_ + "/input", "x\n").ok());
    EXPECT_TRUE(MakeDirectories(root_ + "/master/lib").ok());
    options_.directory = root_ + "/master";
    options_.housekeeping = Millis(20);
  }
  ~HousekeepingTest() noexcept override {
    master_ = nullptr;
    (void)RemoveTree(root_);
  }

  void Start() {
    master_ = nullptr;
    auto started = master::Master::Start(options_);
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    master_ = *std::move(started);
  }
  // The library's SHA-256; last used hours ago.
  std::string Store(char digit, int hours) {
    const std::string sha256(64, digit);
    Plant(sha256 + ".so", hours);
    return sha256;
  }
  void Plant(const std::string& name, int hours) {
    const std::string path = root_ + "/master/lib/" + name;
    EXPECT_TRUE(WriteFileDurably(path, std::string(100, 'l')).ok());
    const time_t then = time(nullptr) - 3600 * hours;
    const timespec times[] = {{then, 0}, {then, 0}};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  }
  bool Stored(const std::string& name) const { return PathExists(root_ + "/master/lib/" + name); }
  std::function<void(rpc::JobSpec::Builder)> Spec(const std::string& output, const std::string& library = "") {
    return [this, output, library](rpc::JobSpec::Builder spec) {
      FillTwoStages(spec, root_ + "/input", root_ + "/" + output, 1);
      spec.setLibrary(library);
    };
  }

  std::string root_;
  TestIo io_;
  master::Master::Options options_;
  std::unique_ptr<master::Master> master_;
};

TEST_F(HousekeepingTest, TheOldestLibrariesGoAndNoneThatAnUnfinishedJobNames) {
  const std::string used = Store('a', 9), side = Store('f', 8), old = Store('b', 5), newest = Store('c', 2);
  Start();
  FakeClient client(io_, master_->port());
  ASSERT_TRUE(client
                  .Submit([&](rpc::JobSpec::Builder spec) {
                    Spec("out", used)(spec);
                    auto file = spec.initFiles(1)[0];
                    file.setName("words");
                    file.setSha256(side);
                  })
                  .ok());
  options_.libraries = {300, Seconds(30 * 86400)};
  Start();
  ASSERT_TRUE(io_.Until([&] { return !Stored(old + ".so"); }));
  FakeClient again(io_, master_->port());
  EXPECT_TRUE(Stored(used + ".so")) << "the oldest, and named by a job that has not ended";
  EXPECT_TRUE(Stored(side + ".so")) << "a side file of that job";
  EXPECT_TRUE(Stored(newest + ".so"));
  EXPECT_EQ(again.Submit(Spec("other", old)).status().code(), Code::kNotFound) << "it must be uploaded again";
  EXPECT_TRUE(again.Submit(Spec("other", newest)).ok());
}

TEST_F(HousekeepingTest, LibrariesOfAnOwnerBeyondTheirLimitGoAndNoneOfAnotherOwner) {
  const std::string bobs = Store('a', 9), old = Store('b', 5), newest = Store('c', 2), nobodys = Store('d', 20);
  ASSERT_TRUE(MakeDirectories(root_ + "/master/lib/owners").ok());
  for (const auto& [library, owner] : {std::pair(bobs, "bob"), std::pair(old, "anna"), std::pair(newest, "anna")}) {
    ASSERT_TRUE(WriteFileDurably(root_ + "/master/lib/owners/" + library, std::string(owner) + "\n").ok());
  }
  options_.owner.library_bytes = master::kLeastLibraryBytes;  // one file of 100 bytes, not two
  Start();
  ASSERT_TRUE(io_.Until([&] { return !Stored(old + ".so"); }));
  EXPECT_TRUE(io_.Until([&] { return !Stored("owners/" + old); }));
  for (const std::string& library : {bobs, newest, nobodys}) EXPECT_TRUE(Stored(library + ".so")) << library;
  FakeClient client(io_, master_->port());
  EXPECT_EQ(client.Submit(Spec("out", old)).status().code(), Code::kNotFound) << "it must be uploaded again";
}

TEST_F(HousekeepingTest, LibrariesThatNobodyAskedForGoByAge) {
  const std::string old = Store('b', 5), newest = Store('c', 2);
  options_.libraries = {1 << 20, Seconds(3 * 3600)};
  Start();
  ASSERT_TRUE(io_.Until([&] { return !Stored(old + ".so"); }));
  EXPECT_TRUE(Stored(newest + ".so"));
}

TEST_F(HousekeepingTest, AnUnfinishedUploadThatGoesLeavesItsLibraryKnown) {
  const std::string kept = Store('e', 0);
  Start();
  Plant(kept + ".7.part", 5);
  ASSERT_TRUE(io_.Until([&] { return !Stored(kept + ".7.part"); }));
  EXPECT_TRUE(Stored(kept + ".so"));
  FakeClient client(io_, master_->port());
  EXPECT_TRUE(client.Submit(Spec("out", kept)).ok()) << "it is there, and need not be uploaded again";
}

TEST_F(HousekeepingTest, AnInterruptedUploadIsRemovedWhenItsConnectionCloses) {
  Start();
  const auto parts = [&] {
    size_t count = 0;
    for (const std::string& name : *ListDirectory(root_ + "/master/lib")) count += name.ends_with(".part");
    return count;
  };
  {
    FakeClient client(io_, master_->port());
    auto request = client.master().putLibraryRequest();
    request.setSha256(std::string(64, 'e').c_str());
    request.setTotalBytes(100);
    request.setData(capnp::Data::Reader(reinterpret_cast<const uint8_t*>("piece"), 5));
    ASSERT_TRUE(rpc::FromOutcome(request.send().wait(io_.io.waitScope).getOutcome()).ok());
    EXPECT_EQ(parts(), 1u);
  }
  EXPECT_TRUE(io_.Until([&] { return parts() == 0; }));
}

TEST_F(HousekeepingTest, UploadsOfAnEarlierLifeAreRemovedAtTheStart) {
  Plant("." + std::string(64, 'd') + ".7.part", 0);
  Start();
  EXPECT_FALSE(Stored("." + std::string(64, 'd') + ".7.part"));
}

TEST_F(HousekeepingTest, StagingOfJobsThatHaveEndedGoes) {
  options_.staging_age = {};
  Start();
  FakeClient client(io_, master_->port());
  const auto open = client.Submit(Spec("out"));
  ASSERT_TRUE(open.ok()) << open.status().ToString();
  auto files = client.master().filesRequest().send().getFiles();
  const auto make = [&](const std::string& path) {
    auto request = files.mkdirRequest();
    request.setPath(path);
    return io_.Wait(request.send().then([](auto r) { return rpc::FromOutcome(r.getOutcome()); }));
  };
  const auto there = [&](const std::string& path) {
    auto request = files.statRequest();
    request.setPath(path);
    return io_.Wait(request.send().then([](auto r) { return rpc::FromOutcome(r.getOutcome()); })).ok();
  };
  const std::string running = "/.staging/" + Name(*open);
  ASSERT_TRUE(make(running + "/attempt").ok());
  ASSERT_TRUE(make("/.staging/job_1_0777/attempt").ok());
  EXPECT_TRUE(io_.Until([&] { return !there("/.staging/job_1_0777"); }));
  EXPECT_TRUE(there(running + "/attempt"));
  auto kill = client.master().killRequest();
  kill.initJob().setEpoch(open->epoch);
  kill.getJob().setSeq(open->seq);
  io_.Wait(kill.send().then([](auto&&) { return true; }));
  EXPECT_TRUE(io_.Until([&] { return !there(running); }));
}

TEST_F(HousekeepingTest, MoreUnfinishedJobsThanTheLimitAreRefused) {
  options_.open_jobs = 2;
  Start();
  FakeClient client(io_, master_->port());
  const auto first = client.Submit(Spec("one"), "mine");
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(client.Submit(Spec("two")).ok());
  const auto third = client.Submit(Spec("three"));
  EXPECT_EQ(third.status().code(), Code::kRejected) << "mrctl exits with 3";
  EXPECT_THAT(third.status().message(), HasSubstr("2 jobs are planned or unfinished"));
  EXPECT_THAT(third.status().message(), HasSubstr("nothing was submitted"));
  EXPECT_EQ(client.Submit(Spec("one"), "mine").value(), *first) << "the same submission again is no further job";
  auto kill = client.master().killRequest();
  kill.initJob().setEpoch(first->epoch);
  kill.getJob().setSeq(first->seq);
  io_.Wait(kill.send().then([](auto&&) { return true; }));
  ASSERT_TRUE(client.UntilState(*first, rpc::JobState::KILLED));
  EXPECT_TRUE(client.Submit(Spec("three")).ok());
}

}  // namespace
}  // namespace mr::test
