// A host for the scheduler that is all chance: workers come, die, come back, drain; attempts start,
// finish, fail, are refused, report twice; replicas get lost; the master restarts. Drawn from one
// seed, so that a run can be repeated anywhere. It checks what must hold of the decisions (slots,
// single winners, consistent cuts), and in the end stops the faults and waits for every job.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::sched {

class RandomCluster {
 public:
  // With another list than "fifo", jobs are in queues whose settings change now and then, and some have lists of
  // their own. roomy: none has, workers have two slots more, and a job comes only when the last one is over, so that
  // slots are idle at times.
  explicit RandomCluster(uint64_t seed, std::string policies = "fifo", bool roomy = false);

  // Runs `events` random events, then without faults until all jobs ended. check_every: how often
  // the whole state is checked. Returns "" or what did not hold, with the step.
  std::string Run(int events, int check_every);

  // The scheduler's digest after each step.
  const std::vector<uint64_t>& digests() const { return digests_; }
  int jobs_succeeded() const { return succeeded_; }
  // From here on a second scheduler, made from the first one's image at each n-th step, gets the same
  // events and must decide the same.
  void MakeTwinEvery(int n) { twin_every_ = n; }
  // From here on, while there are faults, workers also say what is not so (random_lies.cc).
  void Lies() { lying_ = true; }
  // From here on operators drain workers, too, so that their outputs are moved.
  void Operators() { operators_ = true; }
  // Reports with inputs that their jobs do not have.
  int lies() const { return lies_; }
  // How often each decision kind came, by variant index.
  const std::vector<int>& decisions() const { return decisions_; }
  int speculative_launched() const { return speculative_; }
  // Launches of tasks that had committed already. See replicas_kept() for those of their outputs that were kept.
  int remakes() const { return remakes_; }
  // Outputs that were committed, and outputs of tasks that ran as clones.
  size_t commits() const { return won_.size(); }
  size_t cloned_commits() const { return cloned_commits_; }
  int slots_lent() const { return lent_; }
  int replicas_kept() const { return kept_; }

 private:
  struct Attempt {
    AttemptId id;
    uint32_t generation = 0;
    bool started = false, inputs_done = false, ending = false;
    std::vector<Consumed> consumed;
  };
  struct Worker {
    Incarnation incarnation = 0;
    bool alive = false;
    std::string rack;
    Slots slots;
    std::map<AttemptId, Attempt> attempts;
    std::map<std::pair<TaskId, uint32_t>, Replica> replicas;
  };
  struct Output {
    uint32_t generation = 0, attempt = 0;
    Digest128 content;
    std::set<std::pair<WorkerId, uint32_t>> replicas;  // worker, attempt
    bool readable() const { return !replicas.empty(); }
    std::vector<Consumed> consumed;
  };
  struct Job {
    JobSubmitted submitted;
    std::vector<uint32_t> tasks, partitions;
    bool over = false, indeterminate = false;
  };

  void Step(Event event);
  void StepTwin(const StampedEvent& event, const std::vector<Decision>& decisions);
  void Carry(const Decision& decision);
  void Do(const Launch& d);
  void Do(const Accept& d);
  void Do(const DropReplica& d);
  void MakeReplica();
  void Do(const CommitJob& d);
  void EndAttempt(const AttemptId& id, WorkerId worker, Incarnation incarnation);
  void Broken(const std::string& what);
  bool Consistent(const TaskId& id);
  // Stage and task of each output that it reads.
  std::set<std::pair<uint32_t, uint32_t>> Reads(const TaskId& id) const;

  void RandomEvent(bool faults);
  void Submit();
  void Predict(JobId job, uint32_t stages);
  void ChangeWishes();
  void Plan(const PlanStage& ask);
  void Register(WorkerId id);
  void LoseWorker();
  void ToggleDrain();
  void Restart();
  void LoseReplica();
  bool DeliverTimers();
  void Act(bool faults);
  void ActOn(WorkerId id, Attempt& a, bool faults);
  void Finish(WorkerId id, const Attempt& a);
  bool TakeInputs(Attempt& a);
  void Lie();
  void FinishWrongly(WorkerId id, const AttemptId& attempt);
  void RegisterWrongly(WorkerId id);
  uint32_t AnyNumber();
  uint64_t AnySize();
  AttemptId AnyAttempt(WorkerId id);
  Replica AnyReplica();
  bool Chance(double p) { return rng_.Uniform() < p; }

  const std::string policies_;
  const bool roomy_;
  Rng rng_;
  Scheduler scheduler_;
  std::unique_ptr<Scheduler> twin_;
  int twin_every_ = 0;
  bool lying_ = false, operators_ = false;
  int lies_ = 0;
  Instant now_;
  std::vector<uint64_t> digests_;
  std::vector<int> decisions_;
  std::string error_;
  int succeeded_ = 0, check_every_ = 1, speculative_ = 0, lent_ = 0, remakes_ = 0, kept_ = 0;
  size_t cloned_commits_ = 0;
  uint32_t next_job_ = 1;
  uint64_t next_incarnation_ = 1;
  std::map<WorkerId, Worker> workers_;
  std::map<JobId, Job> jobs_;
  std::map<TaskId, Output> outputs_;
  std::set<std::pair<TaskId, uint32_t>> won_;  // task, generation
  std::map<TaskId, AttemptFinished> reports_;
  std::deque<AttemptFinished> sent_;
  std::deque<AttemptKilled> strangers_;  // kills that a worker got for attempts that it does not have
  std::deque<PlanStage> plans_;
  std::deque<ReplicateOutput> replicas_;
  std::vector<WakeAt> timers_;
};

}  // namespace mr::sched
