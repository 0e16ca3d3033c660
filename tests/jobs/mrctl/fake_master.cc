#include "tests/jobs/mrctl/fake_master.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"
#include "common/rpc/wire.h"

namespace mr::ctl {

class FakeMaster::ForClient : public rpc::MasterForClient::Server {
 public:
  explicit ForClient(FakeMaster& master) : m_(master) {}

  kj::Promise<void> submit(SubmitContext context) override {
    std::lock_guard lock(m_.mutex_);
    m_.submissions_.emplace_back(context.getParams().getSubmissionId().cStr());
    if (m_.breaks_ > 0) {
      --m_.breaks_;
      return rpc::ToException(Unavailable("the connection breaks, as the test wants it"));
    }
    rpc::ToOutcome(m_.submit_outcome_, context.getResults().initOutcome());
    rpc::ToWire(kJob, context.getResults().initJob());
    return kj::READY_NOW;
  }

  kj::Promise<void> putLibrary(PutLibraryContext context) override {
    std::lock_guard lock(m_.mutex_);
    m_.uploads_.emplace_back(context.getParams().getOffset(), context.getParams().getData().size());
    return kj::READY_NOW;
  }

  kj::Promise<void> setQueue(SetQueueContext context) override {
    std::lock_guard lock(m_.mutex_);
    const auto in = context.getParams();
    m_.queues_.push_back({in.getQueue().cStr(), in.getWeight(), in.getMinShare(), in.getMaxShare()});
    return kj::READY_NOW;
  }

  kj::Promise<void> jobs(JobsContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    auto list = out.initJobs(end - begin);
    for (uint32_t i = begin; i < end; ++i) list[i - begin].setName(Entry(i).c_str());
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  kj::Promise<void> tasks(TasksContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    auto list = out.initTasks(end - begin);
    for (uint32_t i = begin; i < end; ++i) list[i - begin].setState(Entry(i).c_str());
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  kj::Promise<void> attempts(AttemptsContext context) override {
    const auto in = context.getParams();
    const uint32_t from = in.hasAfter() ? rpc::FromWire(in.getAfter()).task.task + 1 : 0;
    const auto [begin, end] = Page(from);
    auto out = context.getResults();
    auto list = out.initAttempts(end - begin);
    for (uint32_t i = begin; i < end; ++i) {
      rpc::ToWire(AttemptId{{kJob, 0, i}, 1}, list[i - begin].initId());
      list[i - begin].setState(Entry(i).c_str());
    }
    out.setMore(end < kEntries);
    return kj::READY_NOW;
  }
  kj::Promise<void> counters(CountersContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    auto list = out.initCounters(end - begin);
    for (uint32_t i = begin; i < end; ++i) list[i - begin].setName(Entry(i).c_str());
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  kj::Promise<void> workers(WorkersContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    auto list = out.initWorkers(end - begin);
    std::lock_guard lock(m_.mutex_);
    for (uint32_t i = begin; i < end; ++i) {
      list[i - begin].setId(i + 1);
      list[i - begin].setName(Entry(i).c_str());
      list[i - begin].setState(m_.worker_state_.c_str());
    }
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  kj::Promise<void> drain(DrainContext context) override {
    rpc::ToOutcome(Status::Ok(), context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  kj::Promise<void> kill(KillContext context) override {
    std::lock_guard lock(m_.mutex_);
    const JobId job = rpc::FromWire(context.getParams().getJob());
    m_.kills_.push_back(job);
    const Status outcome = job == m_.refused_kill_ ? NotFound("there is no such job") : Status::Ok();
    rpc::ToOutcome(outcome, context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  kj::Promise<void> decisions(DecisionsContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    auto list = out.initDecisions(end - begin);
    for (uint32_t i = begin; i < end; ++i) {
      list[i - begin].setAtUs(kEntries - i);
      list[i - begin].setWhat(Entry(i).c_str());
    }
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  kj::Promise<void> history(HistoryContext context) override {
    const auto [begin, end] = Page(context.getParams().getFrom());
    auto out = context.getResults();
    if (begin == 0) {
      out.setHead("head\n");
      rpc::ToWire(JobId{1, 3}, out.initBeside(1)[0]);
    }
    std::string text;
    for (uint32_t i = begin; i < end; ++i) text += Entry(i) + "\n";
    out.setText(text.c_str());
    out.setNext(Next(end));
    return kj::READY_NOW;
  }
  // Two shapes, each with kEntries stages.
  kj::Promise<void> profile(ProfileContext context) override {
    const auto in = context.getParams();
    const auto [begin, end] = Page(in.getFromStage());
    auto out = context.getResults();
    out.setCount(2);
    auto profile = out.initProfile();
    profile.setRuns(in.getIndex() + 1);
    auto stages = profile.initStages(end - begin);
    for (uint32_t i = begin; i < end; ++i) stages[i - begin].setName(Entry(i).c_str());
    out.setNext(Next(end));
    return kj::READY_NOW;
  }

 private:
  static std::pair<uint32_t, uint32_t> Page(uint64_t from) {
    EXPECT_LT(from, kEntries) << "an entry that does not exist was asked for";
    const auto begin = static_cast<uint32_t>(std::min<uint64_t>(from, kEntries));
    return {begin, std::min(begin + kPage, kEntries)};
  }
  static uint32_t Next(uint32_t end) { return end < kEntries ? end : 0; }
  static std::string Entry(uint32_t i) { return "entry" + std::to_string(i); }

  FakeMaster& m_;
};

FakeMaster::FakeMaster() {
  auto bound = rpc::WaitForLoop<Result<uint16_t>>(loop_, [this] {
    rpc::Hello own;
    own.role = rpc::Role::kMaster;
    own.cluster_id = 1;
    own.incarnation = 1;
    server_ = kj::heap<rpc::RpcServer>(
        loop_.io(), own,
        [this](const rpc::Hello& hello, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          if (hello.role == rpc::Role::kClient) return capnp::Capability::Client(kj::heap<ForClient>(*this));
          return Unavailable("no such role here");
        },
        rpc::MakeAuthenticator({}).value());
    return server_->Listen("127.0.0.1", 0);
  });
  EXPECT_TRUE(bound.ok()) << bound.status().ToString();
  if (bound.ok()) port_ = *bound;
}

FakeMaster::~FakeMaster() noexcept {
  loop_.Run([this] { server_ = nullptr; });
}

void FakeMaster::BreakSubmits(int times) {
  std::lock_guard lock(mutex_);
  breaks_ = times;
}
void FakeMaster::SetSubmitOutcome(const Status& status) {
  std::lock_guard lock(mutex_);
  submit_outcome_ = status;
}
void FakeMaster::SetWorkerState(const std::string& state) {
  std::lock_guard lock(mutex_);
  worker_state_ = state;
}
void FakeMaster::RefuseKill(JobId job) {
  std::lock_guard lock(mutex_);
  refused_kill_ = job;
}
std::vector<JobId> FakeMaster::Kills() {
  std::lock_guard lock(mutex_);
  return kills_;
}
std::vector<std::string> FakeMaster::Submissions() {
  std::lock_guard lock(mutex_);
  return submissions_;
}
std::vector<std::pair<uint64_t, uint64_t>> FakeMaster::Uploads() {
  std::lock_guard lock(mutex_);
  return uploads_;
}
std::vector<FakeMaster::Queue> FakeMaster::Queues() {
  std::lock_guard lock(mutex_);
  return queues_;
}

}  // namespace mr::ctl
