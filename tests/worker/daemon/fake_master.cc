#include "tests/worker/daemon/fake_master.h"

#include <gtest/gtest.h>

#include <capnp/serialize.h>
#include <algorithm>
#include <chrono>
#include <cstring>

#include "common/rpc/control_wire.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);  // only failures take so long
constexpr uint64_t kCluster = 0xc1;

// Notes the parts that tests look at, by the kind of the report.
struct Hearing {
  FakeMaster::Heard* heard;
  void operator()(const report::Unknown&) { heard->what = "pieces"; }
  void operator()(const report::Started&) { heard->what = "started"; }
  void operator()(const report::Finished& v) {
    heard->what = "finished";
    heard->records = v.output.manifest.records;
    heard->content = v.output.manifest.content;
    heard->table = v.output.rows;
    for (const FileOutput& file : v.output.files) {
      heard->output_name = file.name;
      heard->output_path = file.staged;
    }
    heard->consumed = v.consumed;
  }
  void operator()(const report::Failed& v) {
    heard->what = "failed";
    heard->message = v.message;
    heard->failure_kind = v.kind;
  }
  void operator()(const report::Refused& v) {
    heard->what = "refused";
    heard->message = v.why;
  }
  void operator()(const report::Killed&) { heard->what = "killed"; }
  void operator()(const report::FetchFailed&) { heard->what = "fetch_failed"; }
  void operator()(const report::FetchDone& v) {
    heard->what = "fetch_done";
    heard->replica = v.replica;
    heard->bytes = v.bytes;
    heard->readers = v.readers;
  }
  void operator()(const report::ReplicaMade& v) {
    heard->what = "replica_made";
    heard->replica = v.replica;
  }
  void operator()(const report::ReplicaNotMade& v) {
    heard->what = "replica_not_made";
    heard->replica = v.from;
    heard->message = v.why;
    heard->here = v.here;
  }
};

FakeMaster::Heard FromReport(rpc::Report::Reader in) {
  const Report report = rpc::FromWire(in);
  FakeMaster::Heard heard;
  heard.attempt = report.attempt;
  std::visit(Hearing{&heard}, report.what);
  return heard;
}

}  // namespace

class FakeMaster::ForWorker : public rpc::MasterForWorker::Server {
 public:
  explicit ForWorker(FakeMaster& master) : m_(master) {}

  kj::Promise<void> register_(RegisterContext context) override {
    m_.batches_ = 0;
    const auto info = context.getParams().getInfo();
    Registration r;
    r.name = info.getName().cStr();
    r.address = info.getAddress().cStr();
    r.incarnation = info.getIncarnation();
    r.slots = info.getSlots();
    r.epoch_seen = info.getMasterEpochSeen();
    r.pid = info.getPid();
    r.leaving = info.getLeaving();
    r.seen = FromWire(info.getDurableSeen());
    EXPECT_EQ(info.getPages(), pages_);
    r.pages = std::exchange(pages_, 0);
    r.inventory = std::exchange(listed_.inventory, {});
    r.running = std::exchange(listed_.running, {});
    r.blocks = std::exchange(listed_.blocks, {});
    m_.worker_ = context.getParams().getWorker();
    auto result = context.getResults().initResult();
    result.setWorkerId(kWorkerId);
    result.setClusterId(kCluster);
    result.setHeartbeatMs(20);
    std::lock_guard lock(m_.mutex_);
    result.setLeaseMs(m_.lease_ms_);
    result.setMasterEpoch(m_.epoch_);
    ToWire(m_.durable_, result.initDurable());
    result.setReattachMs(m_.reattach_ms_);
    result.setStartOver(m_.start_over_);
    if (m_.drops_inventory_) {
      const std::string bits((r.inventory.size() + 7) / 8, '\xff');
      result.setDrop(kj::arrayPtr(reinterpret_cast<const kj::byte*>(bits.data()), bits.size()));
    }
    m_.registrations_.push_back(std::move(r));
    m_.known_ = true;
    m_.changed_.notify_all();
    if (!m_.hold_registrations_) return kj::READY_NOW;
    auto held = kj::newPromiseAndFulfiller<void>();
    m_.held_registration_ = kj::mv(held.fulfiller);
    return kj::mv(held.promise);
  }

  kj::Promise<void> blockReceived(BlockReceivedContext context) override {
    return HearBlocks(context.getParams().getBlocks(), true);
  }
  kj::Promise<void> blockSuspect(BlockSuspectContext context) override {
    return HearBlocks(context.getParams().getBlocks(), false);
  }

  kj::Promise<void> registerPage(RegisterPageContext context) override {
    const auto page = context.getParams().getPage();
    if (context.getParams().getNumber() == 0) {
      listed_ = {};
      pages_ = 0;
    }
    EXPECT_EQ(context.getParams().getNumber(), pages_);
    ++pages_;
    for (const auto replica : page.getInventory()) listed_.inventory.push_back(FromWire(replica));
    for (const auto id : page.getRunning()) listed_.running.push_back(rpc::FromWire(id));
    for (const auto b : page.getBlocks()) {
      listed_.blocks.push_back(rpc::FromWire(b));
    }
    return kj::READY_NOW;
  }

  kj::Promise<void> report(ReportContext context) override {
    const auto reports = context.getParams().getReports();
    auto verdicts = context.getResults().initVerdicts(reports.size());
    std::lock_guard lock(m_.mutex_);
    for (const auto report : reports) {
      const bool named = rpc::FromWire(report.getAttempt()) == m_.failing_;
      const bool fails = named && (report.isFinished() || (report.isFailed() && m_.failures_failing_ > 0));
      if (fails && report.isFailed()) --m_.failures_failing_;
      KJ_REQUIRE(!fails, "this call fails, as the test wants it");
    }
    for (uint32_t i = 0; i < reports.size(); ++i) {
      if (reports[i].isPieces()) {
        // The report that came before, piece by piece.
        EXPECT_EQ(reports[i].getPieces(), pieces_.size());
        std::vector<capnp::word> words(pieces_.size() / sizeof(capnp::word));
        std::memcpy(words.data(), pieces_.data(), words.size() * sizeof(capnp::word));
        capnp::ReaderOptions options;
        options.traversalLimitInWords = words.size() * 2 + 64;
        capnp::FlatArrayMessageReader message(kj::arrayPtr(words.data(), words.size()), options);
        m_.heard_.push_back(FromReport(message.getRoot<rpc::Report>()));
      } else {
        m_.heard_.push_back(FromReport(reports[i]));
      }
      const bool finished = m_.heard_.back().what == "finished" || m_.heard_.back().what == "replica_made";
      if (finished && m_.keep_verdicts_) {
        m_.kept_.push_back(reports[i].getNumber());
        verdicts.set(i, rpc::Verdict::LATER);
      } else {
        verdicts.set(i, rpc::ToWire(finished ? m_.verdict_ : Verdict::kNoted));
      }
    }
    m_.changed_.notify_all();
    return kj::READY_NOW;
  }

  kj::Promise<void> reportPiece(ReportPieceContext context) override {
    const auto params = context.getParams();
    if (params.getOffset() == 0) pieces_.clear();
    EXPECT_EQ(params.getOffset(), pieces_.size());
    EXPECT_LE(params.getBytes().size(), 1u << 20);
    pieces_.append(reinterpret_cast<const char*>(params.getBytes().begin()), params.getBytes().size());
    return kj::READY_NOW;
  }

  kj::Promise<void> progress(ProgressContext) override { return kj::READY_NOW; }

  kj::Promise<void> leaving(LeavingContext) override {
    std::lock_guard lock(m_.mutex_);
    m_.leaving_ = true;
    m_.changed_.notify_all();
    return kj::READY_NOW;
  }

  kj::Promise<void> library(LibraryContext context) override {
    std::lock_guard lock(m_.mutex_);
    const uint64_t offset = std::min<uint64_t>(context.getParams().getOffset(), m_.library_.size());
    const uint64_t n = std::min<uint64_t>(context.getParams().getLength(), m_.library_.size() - offset);
    context.getResults().setData(kj::arrayPtr(reinterpret_cast<const kj::byte*>(m_.library_.data()) + offset, n));
    context.getResults().setTotalBytes(m_.library_.size());
    return kj::READY_NOW;
  }

 private:
  kj::Promise<void> HearBlocks(capnp::List<rpc::BlockReport>::Reader blocks, bool good) {
    std::lock_guard lock(m_.mutex_);
    KJ_REQUIRE(m_.block_news_failing_ == 0 || m_.block_news_failing_-- == 0, "this call fails, as the test wants it");
    for (const auto block : blocks) m_.block_news_.emplace_back(block.getId(), good);
    m_.changed_.notify_all();
    return kj::READY_NOW;
  }

  FakeMaster& m_;
  Registration listed_;  // by the pages of the registration under way
  uint32_t pages_ = 0;
  std::string pieces_;  // of a report
};

class FakeMaster::Beats : public rpc::Heartbeats::Server {
 public:
  explicit Beats(FakeMaster& master) : m_(master) {}
  kj::Promise<void> beat(BeatContext context) override {
    std::lock_guard lock(m_.mutex_);
    ++m_.beats_;
    if (!m_.answers_beats_) return kj::NEVER_DONE;
    context.getResults().setKnown(m_.known_);
    ToWire(m_.durable_, context.getResults().initDurable());
    return kj::READY_NOW;
  }

 private:
  FakeMaster& m_;
};

FakeMaster::FakeMaster() { Listen(); }
FakeMaster::~FakeMaster() noexcept { CloseAll(); }

void FakeMaster::Listen() {
  auto bound = rpc::WaitForLoop<Result<uint16_t>>(loop_, [this] {
    rpc::Hello own;
    own.role = rpc::Role::kMaster;
    own.cluster_id = kCluster;
    own.incarnation = 1;
    server_ = kj::heap<rpc::RpcServer>(
        loop_.io(), own,
        [this](const rpc::Hello& hello, const rpc::PeerInfo&) -> Result<capnp::Capability::Client> {
          if (hello.role == rpc::Role::kWorker) return capnp::Capability::Client(kj::heap<ForWorker>(*this));
          if (hello.role == rpc::Role::kHeartbeat) return capnp::Capability::Client(kj::heap<Beats>(*this));
          return Unavailable("no such role here");
        },
        rpc::MakeAuthenticator({}).value());
    return server_->Listen("127.0.0.1", port_);
  });
  ASSERT_TRUE(bound.ok()) << bound.status().ToString();
  port_ = *bound;
}

void FakeMaster::CloseAll() {
  loop_.Run([this] {
    worker_ = nullptr;
    held_registration_ = nullptr;
    server_ = nullptr;
  });
}

void FakeMaster::Restart() {
  CloseAll();
  {
    std::lock_guard lock(mutex_);
    ++epoch_;
  }
  Listen();
}

void FakeMaster::SetKnown(bool known) {
  std::lock_guard lock(mutex_);
  known_ = known;
}
void FakeMaster::SetAnswersBeats(bool on) {
  std::lock_guard lock(mutex_);
  answers_beats_ = on;
}
void FakeMaster::SetDurable(const JournalRecord& durable) {
  std::lock_guard lock(mutex_);
  durable_ = durable;
}

void FakeMaster::SetLease(uint32_t ms) {
  std::lock_guard lock(mutex_);
  lease_ms_ = ms;
}

void FakeMaster::SetReattachWindow(uint32_t ms) {
  std::lock_guard lock(mutex_);
  reattach_ms_ = ms;
}
void FakeMaster::SetStartOver(bool on) {
  std::lock_guard lock(mutex_);
  start_over_ = on;
}
void FakeMaster::SetDropsInventory(bool on) {
  std::lock_guard lock(mutex_);
  drops_inventory_ = on;
}
void FakeMaster::HoldRegistrations(bool on) {
  {
    std::lock_guard lock(mutex_);
    hold_registrations_ = on;
  }
  loop_.Run([&] {
    if (!on && held_registration_.get() != nullptr) held_registration_->fulfill();
  });
}
void FakeMaster::FailReportsOf(AttemptId attempt, int failures) {
  std::lock_guard lock(mutex_);
  failing_ = attempt;
  failures_failing_ = failures;
}
void FakeMaster::FailBlockNews(int times) {
  std::lock_guard lock(mutex_);
  block_news_failing_ = times;
}
std::vector<std::pair<uint64_t, bool>> FakeMaster::WaitForBlockNews(size_t count) {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return block_news_.size() >= count; }))
      << block_news_.size() << " of " << count;
  return block_news_;
}
void FakeMaster::SetVerdict(Verdict verdict) {
  std::lock_guard lock(mutex_);
  verdict_ = verdict;
}
void FakeMaster::SetLibrary(std::string bytes) {
  std::lock_guard lock(mutex_);
  library_ = std::move(bytes);
}
uint64_t FakeMaster::beats() {
  std::lock_guard lock(mutex_);
  return beats_;
}

FakeMaster::Registration FakeMaster::WaitForRegistration(size_t n) {
  std::unique_lock lock(mutex_);
  const bool there = changed_.wait_for(lock, kLimit, [&] { return registrations_.size() >= n; });
  EXPECT_TRUE(there) << "registration " << n << " did not come";
  return there ? registrations_[n - 1] : Registration{};
}

size_t FakeMaster::Registrations() {
  std::lock_guard lock(mutex_);
  return registrations_.size();
}

void FakeMaster::WaitForLeaving() {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return leaving_; })) << "the worker does not leave";
}

FakeMaster::Heard FakeMaster::WaitForReport(AttemptId attempt, const std::vector<std::string>& kinds) {
  std::unique_lock lock(mutex_);
  Heard found;
  const bool there = changed_.wait_for(lock, kLimit, [&] {
    for (const Heard& h : heard_) {
      if (h.attempt == attempt && std::find(kinds.begin(), kinds.end(), h.what) != kinds.end()) {
        found = h;
        return true;
      }
    }
    return false;
  });
  EXPECT_TRUE(there) << "no report of " << Name(attempt, TaskLetter::kMap);
  return found;
}

size_t FakeMaster::ReportsOf(AttemptId attempt, const std::string& kind) {
  std::lock_guard lock(mutex_);
  return CountReports(attempt, kind);
}

size_t FakeMaster::CountReports(AttemptId attempt, const std::string& kind) const {
  return static_cast<size_t>(std::count_if(heard_.begin(), heard_.end(),
                                           [&](const Heard& h) { return h.attempt == attempt && h.what == kind; }));
}

void FakeMaster::WaitForReports(AttemptId attempt, const std::string& kind, size_t count) {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kLimit, [&] { return CountReports(attempt, kind) >= count; }))
      << Name(attempt, TaskLetter::kMap) << " was not reported " << count << " times as " << kind;
}

void FakeMaster::SendBatch(uint64_t sequence, uint32_t epoch,
                           const std::function<void(rpc::CommandBatch::Builder)>& fill) {
  if (epoch == 0) {
    std::lock_guard lock(mutex_);
    epoch = epoch_;
  }
  const Status sent = rpc::WaitForLoop<Status>(loop_, [this, sequence, fill, epoch]() -> kj::Promise<Status> {
    KJ_IF_MAYBE (worker, worker_) {
      auto request = worker->applyRequest();
      auto batch = request.initBatch();
      batch.setMasterEpoch(epoch);
      batch.setSequence(sequence == 0 ? ++batches_ : sequence);
      fill(batch);
      return request.send().then([](auto&&) { return Status::Ok(); });
    }
    return Status(Unavailable("no worker is registered"));
  });
  EXPECT_TRUE(sent.ok()) << sent.ToString();
}

void FakeMaster::Send(uint32_t n, std::function<void(capnp::List<rpc::Command>::Builder)> fill, uint32_t epoch) {
  SendBatch(0, epoch, [n, &fill](rpc::CommandBatch::Builder batch) { fill(batch.initCommands(n)); });
}

void FakeMaster::SendUnanswered(uint32_t n, const std::function<void(capnp::List<rpc::Command>::Builder)>& fill) {
  uint32_t epoch = 0;
  {
    std::lock_guard lock(mutex_);
    epoch = epoch_;
  }
  loop_.Run([&] {
    KJ_IF_MAYBE (worker, worker_) {
      auto request = worker->applyRequest();
      auto batch = request.initBatch();
      batch.setMasterEpoch(epoch);
      batch.setSequence(++batches_);
      fill(batch.initCommands(n));
      loop_.Spawn(request.send().ignoreResult().catch_([](kj::Exception&&) {}));
    }
  });
}

void FakeMaster::SendSwapped(uint32_t n1, std::function<void(capnp::List<rpc::Command>::Builder)> first, uint32_t n2,
                             std::function<void(capnp::List<rpc::Command>::Builder)> second) {
  uint64_t next = 0;
  loop_.Run([&] {
    next = batches_ + 1;
    batches_ += 2;
  });
  SendBatch(next + 1, 0, [&](rpc::CommandBatch::Builder batch) { second(batch.initCommands(n2)); });
  SendBatch(next, 0, [&](rpc::CommandBatch::Builder batch) { first(batch.initCommands(n1)); });
}

void FakeMaster::SendAhead(uint32_t n, std::function<void(capnp::List<rpc::Command>::Builder)> fill) {
  const uint64_t next = loop_.Run([&] { return batches_ + 2; });
  SendBatch(next, 0, [&](rpc::CommandBatch::Builder batch) { fill(batch.initCommands(n)); });
}

void FakeMaster::KeepVerdicts() {
  std::lock_guard lock(mutex_);
  keep_verdicts_ = true;
}

void FakeMaster::GiveVerdicts() {
  std::vector<uint64_t> numbers;
  Verdict verdict;
  {
    std::lock_guard lock(mutex_);
    keep_verdicts_ = false;
    numbers = std::exchange(kept_, {});
    verdict = verdict_;
  }
  SendBatch(0, 0, [&](rpc::CommandBatch::Builder batch) {
    auto answers = batch.initAnswers(static_cast<uint32_t>(numbers.size()));
    for (uint32_t i = 0; i < numbers.size(); ++i) {
      answers[i].setReport(numbers[i]);
      answers[i].setVerdict(rpc::ToWire(verdict));
    }
  });
}

Result<std::string> FakeMaster::Log(AttemptId attempt) {
  return rpc::WaitForLoop<Result<std::string>>(loop_, [this, attempt]() -> kj::Promise<Result<std::string>> {
    KJ_IF_MAYBE (worker, worker_) {
      auto request = worker->logRequest();
      rpc::ToWire(attempt, request.initAttempt());
      return request.send().then([](capnp::Response<rpc::Worker::LogResults> response) -> Result<std::string> {
        const Status outcome = rpc::FromOutcome(response.getOutcome());
        if (!outcome.ok()) return outcome;
        return std::string(response.getText().cStr());
      });
    }
    return Result<std::string>(Unavailable("no worker is registered"));
  });
}

}  // namespace mr::worker
