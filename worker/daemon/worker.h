// Keeps the worker's records: running attempts, known stages and replicas, kept outputs. Applies the master's commands,
// and lists this state at registration. Lives on the KJ loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "worker/daemon/attempt_runner.h"
#include "worker/daemon/progress.h"
#include "worker/daemon/services.h"

namespace mr::worker {

struct SlotLimits {
  uint32_t total = 0;
  uint32_t map = 0, reduce = 0;  // 0 = total
};

class Worker {
 public:
  struct Options {
    SlotLimits slots;
    // Commands of the block store; empty if the daemon has none.
    std::function<void(const command::DeleteBlock&)> delete_block;
    std::function<void(const command::ReplicateBlock&)> replicate_block;
    std::function<void(const command::EmptyQuarantine&)> empty_quarantine;
    // Called with each job that has attempts here, and its owner. May be empty.
    std::function<void(JobId, const std::string& owner)> job_known;
    // Called when the master drains this worker and no attempt runs here (any more). May be empty.
    std::function<void()> drained;
  };
  Worker(Services& services, Options options);

  // Applies commands, in the order in which the master sent them.
  void Apply(Command command);
  // Refuses launches from now on, because this process will end. Running attempts continue.
  void Leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }
  // Returns whether launches are refused, because the worker leaves or because the master drains it.
  bool draining() const { return draining_ || leaving_; }

  // For registration. Inventory() returns the outputs and replicas that the master has decided to keep, and those whose
  // report has no answer, since the master may know them. Running() returns the other attempts, and those that ended
  // without an output and whose report has no answer.
  std::vector<Replica> Inventory() const;
  std::vector<AttemptId> Running() const;
  // Returns the SHA-256 of the libraries and side files of all known stages.
  std::set<std::string> FilesInUse() const;
  // Returns the jobs of all known stages.
  std::set<JobId> Jobs() const;
  void Registered(WorkerRef self, const std::vector<Replica>& drop);

  // Returns the frames that are due; see ProgressGate.
  std::vector<ProgressFrame> DueProgress(Instant now);
  // Returns how many attempts hold a slot, for a child or for its preparation.
  uint32_t busy() const { return static_cast<uint32_t>(holding_.size()); }
  bool idle() const { return attempts_.empty(); }
  // Returns whether the attempt runs here, or has an unanswered report of its end.
  bool Runs(AttemptId attempt) const { return attempts_.contains(attempt); }
  void KillAll();
  // Kills all attempts and drops all outputs: the master no longer counts them.
  void StartOver();

  struct Counters {
    uint64_t launched = 0, refused = 0, ended = 0;
  };
  const Counters& counters() const { return counters_; }
  size_t kept() const { return kept_.size(); }

 private:
  void On(const command::Unknown&) {}
  void On(LaunchCommand launch);
  void On(const command::Kill& kill);
  void On(const command::TakeBack& take_back);
  void On(StageInfo stage);
  void On(const DirectoryDelta& delta) { services_.directory.Apply(delta); }
  void On(const command::Bind& bind);
  void On(const command::DropReplica& drop) { Drop(drop.replica); }
  void On(const command::EndJob& end);
  void On(const command::DeleteBlock& command);
  void On(const command::ReplicateBlock& command);
  void On(const command::EmptyQuarantine& command);
  void On(const command::Drain& drain);
  void On(const command::ReplicateOutput& command);

  // Returns why this attempt cannot be launched here; empty if it can.
  std::string WhyNot(const LaunchCommand& launch, const StageInfo* stage) const;
  // Returns the replica of this output on this worker.
  Replica Own(const OutputId& output, uint32_t attempt) const {
    return {output, attempt, services_.self.id, services_.self.incarnation};
  }
  void Drop(const Replica& replica);
  void Replicated(const ReplicaLocation& from, const Result<uint64_t>& bytes, bool here);
  void Ended(AttemptId attempt);
  void NoteDrained();
  AttemptRunner* Find(AttemptId attempt) const;

  Services& services_;
  const Options options_;
  bool draining_ = false;  // the master's last Drain command
  bool leaving_ = false;
  std::map<StageId, std::shared_ptr<const StageInfo>> stages_;
  std::map<AttemptId, std::shared_ptr<AttemptRunner>> attempts_;
  std::set<AttemptId> holding_;             // the attempts that hold a slot; the others wait for verdicts
  std::map<ReplicaKey, uint32_t> kept_;     // generation
  std::map<ReplicaKey, uint64_t> unheard_;  // replicas in kept_: number of the unanswered report
  ProgressGate progress_;
  Counters counters_;
};

}  // namespace mr::worker
