#include "worker/daemon/session.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/fault.h"
#include "common/rpc/kj_status.h"
#include "worker/daemon/session_impl.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

constexpr Duration kLongestPause = Seconds(2);

}  // namespace

void Session::Impl::Connect() {
  const uint64_t mine = ++round;
  rpc::Hello hello;
  hello.role = rpc::Role::kWorker;
  hello.cluster_id = options.cluster_id;
  hello.incarnation = options.incarnation;
  tasks.add(rpc::RpcConnection::Connect(loop.io(), options.master, hello)
                .then([this, mine](Result<kj::Own<rpc::RpcConnection>> connection) {
                  if (mine != round) return;
                  if (!connection.ok()) return Break(connection.status().message());
                  auto master = (*connection)->Bootstrap<rpc::MasterForWorker>();
                  link = kj::heap<Link>(kj::mv(*connection), kj::mv(master), *this);
                  link->calls.add(link->connection->OnDisconnect().then([this, mine] {
                    if (mine == round) Break("the master closed the connection");
                  }));
                  Register();
                }));
}

void Session::Impl::Break(const std::string& why) {
  const bool was_registered = registered;
  registered = false;
  if (!stopped) CountTries(why);
  ++round;  // ignores continuations of the old connection
  progress_under_way = false;
  listed.reset();
  block_news.clear();  // the next registration lists all blocks
  LOG_IF(WARNING, !stopped && (was_registered || pause == kLongestPause || pause == kFirstPause))
      << "no session with the master at " << options.master << ": " << why << "; retrying";
  // The link's tasks may be on the stack: it is destroyed later.
  if (link.get() != nullptr) loop.Post([dead = kj::mv(link)]() mutable { dead = nullptr; });
  if (stopped) return;
  const Duration jittered = FromSeconds(pause.seconds() * (0.5 + rng.Uniform()));
  pause = std::min(pause * 2, kLongestPause);
  tasks.add(loop.timer().afterDelay(jittered.ns * kj::NANOSECONDS).then([this, mine = round] {
    if (mine == round) Connect();
  }));
}

// This process stood still for longer than its lease, and the master has not answered a beat since. So the master has
// probably declared this worker lost. Earlier commands are not applied. The next registration decides which attempts
// still count, and ends the others.
bool Session::Impl::FenceIfStoodStill() {
  lived.Read(Now());
  const Duration gap = lived.last_gap();
  if (!registered || lease.ns == 0 || gap < lease || !options.heard || Now() - options.heard() < lease) return false;
  Break("this worker stood still for " + HumanDuration(gap) + ", longer than its lease of " + HumanDuration(lease));
  return true;
}

void Session::Impl::Look() {
  FenceIfStoodStill();
  tasks.add(loop.timer().afterDelay(kLook.ns * kj::NANOSECONDS).then([this] { Look(); }));
}

// Batches come as calls and as answers to reports, which may overtake each other. They are applied in order.
void Session::Impl::Receive(CommandBatch batch) {
  if (FenceIfStoodStill()) return;
  if (batch.sequence >= next_batch) ahead.emplace(batch.sequence, std::move(batch));
  while (registered && !ahead.empty() && ahead.begin()->first == next_batch) {
    CommandBatch next = std::move(ahead.begin()->second);
    ahead.erase(ahead.begin());
    ++next_batch;
    Apply(std::move(next));
  }
}

void Session::Impl::Apply(CommandBatch batch) {
  if (batch.master_epoch != master_epoch) {
    LOG(WARNING) << "ignored commands of master epoch " << batch.master_epoch << " under epoch " << master_epoch;
    return;
  }
  FaultPoint("commands");
  for (const auto& [report, verdict] : batch.answers) Answer(report, verdict);
  for (Command& command : batch.commands) {
    // First, because the worker then ends the job's attempts, and these ends are to be reported.
    if (const auto* end = std::get_if<command::EndJob>(&command)) EndReportsOf(end->job);
    worker.Apply(std::move(command));
  }
  ScheduleProgress();
}

void Session::Impl::ScheduleProgress() {
  if (progress_scheduled || !registered || worker.idle()) return;
  progress_scheduled = true;
  tasks.add(loop.timer().afterDelay(ProgressGate::kPeriod.ns * kj::NANOSECONDS).then([this] {
    progress_scheduled = false;
    SendProgress();
    ScheduleProgress();
  }));
}

void Session::Impl::SendProgress() {
  if (!registered || progress_under_way) return;
  const auto frames = worker.DueProgress(Now());
  if (frames.empty()) return;
  auto request = link->master.progressRequest();
  ToWire(self, request.initWorker());
  auto out = request.initFrames(static_cast<uint32_t>(frames.size()));
  for (uint32_t i = 0; i < frames.size(); ++i) {
    const auto& [attempt, p, inputs_done] = frames[i];
    rpc::ToWire(ProgressReport{attempt, p.phase, p.taken_bytes, p.total_bytes, p.records, inputs_done}, out[i]);
  }
  progress_under_way = true;
  link->calls.add(request.send().then(
      [this, mine = round](auto&&) {
        if (mine == round) progress_under_way = false;
      },
      [this, mine = round](kj::Exception&& e) {
        if (mine == round) Break("progress was not answered: " + rpc::FromException(e).message());
      }));
}

Session::Session(rpc::KjThread& loop, Worker& worker, Directory& directory, Options options)
    : impl_(kj::heap<Impl>(loop, worker, directory, std::move(options))) {}
Session::~Session() = default;

void Session::Start() {
  impl_->Connect();
  impl_->Look();
}

void Session::Stop() {
  impl_->stopped = true;
  impl_->Break("stopped");
}

void Session::Unknown(Instant sent) {
  if (impl_->registered && sent > impl_->registered_at) impl_->Break("the master does not know this worker any more");
}

void Session::Durable(const JournalRecord& record) {
  if (impl_->registered && impl_->options.seen != nullptr) impl_->options.seen->Note(impl_->options.cluster_id, record);
}

bool Session::registered() const { return impl_->registered; }
uint64_t Session::given_up() const { return impl_->given_up; }
size_t Session::unanswered() const { return impl_->unanswered.size(); }

kj::Promise<Result<LibraryCache::Piece>> Session::AskLibrary(const std::string& sha256, uint64_t offset) {
  using Piece = LibraryCache::Piece;
  if (!impl_->registered) return Result<Piece>(Unavailable("there is no session with the master"));
  auto request = impl_->link->master.libraryRequest();
  request.setSha256(sha256);
  request.setOffset(offset);
  request.setLength(1 << 20);
  return request.send().then(
      [](capnp::Response<rpc::MasterForWorker::LibraryResults> response) -> Result<Piece> {
        const auto data = response.getData();
        return Piece{std::string(reinterpret_cast<const char*>(data.begin()), data.size()), response.getTotalBytes()};
      },
      [](kj::Exception&& e) -> Result<Piece> { return rpc::FromException(e); });
}

void Session::BlockReceived(const BlockRef& block) { impl_->AddBlockNews(block, Impl::BlockWord::kReceived); }
void Session::BlockSuspect(const BlockRef& block, bool aside) {
  impl_->AddBlockNews(block, aside ? Impl::BlockWord::kAside : Impl::BlockWord::kDamaged);
}

void Session::BlockNotCopied(const BlockRef& block, bool source_failed, const std::string& why) {
  if (!impl_->registered) return;
  auto request = impl_->link->master.blockNotCopiedRequest();
  ToWire(impl_->self, request.initWorker());
  ToWire(block, request.initBlock());
  request.setSourceFailed(source_failed);
  request.setWhy(why.c_str());
  impl_->link->calls.add(request.send().ignoreResult());
}

void Session::DiskFailed(const std::string& why) {
  if (!impl_->registered) return;
  auto request = impl_->link->master.diskFailedRequest();
  ToWire(impl_->self, request.initWorker());
  request.setWhy(why.c_str());
  impl_->link->calls.add(request.send().ignoreResult());
}

kj::Promise<Result<bool>> Session::KeepLog(AttemptId attempt, const std::string& log, uint64_t log_bytes, bool failed) {
  if (!impl_->registered) return Result<bool>(Unavailable("there is no session with the master"));
  auto request = impl_->link->master.keepLogRequest();
  ToWire(impl_->self, request.initWorker());
  rpc::ToWire(attempt, request.initAttempt());
  request.setLog(capnp::Data::Reader(reinterpret_cast<const uint8_t*>(log.data()), log.size()));
  request.setLogBytes(log_bytes);
  request.setFailed(failed);
  return request.send().then(
      [](capnp::Response<rpc::MasterForWorker::KeepLogResults> response) -> Result<bool> {
        return response.getKnown();
      },
      [](kj::Exception&& e) -> Result<bool> { return rpc::FromException(e); });
}

void Session::Leaving() {
  if (!impl_->registered) return;
  auto request = impl_->link->master.leavingRequest();
  ToWire(impl_->self, request.initWorker());
  impl_->link->calls.add(request.send().ignoreResult());
}

}  // namespace mr::worker
