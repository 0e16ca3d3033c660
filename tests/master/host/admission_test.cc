// Slots are promised once, in whatever order predictions come: a host whose predictions the test makes when it
// likes.
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>

#include "common/io/files.h"
#include "common/rpc/spec_wire.h"
#include "master/core/spec_check.h"
#include "master/host/admission_text.h"
#include "master/host/explain.h"
#include "master/host/host.h"
#include "master/host/job_reader.h"
#include "master/host/profiles.h"
#include "tests/master/host/fake_worker.h"
#include "tests/master/host/taught_job.h"
#include "tests/support/cluster.h"

namespace mr::master {
namespace {

using test::kThreeSlotsMs;
using testing::HasSubstr;

// Plans are made at once, predictions when the test says so.
class HeldPredictions final : public Outlets {
 public:
  void Apply(uint64_t, Message) override {}
  void CloseSession(uint64_t) override {}
  void PushStatus(uint64_t, Message) override {}
  void Probe(const Look&, std::function<void(Looked)>) override {}
  void InPool(std::function<void()> work) override { work(); }
  void InBackground(std::function<void()> work) override { held.push_back(std::move(work)); }
  std::vector<std::function<void()>> held;  // of the master's thread
};

class AdmissionTest : public testing::Test {
 protected:
  AdmissionTest() {
    EXPECT_TRUE(WriteFileDurably(Path("input"), std::string(10'000, 'x')).ok());
    test::TeachTwoStages(Path("input"), Path("profiles"));
    profiles_ = std::make_shared<ProfileStore>(Path("profiles"));
    StartHost();
  }
  ~AdmissionTest() noexcept override { StopHost(); }

  void StartHost() {
    StopHost();
    outlets_ = std::make_unique<HeldPredictions>();
    loop_ = std::make_unique<Loop>([this] { host_->Flush(); });
    HostOptions options;
    options.directory = directory_.path();
    options.policies = policies_;
    options.profiles = profiles_;
    EXPECT_TRUE(MakeDirectories(Path("journal")).ok());
    host_ = std::make_unique<Host>(options, *loop_, *outlets_);
    const Status recovered = host_->Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.ToString();
    loop_->Start();
  }
  void StopHost() {
    if (loop_ != nullptr) loop_->Stop();
    host_ = nullptr;
    loop_ = nullptr;
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }

  // On the master's thread; the worker, if there is one, lives on.
  void On(const std::function<void()>& fn) {
    loop_->Run([&] {
      (void)host_->sessions().Beat(WorkerId{1}, 1, {});
      fn();
    });
  }
  // On the master's thread: what the journal holds back comes in time. turns: of 5 ms and more.
  bool Until(const std::function<bool()>& done, int turns = 2000) {
    for (int i = 0; i < turns; ++i) {
      bool is = false;
      On([&] { is = done(); });
      if (is) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return false;
  }

  void Register() {
    On([this] {
      RegisterIn in;
      in.info.incarnation = 1;
      in.info.address = "127.0.0.1:1";
      in.info.slots.total = 4;
      in.extra.name = "one";
      host_->sessions().Register(1, std::move(in), [](const RegisterOut& out) { EXPECT_TRUE(out.status.ok()); });
    });
  }
  // deadline 0: none. output: as the name, where it is empty.
  void Submit(const std::string& name, uint64_t deadline_ms, const std::string& output = "") {
    capnp::MallocMessageBuilder message;
    auto wire = message.initRoot<rpc::JobSpec>();
    test::FillTwoStages(wire, Path("input"), Path(output.empty() ? name : output), 2);
    if (!input_.empty()) {
      auto uris = wire.getStages()[0].getInputs()[0].getFiles().initUris(second_input_.empty() ? 1 : 2);
      uris.set(0, input_.c_str());
      if (!second_input_.empty()) uris.set(1, second_input_.c_str());
    }
    wire.setDeadlineMs(deadline_ms);
    auto spec = CheckSpec(rpc::FromWire(wire.asReader()));
    ASSERT_TRUE(spec.ok()) << spec.status().ToString();
    On([&] {
      host_->submissions().Submit(Everything(), rpc::CanonicalBytes(wire.asReader()), *std::move(spec), name,
                                  [this, name](const Status& status, JobId id) {
                                    answers_[name] = {status, id};
                                  });
    });
  }
  // The error with which a submit was refused; empty: it was accepted.
  std::string Refusal(const std::string& name) {
    EXPECT_TRUE(Until([&] { return answers_.contains(name); }));
    std::string text;
    On([&] { text = answers_[name].first.message(); });
    return text;
  }
  bool Answered(const std::string& name) {
    bool there = false;
    On([&] { there = answers_.contains(name); });
    return there;
  }
  void SetDeadline(const std::string& name, uint64_t ms) {
    On([&] {
      MasterCore::JobWish wish;
      wish.deadline = Millis(static_cast<int64_t>(ms));
      host_->requests().SetJob(answers_.at(name).second, Everything(), wish,
                               [this](const Status& status, const std::string& warning) {
                                 EXPECT_TRUE(status.ok());
                                 warnings_.push_back(warning);
                               });
    });
  }
  size_t Held() {
    size_t n = 0;
    On([&] { n = outlets_->held.size(); });
    return n;
  }
  // The i-th that is held; what follows from it is done.
  void Predict(size_t i) {
    std::function<void()> work;
    On([&] {
      work = std::move(outlets_->held.at(i));
      outlets_->held.erase(outlets_->held.begin() + static_cast<ptrdiff_t>(i));
    });
    work();
    On([] {});
  }
  uint32_t Guaranteed(const std::string& name) {
    uint32_t slots = 0;
    On([&] {
      const sched::Job* job = host_->core().scheduler().state().FindJob(answers_.at(name).second);
      if (job != nullptr) slots = job->share;
    });
    return slots;
  }

  test::TempDirectory directory_;
  std::string policies_ = "fair,jockey";
  std::string input_, second_input_;  // of jobs, in place of the local file
  std::shared_ptr<ProfileStore> profiles_;
  std::unique_ptr<HeldPredictions> outlets_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<Host> host_;
  // Used only on the master's thread.
  std::map<std::string, std::pair<Status, JobId>> answers_;
  std::vector<std::string> warnings_;
};

TEST_F(AdmissionTest, TwoThatArePredictedSideBySideAreNotPromisedTheSameSlots) {
  Register();
  Submit("first", kThreeSlotsMs);
  Submit("second", kThreeSlotsMs);
  ASSERT_EQ(Held(), 2u);
  Predict(1);
  Predict(0);
  EXPECT_EQ(Refusal("second"), "");
  EXPECT_EQ(Guaranteed("second"), 3u);
  EXPECT_THAT(Refusal("first"),
              HasSubstr("it needs 3 slots, and of the cluster's 4 only 1 is not guaranteed to others"));
}

TEST_F(AdmissionTest, OfThoseThatArePlannedSideBySideOneMayWriteToAnOutput) {
  Register();
  Submit("first", 3 * kThreeSlotsMs, "out");
  Submit("second", 3 * kThreeSlotsMs, "out");
  Submit("third", 0, "out");
  ASSERT_EQ(Held(), 2u);
  EXPECT_EQ(Refusal("third"), "");
  Predict(1);
  Predict(0);
  for (const char* late : {"first", "second"}) {
    EXPECT_THAT(Refusal(late), HasSubstr("writes to the same output"));
    EXPECT_THAT(Refusal(late), HasSubstr("; wait for it (mrctl wait), ")) << "the next step";
  }
}

// Inputs in the block store, which are pinned from the planning on.
class AdmissionPinsTest : public AdmissionTest {
 protected:
  AdmissionPinsTest() {
    Register();
    Change([](const dfs::Namespace& ns, const dfs::Stamp& now) {
      return ns.PrepareCreate(now, "/in", false, 1, 0, "in");
    });
    Change(
        [](const dfs::Namespace& ns, const dfs::Stamp& now) { return ns.PrepareComplete(now, ns.LeaseOf("in"), {}); });
    input_ = "dfs:///in";
  }
  void Change(const dfs::FsHost::PrepareFn& prepare) {
    On([&] {
      host_->block_store().FsMutate(prepare, nullptr,
                                    [](const Status& status) { EXPECT_TRUE(status.ok()) << status.ToString(); });
    });
  }
  size_t Pins() {
    size_t n = 0;
    On([&] { n = host_->core().files().Pins().size(); });
    return n;
  }
};

TEST_F(AdmissionPinsTest, AJobThatIsRefusedWhenItIsPredictedKeepsNoInputs) {
  Submit("late", 3 * kThreeSlotsMs, "out");
  Submit("early", 0, "out");
  ASSERT_EQ(Held(), 1u);
  EXPECT_EQ(Refusal("early"), "");
  EXPECT_EQ(Pins(), 2u);
  Predict(0);
  EXPECT_THAT(Refusal("late"), HasSubstr("writes to the same output"));
  EXPECT_EQ(Pins(), 1u) << "that of the job that runs";
}

TEST_F(AdmissionPinsTest, AJobThatCannotBePlannedKeepsNoInputs) {
  second_input_ = "dfs:///gone";
  Submit("half", 0);
  EXPECT_THAT(Refusal("half"), HasSubstr("/gone"));
  EXPECT_EQ(Pins(), 0u) << "those of the input that is there";
}

TEST_F(AdmissionPinsTest, AJobWhoseDeadlineCannotBeMetKeepsNoInputs) {
  Submit("hopeless", 1);
  ASSERT_EQ(Held(), 1u);
  EXPECT_EQ(Pins(), 1u);
  Predict(0);
  EXPECT_NE(Refusal("hopeless"), "");
  EXPECT_EQ(Pins(), 0u);
}

TEST_F(AdmissionTest, ASubmitWaitsForThePredictionOfARunningJob) {
  Register();
  Submit("running", 0);
  ASSERT_EQ(Refusal("running"), "");
  SetDeadline("running", kThreeSlotsMs);
  Submit("later", kThreeSlotsMs);
  ASSERT_EQ(Held(), 2u);
  Predict(1);
  EXPECT_FALSE(Answered("later"));
  Predict(0);
  EXPECT_THAT(Refusal("later"), HasSubstr("only 1 is not guaranteed to others"));
  EXPECT_EQ(Guaranteed("running"), 3u);
  EXPECT_TRUE(Until([&] { return warnings_ == std::vector<std::string>{""}; }));
}

// The second set comes while the prediction for the first is under way.
TEST_F(AdmissionTest, ARunningJobIsPredictedOnceHoweverOftenItsDeadlineIsSet) {
  Register();
  Submit("running", 0);
  ASSERT_EQ(Refusal("running"), "");
  SetDeadline("running", 2 * kThreeSlotsMs);
  SetDeadline("running", 1'000'000);
  ASSERT_EQ(Held(), 1u);
  Predict(0);
  EXPECT_EQ(Held(), 0u);
  EXPECT_TRUE(Until([&] { return warnings_.size() == 2; }));
  On([&] { EXPECT_THAT(warnings_, testing::Each(HasSubstr("the deadline of 16m40s after its submission"))); });
}

TEST_F(AdmissionTest, AfterARestartASubmitWaitsForWorkersAndForThePredictionsOfThoseThatRan) {
  Register();
  Submit("running", 0);
  ASSERT_EQ(Refusal("running"), "");
  SetDeadline("running", kThreeSlotsMs);
  StartHost();  // its prediction was never made
  ASSERT_EQ(Held(), 1u);
  Submit("later", kThreeSlotsMs);
  ASSERT_EQ(Held(), 2u);
  Predict(1);
  EXPECT_FALSE(Answered("later"));
  Predict(0);
  EXPECT_FALSE(Answered("later")) << "there are no slots now, and will be soon";
  Register();
  EXPECT_THAT(Refusal("later"),
              HasSubstr("it needs 3 slots, and of the cluster's 4 only 1 is not guaranteed to others"));
  Submit("modest", 2 * 5'100'000);
  ASSERT_EQ(Held(), 1u);
  Predict(0);
  EXPECT_EQ(Refusal("modest"), "") << "one slot is enough";
}

// The workers are away, for ten seconds.
TEST_F(AdmissionTest, AfterARestartADeadlineOfWhichNothingIsWarnedIsSetAtOnce) {
  Register();
  Submit("running", 0);
  ASSERT_EQ(Refusal("running"), "");
  StartHost();
  SetDeadline("running", 0);
  EXPECT_TRUE(Until([&] { return warnings_.size() == 1; }, 1000)) << "none";
  policies_ = "fair";
  StartHost();
  SetDeadline("running", kThreeSlotsMs);
  EXPECT_TRUE(Until([&] { return warnings_.size() == 2; }, 1000)) << "nobody steers by it";
  EXPECT_EQ(Held(), 0u);
}

// Explain says what a submit would, when it would.
TEST_F(AdmissionTest, ExplainWaitsAsASubmitDoes) {
  Register();
  StartHost();
  capnp::MallocMessageBuilder message;
  auto wire = message.initRoot<rpc::JobSpec>();
  test::FillTwoStages(wire, Path("input"), Path("out"), 2);
  wire.setDeadlineMs(kThreeSlotsMs);
  const auto spec = CheckSpec(rpc::FromWire(wire.asReader()));
  ASSERT_TRUE(spec.ok());
  std::optional<Explained> explained;
  On([&] { host_->explainer().ExplainJob(Everything(), *spec, [&](Explained e) { explained = std::move(e); }); });
  ASSERT_EQ(Held(), 1u);
  Predict(0);
  On([&] { EXPECT_FALSE(explained); });
  Register();
  On([&] {
    ASSERT_TRUE(explained && explained->admission);
    EXPECT_EQ(explained->admission->answer, sched::Admission::Answer::kAdmitted);
    EXPECT_EQ(explained->slots, 4u);
  });
}

TEST_F(AdmissionTest, ExplainWaitsForNothingWhereNoSubmitDoes) {
  Register();
  const auto answered = [&](bool best_effort) {
    StartHost();  // the worker is away
    capnp::MallocMessageBuilder message;
    auto wire = message.initRoot<rpc::JobSpec>();
    test::FillTwoStages(wire, Path("input"), Path("out"), 2);
    wire.setDeadlineMs(kThreeSlotsMs);
    wire.setBestEffort(best_effort);
    const auto spec = CheckSpec(rpc::FromWire(wire.asReader()));
    EXPECT_TRUE(spec.ok());
    bool there = false;
    On([&] { host_->explainer().ExplainJob(Everything(), *spec, [&](const Explained&) { there = true; }); });
    Predict(0);
    return there;
  };
  EXPECT_TRUE(answered(true));
  policies_ = "fair";
  EXPECT_TRUE(answered(false)) << "nobody steers by it";
}

// It is alone on four slots, and three maps of 1000 s run side by side before two sums of 500 s.
TEST_F(AdmissionTest, AJobThatHoldsMoreThanItsGuaranteeIsExpectedToEndSooner) {
  Register();
  Submit("modest", 2 * 5'100'000);
  ASSERT_EQ(Held(), 1u);
  Predict(0);
  ASSERT_EQ(Refusal("modest"), "");
  On([&] {
    const JobReader reader(host_->core(), host_->clock(), host_->inputs(), policies_);
    const JobStatus status = reader.StatusOf(*host_->core().jobs().Find(answers_.at("modest").second));
    ASSERT_TRUE(status.deadline);
    EXPECT_EQ(status.deadline->guaranteed, 1u);
    ASSERT_GE(status.deadline->held, 3u);
    EXPECT_NEAR(static_cast<double>(status.deadline->ends_us) / 1e6, 1500, 50);
    EXPECT_NEAR(static_cast<double>(status.deadline->promised_ends_us) / 1e6, 4000, 50);
  });
}

// The safety margin, by which an end that is expected in time is not promised yet.
const std::string kMargin =
    "A promise keeps a safety margin: 1.2 times the time in which 19 of 20 runs end, and 5 % of the deadline (slack "
    "and "
    "dead zone of Jockey, EuroSys 2012)";

TEST(AdmissionTextTest, ADeadlineBelowTheLongestChainCannotBeMetAtAll) {
  sched::Admission a;
  a.answer = sched::Admission::Answer::kBelowCriticalPath;
  a.slots = a.cluster = a.most = a.available = 4;
  a.critical_path = 70;
  a.earliest = 90;
  EXPECT_EQ(AccountText(a),
            "cannot be met: its longest chain of tasks alone takes about 1m10s; the earliest deadline that can be "
            "promised is 1m31s. " +
                kMargin);
}

TEST(AdmissionTextTest, ARefusalNamesWhoIsGuaranteedTheSlots) {
  sched::Admission a;
  a.answer = sched::Admission::Answer::kTaken;
  a.slots = 4;
  a.cluster = a.most = 8;
  a.available = 2;
  a.queue = "adhoc";
  a.min_shares = {{"etl", 4}};
  a.promised = 2;
  a.earliest = 90;
  EXPECT_EQ(
      RefusalText(a, Seconds(60)),
      "the deadline of 1m00s cannot be promised: it needs 4 slots, and of the cluster's 8 only 2 are not guaranteed to "
      "others (4 to queue 'etl' by its min share, 2 to jobs with deadlines); the earliest deadline that can be "
      "promised "
      "is 1m31s, or lower a min share (mrctl queue set etl --min-share N) (--best-effort submits it all the same). " +
          kMargin);
  a.earliest = INFINITY;
  EXPECT_THAT(RefusalText(a, Seconds(60)),
              HasSubstr("; no deadline can be promised now: lower a min share (mrctl queue set etl --min-share N) ("));
}

TEST(AdmissionTextTest, SlotsThatAreAllGuaranteedToOthersAreCounted) {
  sched::Admission a;
  a.answer = sched::Admission::Answer::kTaken;
  a.slots = a.cluster = a.most = 4;
  a.promised = 4;
  a.earliest = INFINITY;
  EXPECT_EQ(AccountText(a),
            "cannot be promised: it needs 4 slots, and of the cluster's 4 all are guaranteed to others (4 to jobs with "
            "deadlines); no deadline can be promised now. " +
                kMargin);
}

TEST(AdmissionTextTest, AQueuesMaxShareIsNamedWhereItIsTheLimit) {
  sched::Admission a;
  a.answer = sched::Admission::Answer::kBeyondMaxShare;
  a.slots = 4;
  a.cluster = 8;
  a.most = a.available = 2;
  a.queue = "adhoc";
  a.earliest = 90;
  EXPECT_EQ(AccountText(a),
            "cannot be promised: it needs 4 slots, and its queue 'adhoc' may hold 2 (its max share); the earliest "
            "deadline that can be promised is 1m31s, or raise the max share (mrctl queue set adhoc --max-share 4). " +
                kMargin);
  a.answer = sched::Admission::Answer::kAdmitted;
  a.slots = 2;
  EXPECT_THAT(AccountText(a),
              HasSubstr("can be promised: it needs 2 slots, and the cluster's 8 slots are guaranteed to "
                        "nobody else; its queue 'adhoc' may hold 2 (its max share)"));
}

}  // namespace
}  // namespace mr::master
