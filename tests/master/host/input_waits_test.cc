// Tasks whose input no live worker has wait for it. They are not launched, and no attempt fails by that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/host/host_fixture.h"

namespace mr::master {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A job of three maps that reads two blocks: the first two tasks the one on a, the last the one on b.
class InputWaitsTest : public test::HostFixture {
 protected:
  void SetUp() override {
    On([this] {
      Change([](const dfs::Namespace& ns, const dfs::Stamp& now) {
        return ns.PrepareCreate(now, "/in", false, 1, 8192, "/in");
      });
      const uint64_t lease = host_->core().files().LeaseOf("/in");
      std::vector<StagedBlock> staged;
      for (const char on : {'a', 'b'}) {
        Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) {
          auto prepared = ns.PrepareAddBlock(now, lease, static_cast<uint32_t>(staged.size()), Of(on).info.address);
          if (prepared.ok()) {
            const uint64_t bytes = on == 'a' ? 8192 : 1000;
            blocks_[on] = {std::get<dfs::BlockAdded>(**prepared).block, 1, bytes, 7};
            staged.push_back({blocks_[on], {Of(on).id}});
          }
          return prepared;
        });
        host_->block_store().BlocksReceived(Of(on).id, Of(on).info.incarnation, {blocks_[on]});
      }
      Change([&](const dfs::Namespace& ns, const dfs::Stamp& now) { return ns.PrepareComplete(now, lease, staged); });
      for (const char name : {'a', 'b'}) host_->sessions().Drain(Of(name).id, true, [](const Status&) {});
    });
    SubmitOf("dfs:///in");
  }
  void Change(const dfs::FsHost::PrepareFn& prepare) {
    host_->block_store().FsMutate(prepare, nullptr,
                                  [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); });
  }
  void SubmitOf(const std::string& input) {
    capnp::MallocMessageBuilder message;
    auto builder = message.initRoot<rpc::JobSpec>();
    test::FillTwoStages(builder, root_ + "/input", root_ + "/out", 1);
    builder.getStages()[0].getInputs()[0].getFiles().getUris().set(0, input.c_str());
    auto spec = CheckSpec(rpc::FromWire(builder.asReader()));
    ASSERT_TRUE(spec.ok()) << spec.status().ToString();
    std::atomic<bool> answered{false};
    On([&] {
      host_->submissions().Submit(Everything(), rpc::CanonicalBytes(builder.asReader()), *spec, "",
                                  [&](const Status& said, JobId id) {
                                    EXPECT_TRUE(said.ok()) << said.ToString();
                                    job_ = id;
                                    answered = true;
                                  });
    });
    while (!answered) On([] {});
    On([this] { ASSERT_EQ(Job(job_).plan.stages[0].tasks, 3u); });
  }
  void Undrain(char name) {
    On([&] { host_->sessions().Drain(Of(name).id, false, [](const Status&) {}); });
  }
  // With its block, as after a restart of its process.
  void Return(char name, std::vector<BlockRef> blocks) {
    On([&] {
      RegisterIn in;
      in.extra.name = std::string(1, name);
      in.info.incarnation = Incarnation{static_cast<uint64_t>(name)};
      in.info.address = std::string("127.0.0.") + (name == 'a' ? "1" : "2") + ":1";
      in.info.slots.total = 2;
      in.info.memory_bytes = 1 << 30;
      in.blocks = std::move(blocks);
      host_->sessions().Register(static_cast<uint64_t>(name), in, [](const RegisterOut&) {});
      host_->sessions().HeartbeatConnected(in.info.incarnation, true);
    });
  }
  // Lets time pass in turns of one tick, in which these workers beat.
  void Pass(Duration time, const std::string& beating) {
    for (Duration done; done < time; done = done + kTick) {
      Run(kTick, [&] {
        for (const char name : beating) Beat(name);
        host_->inputs().Look();
      });
    }
  }
  // The states of all attempts, in order: "0: running, 2: running".
  std::string Attempts() {
    std::string text;
    On([&] {
      for (const AttemptView& attempt : host_->core().attempts().Of(job_, {}, 1000)) {
        text += (text.empty() ? "" : ", ") + std::to_string(attempt.id.task.task) + ": " + Word(attempt.state);
      }
    });
    return text;
  }
  std::vector<std::string> Why() {
    std::vector<std::string> lines;
    On([&] { lines = *host_->why().Why(Name(job_), Everything()); });
    return lines;
  }
  std::vector<std::string> Waits() {
    std::vector<std::string> lines;
    On([&] { lines = JobReader(host_->core(), host_->clock(), host_->inputs(), "fifo").StatusOf(Job(job_)).waits; });
    return lines;
  }
  void LoseA() {
    Pass(kLease + Seconds(1), "b");
    ASSERT_EQ(Of('a').Word(), std::string("stopped"));
  }

  std::map<char, BlockRef> blocks_;
};

TEST_F(InputWaitsTest, ATaskWhoseBlockNoLiveWorkerHasWaitsAndTheOthersRun) {
  LoseA();
  Undrain('b');
  Pass(Seconds(60), "b");
  EXPECT_THAT(Attempts(), HasSubstr("2: running"));
  EXPECT_THAT(Attempts(), testing::Not(HasSubstr("failed")));
  EXPECT_EQ(Attempts().find("running"), Attempts().rfind("running")) << Attempts();
  EXPECT_LE(host_->core().attempts().Of(job_, {}, 1000).size(), 3u) << "in a minute: " << Attempts();
  const std::string block = "block " + std::to_string(blocks_['a'].id.value);
  EXPECT_THAT(Why(), Contains(HasSubstr("2 tasks that wait for their input: " + block)));
  EXPECT_THAT(Why(), Contains(HasSubstr("holders when the job was planned: w1 (stopped)")));
  EXPECT_THAT(Waits(), Contains(HasSubstr(block)));
}

TEST_F(InputWaitsTest, TasksGoOnWhenTheirBlockComesBack) {
  LoseA();
  Undrain('b');
  Pass(Seconds(60), "b");
  Return('a', {blocks_['a']});
  Undrain('a');
  Pass(kTick, "ab");
  EXPECT_THAT(Attempts(), HasSubstr("0: running"));
  EXPECT_THAT(Attempts(), HasSubstr("1: running"));
  EXPECT_THAT(Waits(), IsEmpty());
}

TEST_F(InputWaitsTest, AJobFailsWhenItsInputDoesNotComeBackInTime) {
  LoseA();
  Undrain('b');
  Pass(options_.input_wait - Seconds(1), "b");
  EXPECT_EQ(StateOf(job_), "RUNNING");
  Pass(Seconds(2), "b");
  EXPECT_THAT(StateOf(job_),
              testing::AllOf(testing::StartsWith("FAILED"), HasSubstr("has waited 10m00s"), HasSubstr("dfs:///in")));
}

TEST_F(InputWaitsTest, ARestartedMasterLaunchesNoTaskBeforeAWorkerHasItsBlock) {
  ASSERT_NO_FATAL_FAILURE(Restart());
  Return('b', {});
  Undrain('b');
  Pass(Seconds(3), "b");
  EXPECT_EQ(Attempts(), "");
  Return('b', {blocks_['b']});
  Pass(kTick, "b");
  EXPECT_EQ(Attempts(), "2: running");
  Return('a', {blocks_['a']});
  Pass(kTick, "ab");
  EXPECT_THAT(Waits(), IsEmpty());
}

// The registration leads to the launch, and its blocks are known a moment later.
TEST_F(InputWaitsTest, ALaunchThatTheRegistrationOfTheBlocksWorkerMadePossibleIsSent) {
  LoseA();
  Undrain('a');  // for its next life
  Return('a', {blocks_['a']});
  EXPECT_EQ(Attempts(), "0: running, 1: running");
  EXPECT_THAT(Waits(), IsEmpty());
}

}  // namespace
}  // namespace mr::master
