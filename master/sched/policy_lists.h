// The policies of the cluster's list and of the jobs' own lists, and who of them is asked about what.
//
// A policy of cluster scope speaks of all jobs. One of job scope speaks of the jobs that its list
// serves: that of the cluster of those without a list of their own. A job's own list stands where the
// first policy of job scope stands in the cluster's (else at its end), so that order is authority.
//
// Cost: an offer asks the cluster's list, the lists of jobs that the draft launches something of, and
// those with a candidate for a copy; never each job.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "master/sched/pipeline.h"

namespace mr::sched {

class PolicyLists {
 public:
  // From State::config(). REQUIRES a list that Pipeline::Parse takes.
  void TakeCluster(State* state);
  // After an event: lists of jobs that came or went. A list that this build cannot read (a job of an
  // earlier one) has no policies.
  void TakeJobs(State* state);

  void Refine(const Trigger& trigger, const State& state, Instant now, Plan* plan) const;
  // One policy's timer, by the name under which it was set.
  void RefineTimer(const std::string& owner, uint64_t id, const State& state, Instant now, Plan* plan) const;
  // Policy::Refuses of the first behind the asker in the cluster's list that answers offers: those behind that one
  // are told only what it leaves of the draft.
  bool Refuses(std::string_view asker, const State& state, Instant now, const TaskId& task, WorkerId worker) const;
  // Of any policy: Policy::Seeks.
  bool Seeks(const State& state, Instant now, SlotKind kind) const;

  // The list that serves these jobs has a policy of this name.
  bool Has(const JobList& list, std::string_view policy) const;
  // Policy::WhyAlone and WhyShuns of each policy that serves the attempt's job, and of all.
  std::vector<Reason> WhyAlone(const AttemptId& attempt, const State& state, Instant now) const;
  std::vector<Reason> WhyShuns(WorkerId worker, const State& state, Instant now) const;
  // Policy::Figures of the list that serves this job; of the cluster's where there is no such job.
  std::vector<Figure> Figures(JobId job, const State& state, Instant now) const;

 private:
  struct Own {
    Pipeline pipeline;
    const JobList* list = nullptr;
  };

  void Run(const Policy& policy, const JobList* list, const Trigger& trigger, const State& state, Instant now,
           Plan* plan) const;
  void RunList(const JobList& list, const Trigger& trigger, const State& state, Instant now, Plan* plan) const;
  // Own lists that the trigger concerns: those to be asked before the cluster's, then the others.
  std::vector<const JobList*> Concerned(const Trigger& trigger, const State& state, const Plan& plan, bool after) const;

  Pipeline cluster_;
  size_t first_ = 0, end_ = 0;       // of its members: from the first of job scope to behind the last
  const JobList* common_ = nullptr;  // jobs without a list of their own
  std::map<std::string, Own> own_;   // by JobList::suffix
  uint64_t seen_ = 0;                // State::lists_count
};

}  // namespace mr::sched
