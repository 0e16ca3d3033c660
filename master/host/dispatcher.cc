#include "master/host/dispatcher.h"

#include <glog/logging.h>

#include "common/io/clock.h"
#include "common/rpc/control_wire.h"
#include "master/host/launch_message.h"

namespace mr::master {
namespace {

// A message on a control connection stays well below 1 MiB.
constexpr size_t kMessageBytes = 512 << 10;
// The size at which a message that is being filled is cut; far below the 4 MiB that a worker takes.
constexpr size_t kFullMessageBytes = 1 << 20;
// Message bytes of a directory entry without its table, of a row of that table, and of a replica, by control.capnp.
constexpr size_t kEntryBytes = 192, kRowBytes = 48, kReplicaBytes = 64;
constexpr size_t kVerdictBytes = 32;
// How long a verdict may wait to travel with another message: only the worker's bookkeeping needs it (guess, as the
// worker's for reports without an urgent answer).
constexpr Duration kVerdictDelay = Millis(5);

// Versions rise over restarts too, so that a worker never takes an old delta for a new one.
uint64_t FirstVersion(uint32_t epoch) { return uint64_t{epoch} << 32 | 1; }

}  // namespace

Dispatcher::Dispatcher(Driver& driver, Loop& loop, Outlets& outlets, uint64_t cluster_id,
                       std::shared_ptr<const Granter> granter)
    : driver_(driver),
      core_(driver.core()),
      loop_(loop),
      outlets_(outlets),
      cluster_id_(cluster_id),
      granter_(std::move(granter)) {}

void Dispatcher::Send(WorkerView* worker, size_t bytes, MakeCommand make) {
  if (worker == nullptr || worker->session == 0) return;
  Outgoing& out = outgoing_[worker->id];
  out.commands.push_back({bytes, std::move(make)});
  out.due = true;
}

void Dispatcher::GiveVerdict(WorkerId id, Incarnation incarnation, uint64_t report, Verdict verdict) {
  WorkerView* worker = core_.workers().FindAlive(id, incarnation);
  // A worker that is away reports again, and gets the same verdict.
  if (worker == nullptr || worker->session == 0) return;
  Outgoing& out = outgoing_[id];
  out.verdicts.push_back({report, verdict});
  if (out.due_armed) return;
  out.due_armed = true;
  loop_.At(Now() + kVerdictDelay, [this, id] {
    outgoing_[id].due = true;
    outgoing_[id].due_armed = false;
  });
}

void Dispatcher::AnswerReports(uint64_t session, WorkerId worker, ReportOut out, std::function<void(ReportOut)> reply) {
  open_reports_.push_back({session, worker, std::move(out), std::move(reply)});
}

// Returns the next message, as full as it may be; null where nothing is left.
Message Dispatcher::NextBatch(WorkerView* worker, Outgoing* out) {
  if (out->commands.empty() && out->verdicts.empty()) return nullptr;
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
    Command command = out->commands[i].make();
    if (granter_ != nullptr) granter_->Fill(&command);
    rpc::ToWire(command, commands.get()[i]);
    if (i + 1 < count && message->sizeInWords() * sizeof(capnp::word) > kFullMessageBytes) {
      count = i + 1;
      commands.truncate(i + 1);
      break;
    }
  }
  root.adoptCommands(kj::mv(commands));
  out->verdicts.erase(out->verdicts.begin(), out->verdicts.begin() + static_cast<long>(answered));
  out->commands.erase(out->commands.begin(), out->commands.begin() + static_cast<long>(count));
  return message;
}

void Dispatcher::Flush() {
  // Commands travel with the answer to the worker's own call, where there is one: that costs no message.
  for (OpenReport& open : open_reports_) {
    WorkerView* worker = core_.workers().Find(open.worker);
    if (worker != nullptr && worker->session == open.session && worker->answered) {
      open.out.batch = NextBatch(worker, &outgoing_[worker->id]);
    }
    open.reply(std::move(open.out));
  }
  open_reports_.clear();
  for (auto& [id, out] : outgoing_) {
    WorkerView* worker = core_.workers().Find(id);
    if (!out.due || worker == nullptr || worker->session == 0 || !worker->answered) continue;
    while (Message message = NextBatch(worker, &out)) outlets_.Apply(worker->session, std::move(message));
    out.due = false;
  }
}

void Dispatcher::SendStage(WorkerView* worker, const JobView& job, uint32_t stage) {
  if (worker == nullptr || worker->session == 0) return;
  if (!worker->stages.insert({job.id, stage}).second) return;
  Send(worker, job.spec_bytes.size() + 4096,
       [this, id = job.id, stage] { return InfoOf(*core_.jobs().Find(id), stage, cluster_id_); });
  for (const InputSpec& input : job.spec.stages[stage].inputs) {
    if (input.is_edge) SendDirectory(worker, core_.jobs().Find(job.id), input.stage);
  }
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
    return command::Bind{d.reader, d.replica.output.task.stage, LocationOf(view)};
  });
}

ReplicaPtr Dispatcher::LocationOf(const ReplicaView& view) {
  const auto& [output, attempt, worker, incarnation] = view.replica;
  const WorkerView* holder = core_.workers().Find(worker);
  const std::string grant = granter_ == nullptr ? "" : granter_->At(worker, secure::ReadsOutputs(output.task.job));
  return std::make_shared<const ReplicaLocation>(
      ReplicaLocation{output, attempt, worker, incarnation, holder == nullptr ? "" : holder->info.address,
                      view.manifest.content, view.extra->rows, view.extra->partitions, grant});
}

uint64_t& Dispatcher::VersionOf(const StageId& stage) {
  return directory_versions_.try_emplace(stage, FirstVersion(driver_.first_epoch())).first->second;
}

void Dispatcher::SendDirectory(WorkerView* worker, const JobView* job, uint32_t stage) {
  const StageId id{job->id, stage};
  if (worker == nullptr || worker->session == 0 || worker->directories.contains(id)) return;
  uint64_t& version = VersionOf(id);
  worker->directories[id] = version;
  // All present replicas, in messages that fit; an empty message where there are none.
  std::vector<ReplicaView> all;
  for (const TaskView& task : job->stages[stage].tasks)
    all.insert(all.end(), task.replicas.begin(), task.replicas.end());
  size_t begin = 0;
  do {
    size_t end = begin, bytes = 0;
    while (end < all.size() && bytes < kMessageBytes / 2) {
      bytes += kEntryBytes + all[end++].extra->rows.size() * kRowBytes;
    }
    std::vector<ReplicaView> part(all.begin() + static_cast<long>(begin), all.begin() + static_cast<long>(end));
    Send(worker, bytes + 64, [this, id, at = version, part = std::move(part)] {
      DirectoryDelta delta{id, at, {}, {}};
      for (const ReplicaView& view : part) delta.added.push_back(LocationOf(view));
      return delta;
    });
    begin = end;
    if (begin < all.size()) worker->directories[id] = ++version;
  } while (begin < all.size());
}

// A change of a directory goes in parts that fit into a message; each has its version, and a worker that knows the
// directory gets all of them.
void Dispatcher::SendDelta(const std::vector<Replica>& added, const std::vector<Replica>& removed) {
  struct Part {
    DirectoryDelta delta;  // made once for all workers
    size_t bytes = 64;
  };
  std::map<StageId, std::vector<Part>> by_stage;
  const auto part = [&by_stage](const Replica& replica, size_t bytes) -> DirectoryDelta& {
    const StageId stage = replica.output.task.stage_id();
    std::vector<Part>& parts = by_stage[stage];
    if (parts.empty() || parts.back().bytes + bytes > kMessageBytes / 2) parts.push_back({{stage, 0, {}, {}}});
    parts.back().bytes += bytes;
    return parts.back().delta;
  };
  // Removals go first: a worker applies the removals of a part before its additions.
  for (const auto& replica : removed) part(replica, kReplicaBytes).removed.push_back(replica);
  for (const auto& replica : added) {
    const ReplicaView* view = core_.jobs().FindReplica(replica);
    if (view != nullptr)
      part(replica, kEntryBytes + view->extra->rows.size() * kRowBytes).added.push_back(LocationOf(*view));
  }
  for (auto& [id, parts] : by_stage) {
    const JobView* job = core_.jobs().Find(id.job);
    if (job == nullptr || job->told) continue;  // no worker has its directories
    uint64_t& version = VersionOf(id);
    for (Part& part : parts) {
      part.delta.version = ++version;
      const auto shared = std::make_shared<const DirectoryDelta>(std::move(part.delta));
      for (auto& [worker_id, worker] : core_.workers().all()) {
        const auto sent = worker.directories.find(id);
        if (sent == worker.directories.end()) continue;
        sent->second = shared->version;
        Send(&worker, part.bytes, [shared] { return *shared; });
      }
    }
  }
}

void Dispatcher::SendReplicate(const Replica& from, WorkerId to) {
  WorkerView* worker = core_.workers().Find(to);
  const ReplicaView* view = core_.jobs().FindReplica(from);
  if (worker == nullptr || !worker->alive || worker->session == 0 || view == nullptr) return;
  worker->holds.insert(from.output.task.job);
  Send(worker, 64 + kEntryBytes + view->extra->rows.size() * kRowBytes, [this, view = *view] {
    return command::ReplicateOutput{view.replica.output.task.stage_id(), LocationOf(view)};
  });
}

void Dispatcher::EndJob(JobId id) {
  for (auto& [worker_id, worker] : core_.workers().all()) EndJobAt(&worker, id);
  directory_versions_.erase(directory_versions_.lower_bound({id, 0}),
                            directory_versions_.upper_bound({id, UINT32_MAX}));
}

void Dispatcher::Forget(WorkerId worker) { outgoing_[worker] = {}; }

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
  if (knows) Send(worker, 32, [id] { return command::EndJob{id}; });
}

}  // namespace mr::master
