// A random world around a master core: workers, clients, their messages, and faults. Each step makes one random event
// happen, and checks the invariants. It depends only on its seed.
//
// The master ends at any record and restarts from the durable records. Sessions break and lose the messages under way.
// Reports come late and twice. Workers end, with or without their outputs. Operators drain, exclude and change
// settings. Jobs are killed and submitted again. Then the faults stop, and every job must end.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/rng.h"
#include "common/model/report.h"
#include "master/sim/swarm/core_process.h"

namespace mr::sim {

class CoreWorld final : public Outside {
 public:
  explicit CoreWorld(uint64_t seed);
  // Returns "" or what did not hold, with the step and the last things that happened.
  std::string Run();

  // Counts of events, so that a campaign can show that its faults occur.
  struct Counts {
    uint64_t records = 0, restarts = 0, snapshots = 0, jobs = 0, succeeded = 0, killed = 0, failed = 0, repeats = 0,
             lost_workers = 0, lost_records = 0, deleted_blocks = 0;
    void Add(const Counts& other);
  };
  const Counts& counts() const { return counts_; }

 private:
  struct Made {  // an output that a worker can serve
    Digest128 content;
    uint32_t generation = 1;  // as it was launched, or as the replica was requested
  };
  struct Worker {
    std::string name;
    WorkerId id;
    Incarnation incarnation = 1;
    uint32_t slots = 1;
    bool up = true;
    bool registered = false;  // with the present process of the master
    uint64_t session = 0;
    Instant silent_since;
    std::map<AttemptId, uint32_t> running;  // with the generation of their launch
    std::map<AttemptId, Made> outputs;
    std::map<uint64_t, BlockRef> disk;          // by block id; survives the process
    std::map<uint64_t, mr::Report> unanswered;  // by number
    uint64_t reports = 0;
    std::deque<std::function<void()>> to_master, to_worker;
  };
  struct Submitted {
    JobSpec spec;
    JobPlan plan;
    std::string id;     // of the submission
    JobId job;          // once accepted
    uint64_t from = 0;  // its user submits it at this step or later
    bool acked = false;
    bool random = false;  // its operators give other content for equal input
    std::string told;     // the final state that its user received
  };

  // Outside.
  void Carry(const sched::Decision& decision) override;
  void Carry(const dfs::Effect& effect) override;
  void Ended(JobId job) override;
  void Publish(JobId job) override;
  void Broken(const std::string& what) override;

  void Step(bool faults);
  void Fault();
  void Ask();
  void Submit();
  void Restart();
  void Snapshot();
  void Break(Worker* worker);
  void EndProcess(Worker* worker);
  void Register(Worker* worker);
  void Deliver(std::deque<std::function<void()>>* queue);
  void Work(Worker* worker);
  void Finish(Worker* worker, const AttemptId& id);
  bool ReadInputs(Worker* worker, const AttemptId& id, std::vector<Consumed>* consumed, Digest128* content);
  static std::optional<Digest128> Serves(const Worker* source, const Replica& replica);
  bool WriteOutput(Worker* worker, const AttemptId& id, const Digest128& content, std::vector<FileOutput>* files);
  void Send(Worker* worker, const mr::Report& report);
  void Arrived(Worker* worker, uint64_t session, uint64_t number, const mr::Report& report);
  void Answer(WorkerId worker, Incarnation incarnation, uint64_t number, Verdict verdict);
  void PassTime(Duration time);
  void Check();
  void CheckFiles();
  std::string Stuck() const;
  void Note(const std::string& what);
  void CheckCommit(JobId job);
  void CheckAcknowledged(const StagedBlock& block);
  void CheckGreeting(const master::Greeting& greeting);
  void CheckKnownOperators(const Submitted& job);
  Worker* Of(WorkerId id);
  const Submitted* SubmittedOf(JobId id) const;
  bool Chance(double p) { return rng_.Uniform() < p; }

  const uint64_t seed_;
  Rng rng_;
  master::MasterCore::Config config_;
  MemoryJournal journal_;
  std::unique_ptr<CoreProcess> process_;
  std::unique_ptr<master::MasterCore> shadow_;  // follows what is durable
  uint64_t shadow_at_ = 0;
  std::vector<Worker> workers_;
  std::vector<Submitted> jobs_;
  std::map<AttemptId, std::vector<Consumed>> consumed_;
  std::map<std::string, uint64_t> visible_;  // path -> id of the version that a job's commit made
  std::set<WorkerId> awaited_;               // alive at the end of an earlier process of the master, and silent since
  std::set<std::string> random_;             // operators that are not deterministic by the durable records
  uint32_t epoch_ = 0;                       // the newest one that began
  Instant now_{1'000'000'000};
  uint64_t sessions_ = 0, step_ = 0, seeds_ = 0;
  Counts counts_;
  std::deque<std::string> trace_;
  std::string error_;
};

}  // namespace mr::sim
