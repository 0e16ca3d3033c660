#include "tests/bench/player.h"

#include <capnp/serialize.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <tuple>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "tests/bench/player_link.h"

namespace mr::bench {
namespace {

constexpr uint32_t kPageEntries = 4000;  // of a registration: some 256 KiB
constexpr uint64_t kDiskBytes = 1ull << 40;
constexpr Duration kProgressPeriod = Seconds(1);  // ProgressGate::kLongest of mrworker

rpc::Hello HelloOf(rpc::Role role, Incarnation incarnation) {
  rpc::Hello hello;
  hello.role = role;
  hello.incarnation = incarnation;
  return hello;
}

template <class Map>
void EraseJob(Map* map, JobId job) {
  map->erase(map->lower_bound({job, 0}), map->lower_bound({{job.epoch, job.seq + 1}, 0}));
}

}  // namespace

class Player::Commands final : public rpc::Worker::Server {
 public:
  explicit Commands(Player& player) : player_(player) {}

 protected:
  kj::Promise<void> apply(ApplyContext context) override {
    ++player_.loop_.counts().pushes;
    // A failure would only be seen as a session that the master closes.
    KJ_IF_MAYBE (e, kj::runCatchingExceptions([&] { player_.OnBatch(context.getParams().getBatch()); })) {
      player_.taskFailed(kj::mv(*e));
    }
    return kj::READY_NOW;
  }

 private:
  Player& player_;
};

Player::Player(PlayerLoop& loop, uint32_t number)
    : loop_(loop),
      number_(number),
      incarnation_(MixHash(loop.options().seed, number) | 1),
      rng_(MixHash(loop.options().seed, number)) {}
Player::~Player() = default;

void Player::taskFailed(kj::Exception&& e) { loop_.Broke(number_, rpc::FromException(e).message()); }

// ---- Session

kj::Promise<void> Player::Connect() {
  Disconnect();
  next_batch_ = 1;
  const std::string& master = loop_.options().master;
  return rpc::RpcConnection::Connect(loop_.io(), master, HelloOf(rpc::Role::kWorker, incarnation_))
      .then([this](Result<kj::Own<rpc::RpcConnection>> connected) {
        if (!connected.ok()) kj::throwFatalException(rpc::ToException(connected.status()));
        link_ = kj::heap<Link>(*std::move(connected), *this);
        // The first delta of each stage after a registration is complete.
        directories_.clear();
        return SendPages(0, {});
      })
      .then([this] {
        return rpc::RpcConnection::Connect(loop_.io(), loop_.options().master,
                                           HelloOf(rpc::Role::kHeartbeat, incarnation_));
      })
      .then([this](Result<kj::Own<rpc::RpcConnection>> connected) {
        if (!connected.ok()) kj::throwFatalException(rpc::ToException(connected.status()));
        link_->heartbeat = *std::move(connected);
        link_->tasks.add(Beat(link_->heartbeat->Bootstrap<rpc::Heartbeats>()));
        link_->tasks.add(
            link_->control->OnDisconnect().then([this] { loop_.Broke(number_, "the master closed the connection"); }));
      });
}

void Player::Disconnect() {
  link_ = nullptr;
  ahead_.clear();
}

// Sends the inventory from this task on, and then the registration.
kj::Promise<void> Player::SendPages(uint32_t page, TaskId from) {
  const auto begin = inventory_.lower_bound(from);
  if (begin == inventory_.end()) return Register(page);
  auto request = link_->master.registerPageRequest();
  request.setNumber(page);
  const auto left = static_cast<uint32_t>(std::distance(begin, inventory_.end()));
  auto list = request.initPage().initInventory(std::min(left, kPageEntries));
  auto it = begin;
  for (auto out : list) {
    rpc::ToWire(it->first, out.initTask());
    out.setGeneration(it->second.generation);
    out.setAttempt(it->second.attempt);
    FillSelf(out.initWorker());
    ++it;
  }
  const TaskId next = it == inventory_.end() ? TaskId{{UINT32_MAX, UINT32_MAX}, UINT32_MAX, UINT32_MAX} : it->first;
  return request.send().ignoreResult().then([this, page, next] { return SendPages(page + 1, next); });
}

kj::Promise<void> Player::Register(uint32_t pages) {
  auto request = link_->master.registerRequest();
  auto info = request.initInfo();
  info.setName("player-" + std::to_string(number_));
  info.setIncarnation(incarnation_);
  info.setAddress("127.0.0.1:" + std::to_string(1 + number_ % 65535));  // nobody serves there
  info.setSlots(loop_.options().slots);
  info.setPages(pages);
  info.setPid(static_cast<uint32_t>(::getpid()));
  info.setCapacityBytes(kDiskBytes);
  auto running = info.initRunning(static_cast<uint32_t>(running_.size()));
  uint32_t i = 0;
  for (const auto& [id, attempt] : running_) rpc::ToWire(id, running[i++]);
  request.setWorker(kj::heap<Commands>(*this));
  return request.send().then([this](capnp::Response<rpc::MasterForWorker::RegisterResults> response) {
    const auto result = response.getResult();
    const Status outcome = rpc::FromOutcome(result.getOutcome());
    if (!outcome.ok()) kj::throwFatalException(rpc::ToException(outcome));
    id_ = result.getWorkerId();
    beat_ms_ = result.getHeartbeatMs();
    const auto drop = result.getDrop();
    size_t at = 0;
    std::erase_if(inventory_, [&](const auto&) {
      const size_t bit = at++;
      return bit / 8 < drop.size() && (drop[bit / 8] >> (bit % 8) & 1) != 0;
    });
  });
}

kj::Promise<void> Player::Beat(rpc::Heartbeats::Client beats) {
  auto request = beats.beatRequest(capnp::MessageSize{32, 0});
  FillSelf(request.initWorker());
  auto room = request.initRoom();
  room.setFreeBytes(kDiskBytes);
  room.setTotalBytes(kDiskBytes);
  return request.send()
      .then([this](capnp::Response<rpc::Heartbeats::BeatResults> response) {
        if (!response.getKnown()) ++loop_.counts().unknown_beats;
        return loop_.io().provider->getTimer().afterDelay(beat_ms_ * kj::MILLISECONDS);
      })
      .then([this, beats = kj::mv(beats)]() mutable { return Beat(kj::mv(beats)); });
}

// ---- Commands

// Batches come as calls and as answers to reports, which may overtake each other.
void Player::OnBatch(rpc::CommandBatch::Reader batch) {
  if (batch.getSequence() != next_batch_) {
    auto copy = kj::heap<capnp::MallocMessageBuilder>();
    copy->setRoot(batch);
    ahead_[batch.getSequence()] = kj::mv(copy);
    return;
  }
  Apply(batch);
  ++next_batch_;
  while (!ahead_.empty() && ahead_.begin()->first == next_batch_) {
    auto next = kj::mv(ahead_.begin()->second);
    ahead_.erase(ahead_.begin());
    Apply(next->getRoot<rpc::CommandBatch>().asReader());
    ++next_batch_;
  }
}

void Player::Apply(rpc::CommandBatch::Reader batch) {
  ++loop_.counts().batches;
  for (const auto answer : batch.getAnswers()) OnVerdict(answer.getReport(), answer.getVerdict());
  for (const auto command : batch.getCommands()) OnCommand(command);
}

void Player::OnCommand(rpc::Command::Reader command) {
  switch (command.which()) {
    case rpc::Command::STAGE: {
      const auto stage = command.getStage();
      StageSeen& seen = stages_[{rpc::FromWire(stage.getJob()), stage.getStage()}];
      seen = {0, stage.getStagingUri().cStr(), {}};
      for (const uint32_t partitions : stage.getPortPartitions()) seen.partitions += partitions;
      for (const auto input : stage.getSpec().getInputs()) {
        seen.edges.push_back(input.isEdge() ? input.getEdge().getStage() : kNoEdge);
      }
      return;
    }
    case rpc::Command::LAUNCH: return OnLaunch(command.getLaunch());
    case rpc::Command::DIRECTORY: return OnDirectory(command.getDirectory());
    case rpc::Command::BIND: return OnBind(command.getBind());
    case rpc::Command::REPLICATE_OUTPUT: return OnReplicate(command.getReplicateOutput());
    case rpc::Command::KILL: return End(rpc::FromWire(command.getKill()), false);
    case rpc::Command::TAKE_BACK: return End(rpc::FromWire(command.getTakeBack()), false);
    case rpc::Command::END_JOB: return EndJob(rpc::FromWire(command.getEndJob()));
    case rpc::Command::DROP: {
      const auto it = inventory_.find(rpc::FromWire(command.getDrop().getTask()));
      if (it != inventory_.end() && it->second.attempt == command.getDrop().getAttempt()) inventory_.erase(it);
      return;
    }
    default: return;  // it has no blocks
  }
}

void Player::OnLaunch(rpc::Launch::Reader launch) {
  ++loop_.counts().launches;
  const AttemptId id = rpc::FromWire(launch.getAttempt());
  const StageSeen& seen = stages_.at(id.task.stage_id());
  Attempt& attempt = running_[id];
  attempt.generation = launch.getGeneration();
  attempt.by_bind = launch.getByBind();
  for (const auto slice : launch.getSlices()) {
    attempt.reads.push_back({seen.edges.at(slice.getInput()), slice.getTaskBegin(), slice.getTaskEnd()});
  }
  const PlayerOptions& options = loop_.options();
  const Duration takes =
      options.shortest + FromSeconds((options.longest - options.shortest).seconds() * rng_.Uniform());
  const Instant now = Now();
  attempt.over = takes.ns == 0;
  if (!attempt.over) loop_.WakeAt(now + takes, number_, Wake::kEnd, id);
  if (takes > kProgressPeriod) loop_.WakeAt(now + kProgressPeriod, number_, Wake::kProgress, id);
  started_.push_back(id);
  loop_.FlushSoon(number_, false);
  LookForInputs(id, &attempt);
}

void Player::OnDirectory(rpc::DirectoryDelta::Reader delta) {
  const StageId id{rpc::FromWire(delta.getJob()), delta.getStage()};
  std::map<uint32_t, Source>& directory = directories_[id];
  for (const auto replica : delta.getRemoved()) {
    const auto it = directory.find(replica.getTask().getTask());
    if (it == directory.end() || it->second.attempt != replica.getAttempt() ||
        it->second.worker != replica.getWorker().getId()) {
      continue;
    }
    directory.erase(it);
  }
  for (const auto entry : delta.getAdded()) directory[entry.getTask()] = SourceOf(entry);
  loop_.counts().directory_entries += delta.getAdded().size();
  LookAtReaders(id);
}

Player::Source Player::SourceOf(rpc::DirectoryEntry::Reader entry) {
  return {entry.getGeneration(), entry.getAttempt(), entry.getWorker().getId(), entry.getWorker().getIncarnation(),
          rpc::FromWire(entry.getManifest().getContent())};
}

void Player::LookAtReaders(const StageId& stage) {
  std::vector<AttemptId> readers;
  for (const auto& [id, attempt] : running_) {
    if (id.task.job == stage.job && !attempt.complete && !attempt.by_bind) readers.push_back(id);
  }
  for (const AttemptId& id : readers) LookForInputs(id, &running_.at(id));
}

void Player::OnBind(rpc::Bind::Reader bind) {
  const auto it = running_.find(rpc::FromWire(bind.getReader()));
  if (it == running_.end()) return;
  it->second.bound[{bind.getStage(), bind.getEntry().getTask()}] = SourceOf(bind.getEntry());
  LookForInputs(it->first, &it->second);
}

void Player::OnReplicate(rpc::ReplicateOutput::Reader order) {
  const auto source = order.getSource();
  const AttemptId id{{rpc::FromWire(order.getJob()), order.getStage(), source.getTask()}, source.getAttempt()};
  inventory_[id.task] = {source.getGeneration(), source.getAttempt()};
  made_.emplace_back(id, source.getGeneration());
  loop_.FlushSoon(number_, true);
}

void Player::EndJob(JobId job) {
  std::vector<AttemptId> ends;
  for (const auto& [id, attempt] : running_) {
    if (id.task.job == job) ends.push_back(id);
  }
  for (const AttemptId& id : ends) End(id, false);
  for (Ended& ended : ended_) ended.finished &= ended.id.task.job != job;
  EraseJob(&stages_, job);
  EraseJob(&directories_, job);
  inventory_.erase(inventory_.lower_bound({job, 0, 0}), inventory_.lower_bound({{job.epoch, job.seq + 1}, 0, 0}));
}

// ---- Attempts

bool Player::HasInputs(const AttemptId& id, const Attempt& attempt) const {
  size_t needed = 0;
  for (const Read& read : attempt.reads) {
    needed += read.end - read.begin;
    const auto directory = directories_.find({id.task.job, read.stage});
    const size_t known = directory == directories_.end() ? 0 : directory->second.size();
    if (!attempt.by_bind && known < read.end - read.begin) return false;
  }
  if (attempt.by_bind) return attempt.bound.size() >= needed;
  for (const Read& read : attempt.reads) {
    const auto& directory = directories_.at({id.task.job, read.stage});
    const auto begin = directory.lower_bound(read.begin), end = directory.lower_bound(read.end);
    if (static_cast<size_t>(std::distance(begin, end)) < read.end - read.begin) return false;
  }
  return true;
}

void Player::LookForInputs(const AttemptId& id, Attempt* attempt) {
  if (!attempt->complete && HasInputs(id, *attempt)) {
    attempt->complete = true;
    if (!attempt->reads.empty()) {
      progress_[id] = true;
      loop_.FlushSoon(number_, false);
    }
  }
  if (attempt->complete && attempt->over) End(AttemptId(id), true);
}

void Player::OnWake(Wake wake, const AttemptId& id) {
  const auto it = running_.find(id);
  if (it == running_.end() || link_.get() == nullptr) return;
  if (wake == Wake::kEnd) {
    it->second.over = true;
    return LookForInputs(id, &it->second);
  }
  ++it->second.records;
  progress_.emplace(id, it->second.complete);
  loop_.FlushSoon(number_, false);
  loop_.WakeAt(Now() + kProgressPeriod, number_, Wake::kProgress, id);
}

// An attempt that does not run is reported as killed, too.
void Player::End(const AttemptId& id, bool finished) {
  Ended ended{id, finished, {}};
  if (const auto it = running_.find(id); it != running_.end()) {
    ended.attempt = std::move(it->second);
    running_.erase(it);
  }
  std::erase(started_, id);  // the end implies it
  progress_.erase(id);
  if (!finished) ++loop_.counts().killed;
  ended_.push_back(std::move(ended));
  loop_.FlushSoon(number_, true);
}

}  // namespace mr::bench
