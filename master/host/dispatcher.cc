#include "master/host/dispatcher.h"

#include <glog/logging.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/io/clock.h"
#include "common/rpc/control_wire.h"
#include "master/host/launch_message.h"

namespace mr::master {
namespace {

// A message on a control connection stays well below 1 MiB.
constexpr size_t kMessageBytes = 512 << 10;
// The size at which a message that is being filled is cut; far below the 4 MiB that a worker takes.
constexpr size_t kFullMessageBytes = 1 << 20;
constexpr size_t kVerdictBytes = 32;
// A message from which on it counts as large; those that a worker may have to take at a time; and the bytes of them
// that one turn makes, so that turns stay short (guesses: 2 MiB fill a connection, and 4 MiB are made within
// milliseconds).
constexpr size_t kLargeBytes = 128 << 10;
constexpr unsigned kMostUnderWay = 4;
constexpr size_t kLargeBytesOfATurn = 4 << 20;
// How long verdicts and early entries of directories may be held (guess: a few reports of a busy worker). Only the
// worker's bookkeeping needs a verdict: it keeps the report until then.
constexpr Duration kHold = Millis(100);
// How long a verdict for a worker that leaves may be held: the end of its process waits for it (guess).
constexpr Duration kShortHold = Millis(5);
// How long the end of a job may be held (guess: its client has ended by then). On a machine with clients and workers,
// the ends of the task processes would otherwise delay the client, by 2 ms of a small job's 40 (measured).
constexpr Duration kEndHold = Millis(20);
// The time between two looks at what is held. Messages of several workers share a turn (guess).
constexpr Duration kReleaseEvery = Millis(5);

}  // namespace

Dispatcher::Dispatcher(Driver& driver, Loop& loop, Outlets& outlets, uint64_t cluster_id,
                       std::shared_ptr<const Granter> granter)
    : core_(driver.core()),
      loop_(loop),
      outlets_(outlets),
      granter_(granter),
      messages_(driver, cluster_id, std::move(granter)) {}

void Dispatcher::Send(WorkerView* worker, size_t bytes, MakeCommand make) {
  if (worker == nullptr || worker->session == 0) return;
  outgoing_[worker->id].commands.push_back({bytes, std::move(make), nullptr});
  SendSoon(worker->id);
}

void Dispatcher::SendEncoded(WorkerView* worker, Message command) {
  const size_t bytes = command->sizeInWords() * sizeof(capnp::word);
  outgoing_[worker->id].commands.push_back({bytes, nullptr, std::move(command)});
}

void Dispatcher::SendWithin(WorkerId worker, Duration delay) {
  Outgoing& out = outgoing_[worker];
  const Instant until = Now() + delay;
  if (out.held_until != Instant{}) {
    if (out.held_until <= until) return;
    held_.erase({out.held_until, worker});
  }
  out.held_until = until;
  held_.emplace(until, worker);
  if (release_at_ == Instant{} || until < release_at_) ArmRelease(until);
}

void Dispatcher::ArmRelease(Instant at) {
  release_at_ = at;
  loop_.At(at, [this, at] {
    if (at == release_at_) ReleaseHeld();  // else an earlier look replaced this one
  });
}

void Dispatcher::ReleaseHeld() {
  const Instant now = Now();
  while (!held_.empty() && held_.begin()->first <= now) {
    const WorkerId worker = held_.begin()->second;
    held_.erase(held_.begin());
    outgoing_[worker].held_until = Instant{};
    SendSoon(worker);
  }
  release_at_ = Instant{};
  if (!held_.empty()) ArmRelease(std::max(held_.begin()->first, now + kReleaseEvery));
}

void Dispatcher::GiveVerdict(WorkerId id, Incarnation incarnation, uint64_t report, Verdict verdict) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  // A worker that is away reports again, and gets the same verdict.
  if (worker == nullptr || worker->session == 0) return;
  outgoing_[id].verdicts.push_back({report, verdict});
  SendWithin(id, worker->leaving ? kShortHold : kHold);
}

void Dispatcher::AnswerReports(uint64_t session, WorkerId worker, ReportOut out, std::function<void(ReportOut)> reply) {
  open_reports_.push_back({session, worker, std::move(out), std::move(reply)});
}

// Returns the next message, as full as it may be; null where nothing is left.
Message Dispatcher::NextBatch(WorkerView* worker, Outgoing* out) {
  if (out->empty()) return nullptr;
  const size_t answered = std::min(out->verdicts.size(), kMessageBytes / 2 / kVerdictBytes);
  size_t count = 0, bytes = answered * kVerdictBytes;
  while (count < out->commands.size() && (count == 0 || bytes + out->commands[count].bytes <= kMessageBytes)) {
    bytes += out->commands[count++].bytes;
  }
  auto message = std::make_shared<capnp::MallocMessageBuilder>(static_cast<unsigned>(bytes / sizeof(capnp::word) + 64));
  auto root = message->initRoot<rpc::CommandBatch>();
  root.setMasterEpoch(worker->epoch);
  root.setSequence(++worker->batches);
  auto answers = root.initAnswers(static_cast<unsigned>(answered));
  for (unsigned i = 0; i < answered; ++i) {
    rpc::ToWire(out->verdicts[i], answers[i]);
  }
  // The bytes of a command are an estimate. Where the message becomes larger, the remaining commands go with the next.
  auto commands = message->getOrphanage().newOrphan<capnp::List<rpc::Command>>(static_cast<unsigned>(count));
  for (unsigned i = 0; i < count; ++i) {
    const Queued& queued = out->commands[i];
    if (queued.encoded != nullptr) {
      commands.get().setWithCaveats(i, queued.encoded->getRoot<rpc::Command>().asReader());
    } else {
      Command command = queued.make();
      if (granter_ != nullptr) granter_->Fill(&command);
      rpc::ToWire(command, commands.get()[i]);
    }
    if (i + 1 < count && message->sizeInWords() * sizeof(capnp::word) > kFullMessageBytes) {
      count = i + 1;
      commands.truncate(i + 1);
      break;
    }
  }
  root.adoptCommands(kj::mv(commands));
  out->verdicts.erase(out->verdicts.begin(), out->verdicts.begin() + static_cast<long>(answered));
  out->commands.erase(out->commands.begin(), out->commands.begin() + static_cast<long>(count));
  if (out->empty() && out->held_until != Instant{}) {
    held_.erase({out->held_until, worker->id});
    out->held_until = Instant{};
  }
  return message;
}

void Dispatcher::Flush() {
  // Commands travel with the answer to the worker's own call, where there is one: that costs no message.
  for (OpenReport& open : open_reports_) {
    WorkerView* worker = core_.workers().Find(open.worker);
    if (worker != nullptr && worker->session == open.session && worker->answered) {
      Outgoing& out = outgoing_[worker->id];
      if (out.under_way == 0 && !IsLarge(out)) open.out.batch = NextBatch(worker, &out);
    }
    open.reply(std::move(open.out));
  }
  open_reports_.clear();
  size_t large_bytes = 0;
  bool more = false;
  for (auto it = due_.begin(); it != due_.end();) {
    WorkerView* worker = core_.workers().Find(*it);
    const bool away = worker == nullptr || worker->session == 0;
    const bool waits = !away && (!worker->answered || !SendDue(worker, &large_bytes));
    more |= waits && worker->answered;
    it = waits ? std::next(it) : due_.erase(it);
  }
  if (more) loop_.Post([] {});  // another turn
}

// Sends what is queued for the worker, up to the limits of large messages. Returns false where the turn's limit kept
// something back. Commands that the worker's own limit keeps back are due again when it has taken a message.
bool Dispatcher::SendDue(WorkerView* worker, size_t* large_bytes) {
  Outgoing& out = outgoing_[worker->id];
  while (!out.empty() && out.under_way < kMostUnderWay) {
    if (!IsLarge(out)) {
      outlets_.Apply(worker->session, NextBatch(worker, &out));
      continue;
    }
    if (*large_bytes >= kLargeBytesOfATurn) return false;
    Message message = NextBatch(worker, &out);
    *large_bytes += message->sizeInWords() * sizeof(capnp::word);
    ++out.under_way;
    outlets_.ApplyThen(worker->session, std::move(message),
                       [this, id = worker->id, session = worker->session] { Taken(id, session); });
  }
  return true;
}

void Dispatcher::Taken(WorkerId id, uint64_t session) {
  const WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr || worker->session != session) return;
  Outgoing& out = outgoing_[id];
  if (out.under_way > 0) --out.under_way;  // zero: what waited for the worker was dropped since
  if (!out.empty()) SendSoon(id);
}

bool Dispatcher::IsLarge(const Outgoing& out) {
  size_t bytes = 0;
  for (const Queued& queued : out.commands) {
    bytes += queued.bytes;
    if (bytes >= kLargeBytes) return true;
  }
  return false;
}

void Dispatcher::SendStage(WorkerView* worker, const JobView& job, uint32_t stage) {
  if (worker == nullptr || worker->session == 0) return;
  if (!worker->stages.insert({job.id, stage}).second) return;
  SendEncoded(worker, messages_.Info(job, stage));
  for (const InputSpec& input : job.spec.stages[stage].inputs) {
    if (!input.is_edge) continue;
    messages_.NoteReader(job, stage, input.stage);
    if (worker->directories.contains({job.id, input.stage})) continue;
    for (const Message& part : messages_.Directory(worker, job, input.stage)) SendEncoded(worker, part);
  }
  SendSoon(worker->id);
}

void Dispatcher::SendLaunch(const sched::Launch& launch) {
  WorkerView* worker = core_.workers().FindAlive(launch.worker, launch.incarnation);
  const JobView* job = core_.jobs().Find(launch.attempt.task.job);
  if (worker == nullptr || job == nullptr) return;
  const TaskId& task = launch.attempt.task;
  SendStage(worker, *job, task.stage);
  const StagePlan& plan = job->plan.stages[task.stage];
  size_t bytes = 256 + plan.slices[task.task].size() * 24;
  for (const Split& split : plan.SplitsOf(task.task)) bytes += 64 + split.uri.size();
  Send(worker, bytes, [this, launch] { return LaunchOf(core_, *core_.jobs().Find(launch.attempt.task.job), launch); });
}

void Dispatcher::SendBind(const sched::Bind& d) {
  const sched::Attempt* reader = core_.scheduler().state().FindAttempt(d.reader);
  const ReplicaView* replica = core_.jobs().FindReplica(d.replica);
  if (reader == nullptr || replica == nullptr) return;
  WorkerView* worker = core_.workers().FindAlive(reader->worker, reader->incarnation);
  Send(worker, 4096, [this, d, view = *replica] {
    return command::Bind{d.reader, d.replica.output.task.stage, messages_.LocationOf(view)};
  });
}

void Dispatcher::SendDelta(const std::vector<Replica>& added, const std::vector<Replica>& removed) {
  messages_.Change(added, removed, [this](WorkerView* worker, const Message& command, bool may_wait) {
    SendEncoded(worker, command);
    if (may_wait) {
      SendWithin(worker->id, kHold);
    } else {
      SendSoon(worker->id);
    }
  });
}

void Dispatcher::SendReplicate(const Replica& from, WorkerId to) {
  WorkerView* worker = core_.workers().Find(to);
  const ReplicaView* view = core_.jobs().FindReplica(from);
  if (worker == nullptr || !worker->alive || worker->session == 0 || view == nullptr) return;
  worker->holds.insert(from.output.task.job);
  Send(worker, 64 + StageMessages::LocationBytes(*view), [this, view = *view] {
    return command::ReplicateOutput{view.replica.output.task.stage_id(), messages_.LocationOf(view)};
  });
}

void Dispatcher::EndJob(JobId id) {
  for (auto& [worker_id, worker] : core_.workers().all()) EndJobAt(&worker, id);
  messages_.EndJob(id);
}

void Dispatcher::Forget(WorkerId worker) {
  Outgoing& out = outgoing_[worker];
  held_.erase({out.held_until, worker});
  out = {};
  due_.erase(worker);
}

void Dispatcher::EndJobAt(WorkerView* worker, JobId id) {
  const auto begin = worker->stages.lower_bound({id, 0});
  bool knows = begin != worker->stages.end() && begin->job == id;
  knows |= worker->holds.erase(id) > 0;
  while (!worker->stages.empty()) {
    const auto it = worker->stages.lower_bound({id, 0});
    if (it == worker->stages.end() || it->job != id) break;
    worker->stages.erase(it);
  }
  std::erase_if(worker->directories, [id](const auto& entry) { return entry.first.job == id; });
  if (!knows || worker->session == 0) return;
  outgoing_[worker->id].commands.push_back({32, [id] { return command::EndJob{id}; }, nullptr});
  SendWithin(worker->id, kEndHold);
}

}  // namespace mr::master
