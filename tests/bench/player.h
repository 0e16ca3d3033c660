// One worker of players.h. Thread: the players' loop.
#pragma once

#include <capnp/message.h>
#include <kj/async.h>

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/rng.h"
#include "common/rpc/connection.h"
#include "schema/control.capnp.h"
#include "tests/bench/players.h"

namespace mr::bench {

enum class Wake { kEnd, kProgress };

// The loop that all players share.
class PlayerLoop {
 public:
  virtual kj::AsyncIoContext& io() = 0;
  virtual PlayerCounts& counts() = 0;
  virtual const PlayerOptions& options() const = 0;
  // Calls Player::OnWake at this time, or up to a tick later.
  virtual void WakeAt(Instant at, uint32_t player, Wake wake, const AttemptId& attempt) = 0;
  // Calls Player::Flush at the end of this turn (at_once), or within a tick.
  virtual void FlushSoon(uint32_t player, bool at_once) = 0;
  // The player's connection has ended.
  virtual void Broke(uint32_t player, const std::string& why) = 0;

 protected:
  ~PlayerLoop() = default;
};

class Player final : public kj::TaskSet::ErrorHandler {
 public:
  Player(PlayerLoop& loop, uint32_t number);
  ~Player();

  // Opens both connections and registers with the inventory.
  kj::Promise<void> Connect();
  void Disconnect();
  void OnWake(Wake wake, const AttemptId& attempt);
  // Sends the reports and the progress that wait.
  void Flush();
  // Returns the size of its inventory.
  size_t outputs() const;

 private:
  class Commands;
  struct Link;
  // An upstream output, as a directory or a bind names it.
  struct Source {
    uint32_t generation = 0, attempt = 0, worker = 0;
    Incarnation incarnation = 0;
    Digest128 content;
  };
  // A stage as its workers get it.
  struct StageSeen {
    uint32_t partitions = 0;
    std::string staging;          // of a final stage; else empty
    std::vector<uint32_t> edges;  // upstream stage by input; kNoEdge for files
  };
  struct Read {
    uint32_t stage = 0, begin = 0, end = 0;  // upstream tasks
  };
  struct Attempt {
    uint32_t generation = 0;
    bool by_bind = false;
    bool complete = false;  // its inputs
    bool over = false;      // its drawn time
    uint64_t records = 0;   // of its progress
    std::vector<Read> reads;
    std::map<std::pair<uint32_t, uint32_t>, Source> bound;  // by stage and task
  };
  struct Output {
    uint32_t generation = 0, attempt = 0;
  };
  struct Ended {
    AttemptId id;
    bool finished = false;  // else killed
    Attempt attempt;
  };
  using Request = capnp::Request<rpc::MasterForWorker::ReportParams, rpc::MasterForWorker::ReportResults>;
  static constexpr uint32_t kNoEdge = UINT32_MAX;

  void taskFailed(kj::Exception&& e) override;
  kj::Promise<void> SendPages(uint32_t page, TaskId from);
  kj::Promise<void> Register(uint32_t pages);
  kj::Promise<void> Beat(rpc::Heartbeats::Client beats);

  void OnBatch(rpc::CommandBatch::Reader batch);
  void Apply(rpc::CommandBatch::Reader batch);
  void OnCommand(rpc::Command::Reader command);
  void OnLaunch(rpc::Launch::Reader launch);
  void OnDirectory(rpc::DirectoryDelta::Reader delta);
  static Source SourceOf(rpc::DirectoryEntry::Reader entry);
  void LookAtReaders(const StageId& stage);
  void OnBind(rpc::Bind::Reader bind);
  void OnReplicate(rpc::ReplicateOutput::Reader order);
  void EndJob(JobId job);
  void OnVerdict(uint64_t report, rpc::Verdict verdict);

  void LookForInputs(const AttemptId& id, Attempt* attempt);
  bool HasInputs(const AttemptId& id, const Attempt& attempt) const;
  // Calls call(stage, task, source) for each output that the attempt reads.
  template <class Call>
  void ForEachSource(const AttemptId& id, const Attempt& attempt, const Call& call) const;
  void End(const AttemptId& id, bool finished);

  void FillSelf(rpc::WorkerRef::Builder out) const;
  void FillReport(const AttemptId& attempt, rpc::Report::Builder out);
  static void FillReplica(const AttemptId& id, uint32_t generation, uint32_t worker, Incarnation incarnation,
                          rpc::Replica::Builder out);
  size_t Consumed(const Ended& ended) const;
  uint64_t WordsOf(const Ended& ended) const;
  Request NewRequest(uint64_t words);
  void SendReports();
  void SendReads(const Ended& ended);
  void SendPieces(const Ended& ended, rpc::Report::Builder stub);
  void FillFinished(const Ended& ended, rpc::Finished::Builder out);
  void FillFile(const Ended& ended, const std::string& staging, rpc::Manifest::Builder manifest);
  void Send(Request request, uint64_t first);
  void SendProgress();

  PlayerLoop& loop_;
  const uint32_t number_;
  const Incarnation incarnation_;
  Rng rng_;
  uint32_t id_ = 0;
  uint32_t beat_ms_ = 500;
  uint64_t reports_ = 0, next_batch_ = 1;
  std::map<uint64_t, kj::Own<capnp::MallocMessageBuilder>> ahead_;  // batches before whose turn others must come
  std::map<StageId, StageSeen> stages_;
  std::map<StageId, std::map<uint32_t, Source>> directories_;
  std::map<AttemptId, Attempt> running_;
  std::map<TaskId, Output> inventory_;
  // Waiting for Flush: starts, ends, replicas that were made, and progress with whether the inputs are complete.
  std::vector<AttemptId> started_;
  std::vector<Ended> ended_;
  std::vector<std::pair<AttemptId, uint32_t>> made_;  // with the generation
  std::map<AttemptId, bool> progress_;
  std::map<uint64_t, TaskId> unanswered_;  // reports of finished attempts
  kj::Own<Link> link_;
};

}  // namespace mr::bench
