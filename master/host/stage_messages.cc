#include "master/host/stage_messages.h"

#include <algorithm>
#include <utility>

#include "common/io/clock.h"
#include "common/rpc/control_wire.h"
#include "master/host/launch_message.h"

namespace mr::master {
namespace {

// A command of this size still leaves room for others in a message (dispatcher.cc).
constexpr size_t kMostPartBytes = 256 << 10;
// Message bytes of a part of a directory without its entries, of an entry without its table, of a row of that table,
// and of a replica, by control.capnp.
constexpr size_t kPartBytes = 64, kEntryBytes = 192, kRowBytes = 48, kReplicaBytes = 64;
constexpr size_t kInfoBytes = 2048;  // of most stages (guess); a larger one has a second segment
// An entry of a directory is early while more tasks of its stage have not committed. The last ones do not wait: a
// reader fetches them when it has all others (guess: fewer than a job needs to keep a cluster busy).
constexpr size_t kLastTasks = 32;
// Deltas behind an encoded directory, before it is encoded anew for the next reader (guess: most have one entry, and to
// send and apply them one by one is still cheaper).
constexpr size_t kMostDeltas = 256;
// An encoded directory has grants, which end. Later it is encoded anew (guess; secure::kGrantLife is 7 days).
constexpr Duration kOldestGrants = Seconds(3600);

// Versions rise over restarts too, so that a worker never takes an old delta for a new one.
uint64_t FirstVersion(uint32_t epoch) { return uint64_t{epoch} << 32 | 1; }

// bytes: an estimate.
Message Encoded(const Command& command, size_t bytes) {
  auto message = std::make_shared<capnp::MallocMessageBuilder>(static_cast<unsigned>(bytes / sizeof(capnp::word)));
  rpc::ToWire(command, message->initRoot<rpc::Command>());
  return message;
}

// Returns whether each task of the stage `reader` reads outputs of all tasks of the stage `upstream`.
bool ReadsWhole(const JobView& job, uint32_t reader, uint32_t upstream) {
  const auto& inputs = job.spec.stages[reader].inputs;
  const size_t tasks = job.stages[upstream].tasks.size();
  for (const std::vector<Slice>& slices : job.plan.stages[reader].slices) {
    for (const Slice& slice : slices) {
      const InputSpec& input = inputs.at(slice.input);
      if (!input.is_edge || input.stage != upstream) continue;
      if (slice.task_begin != 0 || slice.task_end < tasks) return false;
    }
  }
  return true;
}

}  // namespace

struct StageMessages::Part {
  DirectoryDelta delta;
  size_t bytes = kPartBytes;
};

StageMessages::StageMessages(Driver& driver, uint64_t cluster_id, std::shared_ptr<const Granter> granter)
    : driver_(driver), core_(driver.core()), cluster_id_(cluster_id), granter_(std::move(granter)) {}

Message StageMessages::Info(const JobView& job, uint32_t stage) {
  Sent& sent = SentOf({job.id, stage});
  if (sent.info == nullptr) sent.info = Encoded(InfoOf(job, stage, cluster_id_), kInfoBytes);
  return sent.info;
}

void StageMessages::NoteReader(const JobView& job, uint32_t reader, uint32_t upstream) {
  Sent& sent = SentOf({job.id, upstream});
  if (sent.readers.insert(reader).second) sent.all_read_whole &= ReadsWhole(job, reader, upstream);
}

const std::vector<Message>& StageMessages::Directory(WorkerView* worker, const JobView& job, uint32_t stage) {
  const StageId id{job.id, stage};
  Sent& sent = SentOf(id);
  const Instant now = Now();
  if (sent.whole.empty() || now - sent.encoded > kOldestGrants) {
    sent.whole = EncodeDirectory(job, stage, &sent.version);
    sent.encoded = now;
    sent.deltas = 0;
  }
  worker->directories[id] = sent.version;
  sent.workers.insert(worker->id);
  return sent.whole;
}

// A change of a directory goes in parts that fit into a message; each has its version, and a worker that knows the
// directory gets all of them.
void StageMessages::Change(const std::vector<Replica>& added, const std::vector<Replica>& removed, const Send& send) {
  for (auto& [id, parts] : PartsOf(added, removed)) {
    const JobView* job = core_.jobs().Find(id.job);
    if (job == nullptr || job->told) continue;  // no worker has its directories
    Sent& sent = SentOf(id);
    // A worker may have begun another session since, and lost its directories with the one before.
    std::erase_if(sent.workers, [this, &id = id](WorkerId worker) {
      const WorkerView* view = core_.workers().Find(worker);
      return view == nullptr || view->session == 0 || !view->directories.contains(id);
    });
    for (Part& part : parts) {
      part.delta.version = ++sent.version;
      if (sent.workers.empty()) {
        sent.whole.clear();
        continue;
      }
      const bool may_wait = MayWait(id, sent, part.delta);
      const Message encoded = Encoded(part.delta, part.bytes);
      if (sent.whole.empty() || ++sent.deltas > kMostDeltas) {
        sent.whole.clear();
      } else {
        sent.whole.push_back(encoded);
      }
      for (const WorkerId worker_id : sent.workers) {
        WorkerView* worker = core_.workers().Find(worker_id);
        worker->directories[id] = sent.version;
        send(worker, encoded, may_wait);
      }
    }
  }
}

std::map<StageId, std::vector<StageMessages::Part>> StageMessages::PartsOf(const std::vector<Replica>& added,
                                                                           const std::vector<Replica>& removed) {
  std::map<StageId, std::vector<Part>> by_stage;
  const auto part = [&by_stage](const Replica& replica, size_t bytes) -> DirectoryDelta& {
    const StageId stage = replica.output.task.stage_id();
    std::vector<Part>& parts = by_stage[stage];
    if (parts.empty() || parts.back().bytes + bytes > kMostPartBytes) parts.push_back({{stage, 0, {}, {}}});
    parts.back().bytes += bytes;
    return parts.back().delta;
  };
  const auto is_read = [this](const Replica& replica) {
    const auto sent = stages_.find(replica.output.task.stage_id());
    return sent != stages_.end() && !sent->second.workers.empty();
  };
  // Removals go first: a worker applies the removals of a part before its additions.
  for (const auto& replica : removed) {
    if (is_read(replica)) part(replica, kReplicaBytes).removed.push_back(replica);
  }
  for (const auto& replica : added) {
    const ReplicaView* view = is_read(replica) ? core_.jobs().FindReplica(replica) : nullptr;
    if (view != nullptr) part(replica, LocationBytes(*view)).added.push_back(LocationOf(*view));
  }
  return by_stage;
}

// Returns whether no reader can finish with these additions: each needs outputs that have not been committed.
bool StageMessages::MayWait(const StageId& stage, const Sent& sent, const DirectoryDelta& delta) const {
  const JobView* job = core_.jobs().Find(stage.job);
  const StageView& view = job->stages[stage.stage];
  if (!delta.removed.empty() || !sent.all_read_whole || view.committed + kLastTasks >= view.tasks.size()) return false;
  // A further replica of an output may be one that a reader waits for.
  return std::all_of(delta.added.begin(), delta.added.end(), [&](const ReplicaPtr& replica) {
    return view.tasks[replica->output.task.task].replicas.size() == 1;
  });
}

// Encodes all present replicas in parts that fit into a message; an empty part where there are none. The first part has
// the given version, and each further one the next.
std::vector<Message> StageMessages::EncodeDirectory(const JobView& job, uint32_t stage, uint64_t* version) const {
  std::vector<Message> parts;
  DirectoryDelta part{{job.id, stage}, *version, {}, {}};
  size_t bytes = kPartBytes;
  const auto end_part = [&] {
    parts.push_back(Encoded(part, bytes));
    part.added.clear();
    bytes = kPartBytes;
  };
  for (const TaskView& task : job.stages[stage].tasks) {
    for (const ReplicaView& view : task.replicas) {
      if (bytes >= kMostPartBytes) {
        end_part();
        part.version = ++*version;
      }
      part.added.push_back(LocationOf(view));
      bytes += LocationBytes(view);
    }
  }
  end_part();
  return parts;
}

void StageMessages::EndJob(JobId job) {
  stages_.erase(stages_.lower_bound({job, 0}), stages_.upper_bound({job, UINT32_MAX}));
}

ReplicaPtr StageMessages::LocationOf(const ReplicaView& view) const {
  const auto& [output, attempt, worker, incarnation] = view.replica;
  const WorkerView* holder = core_.workers().Find(worker);
  std::string grant;
  if (granter_ != nullptr && holder != nullptr) {
    const secure::Right right = secure::ReadsOutputs(output.task.job);
    grant = granter_->At(worker, right);
    // After a restart the holder may register after the reader.
    if (grant.empty()) grant = granter_->At(holder->name, right);
  }
  return std::make_shared<const ReplicaLocation>(
      ReplicaLocation{output, attempt, worker, incarnation, holder == nullptr ? "" : holder->info.address,
                      view.manifest.content, view.extra.Rows(), view.extra.partitions(), grant});
}

StageMessages::Sent& StageMessages::SentOf(const StageId& stage) {
  const auto [it, added] = stages_.try_emplace(stage);
  if (added) it->second.version = FirstVersion(driver_.first_epoch());
  return it->second;
}

size_t StageMessages::LocationBytes(const ReplicaView& view) { return kEntryBytes + view.extra.rows() * kRowBytes; }

}  // namespace mr::master
