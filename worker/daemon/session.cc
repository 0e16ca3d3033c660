#include "worker/daemon/session.h"

#include <glog/logging.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {

// Calls with reports under way; more would only be shorter.
constexpr int kMaxCalls = 8;
// Of one call: far below the 1 MiB of a control message.
constexpr size_t kMaxCallBytes = 384 << 10;
// How long a report that nothing waits for may wait for others to travel with: below what a watching
// person sees, and longer than the shortest tasks run, whose start and end then share a call (guess).
constexpr Duration kHold = Millis(5);
constexpr Duration kFirstPause = Millis(100);
constexpr Duration kLongestPause = Seconds(2);
constexpr Duration kRegisterTimeout = Seconds(15);

// The master decides nothing at once because of these.
bool MayWait(const Report& report) {
  return std::holds_alternative<Started>(report.what) || std::holds_alternative<FetchDone>(report.what);
}

bool IsEnd(const Report& report) {
  return std::holds_alternative<Finished>(report.what) || std::holds_alternative<Failed>(report.what) ||
         std::holds_alternative<Killed>(report.what);
}

capnp::Text::Reader AsText(const std::string& s) { return {s.c_str(), s.size()}; }

}  // namespace

struct Session::Impl : kj::TaskSet::ErrorHandler {
  struct Pending {
    worker::Report report;
    std::function<void(Verdict)> answered;
  };
  // One connection and what hangs on it. `round` tells its continuations from earlier ones'.
  struct Link {
    kj::Own<rpc::RpcConnection> connection;
    rpc::MasterForWorker::Client master;
    kj::TaskSet calls;
    Link(kj::Own<rpc::RpcConnection> c, rpc::MasterForWorker::Client m, kj::TaskSet::ErrorHandler& errors)
        : connection(kj::mv(c)), master(kj::mv(m)), calls(errors) {}
  };

  rpc::KjThread& loop;
  Worker& worker;
  Directory& directory;
  Options options;
  Rng rng;

  kj::Own<Link> link;  // null between connections
  uint64_t round = 0;
  bool registered = false;
  bool stopped = false;
  uint32_t master_epoch = 0;
  WorkerRef self;
  Duration pause = kFirstPause;
  std::map<uint64_t, CommandBatch> ahead;  // came before the registration's answer, or before others
  uint64_t next_batch = 1;

  std::map<uint64_t, Pending> unanswered;  // by number, in order
  uint64_t next_number = 1;
  uint64_t next_unsent = 1;
  std::map<AttemptId, uint64_t> unsent_starts;  // numbers of reports
  int calls_under_way = 0;
  bool flush_scheduled = false;
  bool hold_armed = false;
  bool calls_full = false;  // reports wait for a call to come back
  bool progress_scheduled = false;
  bool progress_under_way = false;
  kj::TaskSet tasks;  // last: its tasks use what is above

  Impl(rpc::KjThread& l, Worker& w, Directory& d, Options o)
      : loop(l), worker(w), directory(d), options(std::move(o)), rng(RandomId()), tasks(*this) {}

  void taskFailed(kj::Exception&& e) override { LOG(ERROR) << "session: " << e.getDescription().cStr(); }

  void Connect();
  void Register();
  void OnRegistered(rpc::Registration::Reader answer);
  void Break(const std::string& why);
  void Receive(CommandBatch batch);
  void Apply(CommandBatch batch);
  void Answer(uint64_t number, Verdict verdict);
  void ScheduleFlush();
  void DropStart(const AttemptId& attempt);
  void FlushLater();
  void Flush();
  void SendBatch(std::vector<uint64_t> numbers);
  void ScheduleProgress();
  void SendProgress();
};

namespace {

// What the master calls. Each registration makes one; commands of an earlier one are not heard.
class CommandServer : public rpc::Worker::Server {
 public:
  using Sink = std::function<void(CommandBatch)>;
  CommandServer(Sink sink, std::function<kj::Promise<Result<std::string>>(AttemptId)> read_log)
      : sink_(std::move(sink)), read_log_(std::move(read_log)) {}

  kj::Promise<void> apply(ApplyContext context) override {
    sink_(FromWire(context.getParams().getBatch()));
    return kj::READY_NOW;
  }

  kj::Promise<void> log(LogContext context) override {
    const AttemptId attempt = rpc::FromWire(context.getParams().getAttempt());
    return read_log_(attempt).then([context](Result<std::string> text) mutable {
      auto out = context.getResults();
      rpc::ToOutcome(text.ok() ? Status::Ok() : text.status(), out.initOutcome());
      if (text.ok()) out.setText(AsText(*text));
    });
  }

 private:
  const Sink sink_;
  const std::function<kj::Promise<Result<std::string>>(AttemptId)> read_log_;
};

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

void Session::Impl::Register() {
  const uint64_t mine = round;
  auto request = link->master.registerRequest();
  auto info = request.initInfo();
  info.setName(options.name);
  info.setIncarnation(options.incarnation);
  info.setAddress(options.address);
  info.setRack(options.rack);
  info.setSlots(options.slots.total);
  info.setMapSlots(options.slots.map);
  info.setReduceSlots(options.slots.reduce);
  info.setMemoryBytes(options.memory_bytes);
  auto labels = info.initLabels(static_cast<uint32_t>(options.labels.size()));
  for (uint32_t i = 0; i < options.labels.size(); ++i) labels.set(i, AsText(options.labels[i]));
  const auto inventory = worker.Inventory();
  auto copies = info.initInventory(static_cast<uint32_t>(inventory.size()));
  for (uint32_t i = 0; i < inventory.size(); ++i) ToWire(inventory[i], copies[i]);
  const auto running = worker.Running();
  auto attempts = info.initRunning(static_cast<uint32_t>(running.size()));
  for (uint32_t i = 0; i < running.size(); ++i) rpc::ToWire(running[i], attempts[i]);
  if (options.blocks) {
    const auto blocks = options.blocks();
    auto out = info.initBlocks(static_cast<uint32_t>(blocks.size()));
    for (uint32_t i = 0; i < blocks.size(); ++i) ToWire(blocks[i], out[i]);
  }
  if (options.capacity_and_used) {
    const auto [capacity, used] = options.capacity_and_used();
    info.setCapacityBytes(capacity);
    info.setUsedBytes(used);
  }
  info.setHttpPort(options.http_port);
  info.setMasterEpochSeen(master_epoch);
  info.setLeaving(worker.leaving());
  info.setPid(static_cast<uint32_t>(::getpid()));
  // From this registration on the first news of each stage are complete.
  directory.ExpectComplete();
  ahead.clear();
  next_batch = 1;
  request.setWorker(kj::heap<CommandServer>(
      [this, mine](CommandBatch batch) {
        if (mine == round) Receive(std::move(batch));
      },
      options.read_log));
  link->calls.add(loop.timer()
                      .timeoutAfter(kRegisterTimeout.ns * kj::NANOSECONDS, request.send())
                      .then(
                          [this, mine](capnp::Response<rpc::MasterForWorker::RegisterResults> response) {
                            if (mine == round) OnRegistered(response.getResult());
                          },
                          [this, mine](kj::Exception&& e) {
                            if (mine == round) Break(rpc::FromException(e).message());
                          }));
}

void Session::Impl::OnRegistered(rpc::Registration::Reader answer) {
  const Status outcome = rpc::FromOutcome(answer.getOutcome());
  if (!outcome.ok()) return Break("the master refused the registration: " + outcome.message());
  if (answer.getMasterEpoch() < master_epoch) {
    return Break("the master is one of an earlier epoch than the last");
  }
  self = {{answer.getWorkerId()}, options.incarnation};
  if (!self.id.valid()) return Break("the master gave no worker id");
  master_epoch = answer.getMasterEpoch();
  options.cluster_id = answer.getClusterId();
  registered = true;
  pause = kFirstPause;
  std::vector<CopyName> drop;
  for (const auto copy : answer.getDropCopies()) drop.push_back(FromWire(copy));
  LOG(INFO) << "registered with " << options.master << " as " << Name(self.id) << ", master epoch " << master_epoch;
  worker.Registered(self, drop);
  if (answer.getStartOver()) {
    LOG(WARNING) << "the master had given this worker up: its attempts are ended and its outputs dropped";
    worker.StartOver();
  }
  if (options.on_registered) {
    options.on_registered(self, options.cluster_id, Millis(std::max<uint32_t>(answer.getHeartbeatMs(), 10)),
                          Millis(answer.getReattachMs()));
  }
  next_unsent = 0;  // all that has no answer goes again
  calls_under_way = 0;
  Receive({});
  ScheduleFlush();
  ScheduleProgress();
}

void Session::Impl::Break(const std::string& why) {
  const bool was_registered = registered;
  registered = false;
  ++round;  // continuations of the old connection are not heard
  progress_under_way = false;
  LOG_IF(WARNING, !stopped && (was_registered || pause == kLongestPause || pause == kFirstPause))
      << "no session with the master at " << options.master << ": " << why << "; trying again";
  // The link's tasks may be on the stack.
  if (link.get() != nullptr) loop.Post([dead = kj::mv(link)]() mutable { dead = nullptr; });
  if (stopped) return;
  const Duration jittered = FromSeconds(pause.seconds() * (0.5 + rng.Uniform()));
  pause = std::min(pause * 2, kLongestPause);
  tasks.add(loop.timer().afterDelay(jittered.ns * kj::NANOSECONDS).then([this, mine = round] {
    if (mine == round) Connect();
  }));
}

// Batches come as calls and as answers to ours, which may pass each other; they count in order.
void Session::Impl::Receive(CommandBatch batch) {
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
    LOG(WARNING) << "commands of master epoch " << batch.master_epoch << " are not heard under epoch " << master_epoch;
    return;
  }
  for (const auto& [report, verdict] : batch.verdicts) Answer(report, verdict);
  for (Command& command : batch.commands) worker.Apply(std::move(command));
  ScheduleProgress();
}

void Session::Impl::Answer(uint64_t number, Verdict verdict) {
  auto entry = unanswered.extract(number);
  if (!entry.empty() && entry.mapped().answered) entry.mapped().answered(verdict);
}

void Session::Impl::ScheduleFlush() {
  if (flush_scheduled || !registered) return;
  flush_scheduled = true;
  // Behind what the loop still has to do, so that reports of one turn share a call.
  loop.Post([this] {
    flush_scheduled = false;
    Flush();
  });
}

// An end says that there was a start: where that is still here, it need not be told.
void Session::Impl::DropStart(const AttemptId& attempt) {
  const auto start = unsent_starts.find(attempt);
  if (start == unsent_starts.end()) return;
  unanswered.erase(start->second);
  unsent_starts.erase(start);
}

void Session::Impl::FlushLater() {
  if (hold_armed || flush_scheduled || !registered) return;
  hold_armed = true;
  tasks.add(loop.timer().afterDelay(kHold.ns * kj::NANOSECONDS).then([this] {
    hold_armed = false;
    Flush();
  }));
}

void Session::Impl::Flush() {
  calls_full = registered && calls_under_way >= kMaxCalls;
  while (registered && !calls_full) {
    std::vector<uint64_t> numbers;
    size_t bytes = 0;
    for (auto it = unanswered.lower_bound(next_unsent); it != unanswered.end(); ++it) {
      bytes += WireSize(it->second.report);
      if (!numbers.empty() && bytes > kMaxCallBytes) break;
      numbers.push_back(it->first);
    }
    if (numbers.empty()) return;
    next_unsent = numbers.back() + 1;
    unsent_starts.clear();  // one that did not fit goes in the next call, whatever comes
    SendBatch(std::move(numbers));
    calls_full = calls_under_way >= kMaxCalls;
  }
}

void Session::Impl::SendBatch(std::vector<uint64_t> numbers) {
  auto request = link->master.reportRequest();
  ToWire(self, request.initWorker());
  auto reports = request.initReports(static_cast<uint32_t>(numbers.size()));
  for (uint32_t i = 0; i < numbers.size(); ++i) {
    reports[i].setNumber(numbers[i]);
    ToWire(unanswered.at(numbers[i]).report, reports[i]);
  }
  ++calls_under_way;
  link->calls.add(request.send().then(
      [this, mine = round, numbers](capnp::Response<rpc::MasterForWorker::ReportResults> response) {
        if (mine != round) return;
        --calls_under_way;
        const auto replies = response.getReplies();
        if (replies.size() != numbers.size()) return Break("the master answered other reports than were sent");
        for (uint32_t i = 0; i < numbers.size(); ++i) {
          if (const auto verdict = FromWire(replies[i])) Answer(numbers[i], *verdict);
        }
        if (response.getBatch().getSequence() != 0) Receive(FromWire(response.getBatch()));
        if (calls_full) Flush();
      },
      [this, mine = round](kj::Exception&& e) {
        // Whether they were heard is not known: they go again after the next registration.
        if (mine == round) Break("reports were not answered: " + rpc::FromException(e).message());
      }));
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
  for (uint32_t i = 0; i < frames.size(); ++i) ToWire(frames[i], out[i]);
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

void Session::Start() { impl_->Connect(); }

void Session::Stop() {
  impl_->stopped = true;
  impl_->Break("stopped");
}

uint64_t Session::Report(worker::Report report, std::function<void(Verdict)> answered) {
  const bool may_wait = MayWait(report);
  const uint64_t number = impl_->next_number++;
  if (std::holds_alternative<Started>(report.what)) {
    impl_->unsent_starts[report.attempt] = number;
  } else if (IsEnd(report)) {
    impl_->DropStart(report.attempt);
  }
  impl_->unanswered.emplace(number, Impl::Pending{std::move(report), std::move(answered)});
  if (may_wait) {
    impl_->FlushLater();
  } else {
    impl_->ScheduleFlush();
  }
  return number;
}

void Session::Withdraw(uint64_t report) { impl_->unanswered.erase(report); }

void Session::RegisterAgain(const std::string& why) {
  if (impl_->registered) impl_->Break(why);
}

bool Session::registered() const { return impl_->registered; }
size_t Session::unanswered() const { return impl_->unanswered.size(); }

kj::Promise<Result<LibraryCache::Piece>> Session::AskLibrary(std::string sha256, uint64_t offset) {
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

void Session::BlockReceived(const BlockName& block) {
  if (!impl_->registered) return;
  auto request = impl_->link->master.blockReceivedRequest();
  ToWire(impl_->self, request.initWorker());
  ToWire(block, request.initBlocks(1)[0]);
  impl_->link->calls.add(request.send().ignoreResult());
}

void Session::Leaving() {
  if (!impl_->registered) return;
  auto request = impl_->link->master.leavingRequest();
  ToWire(impl_->self, request.initWorker());
  impl_->link->calls.add(request.send().ignoreResult());
}

void Session::BlockSuspect(const BlockName& block) {
  if (!impl_->registered) return;
  auto request = impl_->link->master.blockSuspectRequest();
  ToWire(impl_->self, request.initWorker());
  ToWire(block, request.initBlocks(1)[0]);
  impl_->link->calls.add(request.send().ignoreResult());
}

}  // namespace mr::worker
