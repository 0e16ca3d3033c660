// Decides which attempt runs on which worker. The master, the simulator and the tests all drive this same class.
//
// The result is a function of the events: the same events give the same decisions and the same Digest(), in any
// process. It reads no clock, starts no thread, does no I/O and does not log. Time is the stamp on each event, and
// each decision carries its own reason.
//
// Thread: any one; the owner ensures that there is only one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/decision.h"
#include "master/sched/defaults.h"
#include "master/sched/event.h"
#include "master/sched/probe.h"

namespace mr::sched {

// Version of events and their meaning, stored at the journal's head. Only a build with the same number replays a soft
// record.
inline constexpr uint32_t kSchedulerVersion = 29;

class State;

using mr::Wish;

class Scheduler {
 public:
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Checks a policy list for unknown names and bad parameters. Does not apply it.
  static Status CheckPolicies(const std::string& list);
  // Checks a job's own list. Errors: kInvalidArgument also for a policy of cluster scope.
  static Status CheckJobPolicies(const std::string& list);

  // Returns the list that a job is submitted with: its own (empty: the cluster's serves it) after the user's wishes.
  // `off` removes the policies of that family from the list that would serve it. Errors: kInvalidArgument for `on`
  // without such a policy, or for a list that the checks above refuse.
  static Result<std::vector<std::string>> PoliciesOfJob(const std::string& cluster, const std::vector<std::string>& own,
                                                        Wish speculation, Wish clones);

  // Steers: returns true if a policy of this list steers jobs by their deadlines; the host then predicts these jobs.
  // SharesQueues: returns true if one serves queues by their settings. The list may be invalid.
  static bool Steers(const std::string& list);
  static bool SharesQueues(const std::string& list);

  // Sets the probe that measures the policies' calls; null: none. It must outlive this object. It changes no decision.
  void SetProbe(PolicyProbe* probe);

  // Folds the event in, runs the policies that it concerns, and returns the decisions to carry out, in their order.
  // Requires: event.at is not earlier than that of the event before; the first event is ConfigChanged with a list
  // that CheckPolicies accepts. A stale or impossible report is answered, never fatal.
  [[nodiscard]] std::vector<Decision> Step(const StampedEvent& event);

  // Returns a hash of the whole state. Equal states have equal digests.
  uint64_t Digest() const;

  // Writes the whole state in parts (of at most one job each), for a snapshot. Valid for this kSchedulerVersion only,
  // since the meaning of the state may change with it.
  void Save(const std::function<void(std::string)>& part) const;
  // Restores a fresh scheduler: each part in its order, then FinishRestore. Errors: kCorrupted if the restored state
  // is not the saved one; the scheduler must then be discarded.
  Status RestorePart(std::string_view part);
  Status FinishRestore();

  // WhyAlone: returns why policies leave this attempt alone at `now`; empty if it does not run, or if no policy decides
  // about it. WhyShuns: returns why this worker gets less than others. Both change nothing.
  std::vector<Reason> WhyAlone(const AttemptId& attempt, Instant now) const;
  std::vector<Reason> WhyShuns(WorkerId worker, Instant now) const;
  // Returns the numbers that the policies of this job work with, or those of the cluster's list if there is no such
  // job.
  std::vector<Figure> Figures(JobId job, Instant now) const;

  // Returns the state for status pages, planning and tests. Read-only, valid until the next Step.
  const State& state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::sched
