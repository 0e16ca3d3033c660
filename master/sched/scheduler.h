// Decides what runs where. The master, the simulator and the tests all drive this same class.
//
// A function of the events it was given: the same events give the same decisions and the same
// Digest(), in any process. It reads no clock, starts no thread, does no I/O and does not log;
// time is the stamp on each event, and each decision carries its own reason.
//
// Thread: any one; the owner sees to it that there is only one.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::sched {

// Of events and their meaning; stored at the journal's head. A soft record is replayed only by the
// build whose number it carries.
inline constexpr uint32_t kSchedulerVersion = 18;

// The list of a master that was started without one (adr/0010).
inline constexpr char kDefaultPolicies[] =
    "fair,jockey,dolly(in_share=on),delay_assignment,opportunistic(attempts=3,tasks=150),"
    "late(min_age=1s,skew_check=on,gain=2.5,estimator=phases),blacklist";

class State;

// How a user asks for or against a family of policies, whatever their names.
enum class Wish { kAuto, kOn, kOff };

class Scheduler {
 public:
  Scheduler();
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Checks a policy list without taking it: unknown name, bad parameter.
  static Status CheckPolicies(const std::string& list);
  // Checks a job's own list: also kInvalidArgument where a policy in it is one for the whole cluster.
  static Status CheckJobPolicies(const std::string& list);

  // The list that a job is submitted with: its own (empty: the cluster's serves it) under the user's
  // wishes. off drops the policies of that family from the list that would serve it.
  // kInvalidArgument: on, and there is no such policy; a list that the above refuse.
  static Result<std::vector<std::string>> PoliciesOfJob(const std::string& cluster, const std::vector<std::string>& own,
                                                        Wish speculation, Wish clones);

  // Folds the event in, runs the policies that it concerns, and returns what must now be done, in
  // the order in which it must be done.
  // REQUIRES: event.at not earlier than that of the event before; the first event is ConfigChanged
  // with a list that CheckPolicies takes. A stale or impossible report is answered, never fatal.
  [[nodiscard]] std::vector<Decision> Step(const StampedEvent& event);

  // A hash of the whole state. Equal states have equal digests.
  uint64_t Digest() const;

  // The whole state in parts (of at most one job each), for a snapshot. For this kSchedulerVersion
  // only: what else may change its meaning with it.
  void Save(const std::function<void(std::string)>& part) const;
  // Into a fresh scheduler: each part in its order, then FinishRestore. kCorrupted where the state
  // that comes out is not the one that was saved; the scheduler is of no use then.
  Status RestorePart(std::string_view part);
  Status FinishRestore();

  // For people who ask, at `now`: why policies let this attempt run alone (nothing where it does not
  // run, or none has a say), and why this worker gets less than others. Changes nothing.
  std::vector<Reason> WhyAlone(const AttemptId& attempt, Instant now) const;
  std::vector<Reason> WhyShuns(WorkerId worker, Instant now) const;
  // What the policies that serve this job steer by; those of the cluster's list where there is no such job.
  std::vector<Figure> Figures(JobId job, Instant now) const;

  // Read-only, for status pages, planning and tests; valid until the next Step.
  const State& state() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::sched
