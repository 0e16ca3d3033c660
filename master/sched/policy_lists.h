// The policies of the cluster's list and of the jobs' own lists, and which of them see which trigger.
//
// A policy of cluster scope serves all jobs. One of job scope serves the jobs of its list; the cluster's list serves
// the jobs without a list of their own. A job's own list stands where the cluster's list has its first policy of job
// scope (else at its end), so that order is authority.
//
// Cost: an offer asks the cluster's list, the lists of jobs that the draft launches, and lists with a candidate for a
// speculative attempt. It never asks each job.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "master/sched/pipeline.h"
#include "master/sched/probe.h"

namespace mr::sched {

class PolicyLists {
 public:
  // Sets the probe of all calls of policies; null: none.
  void SetProbe(PolicyProbe* probe) { probe_ = probe; }
  // Takes the list of State::config(). Requires: a list that Pipeline::Parse accepts.
  void TakeCluster(State* state);
  // Takes the lists of jobs that came, and drops those of jobs that went. Called after an event. A list that this
  // build cannot read (a job of an earlier one) has no policies.
  void TakeJobs(State* state);

  void Refine(const Trigger& trigger, const State& state, Instant now, Plan* plan) const;
  // Runs one policy on its timer, found by the name under which the timer was set.
  void RefineTimer(const std::string& owner, uint64_t id, const State& state, Instant now, Plan* plan) const;
  // Returns Policy::Refuses of the first policy after the asker in the cluster's list that answers offers. Later
  // policies see only what that one leaves of the draft.
  bool Refuses(std::string_view asker, const State& state, Instant now, const TaskId& task, WorkerId worker) const;
  // Returns true if Policy::Seeks is true for any policy.
  bool Seeks(const State& state, Instant now, SlotKind kind) const;

  // Runs PolicyEntry::on_dropped for each policy that the cluster's list does not have, from the end of the list of all
  // policies, and calls each(edits of one policy). Called when a list has come into force.
  void Drop(const State& state, Instant now, const std::function<void(const Plan&)>& each) const;
  // Adds the jobs that Policy::OnConfig of each policy of the cluster's list names.
  void OnConfig(const State& state, Instant now, std::vector<JobId>* anew) const;
  // Runs PolicyEntry::give_back of each policy that has it, whatever the lists are, and calls each(its edits, true if
  // it has examined everything that waits).
  void GiveBack(const State& state, Instant now, const std::function<void(const Plan&, bool)>& each) const;

  // WhyAlone: returns Policy::WhyAlone of each policy that serves the attempt's job. WhyShuns: returns Policy::WhyShuns
  // of all policies.
  std::vector<Reason> WhyAlone(const AttemptId& attempt, const State& state, Instant now) const;
  std::vector<Reason> WhyShuns(WorkerId worker, const State& state, Instant now) const;
  // Returns Policy::Figures of the list that serves this job, or of the cluster's if there is no such job.
  std::vector<Figure> Figures(JobId job, const State& state, Instant now) const;

 private:
  struct Own {
    Pipeline pipeline;
    const JobList* list = nullptr;
  };

  void Run(const Pipeline::Member& member, const JobList* list, const Trigger& trigger, const State& state, Instant now,
           Plan* plan) const;
  void RunList(const JobList& list, const Trigger& trigger, const State& state, Instant now, Plan* plan) const;
  // Returns the jobs' own lists that the trigger concerns. after: those that run after the cluster's list, else those
  // that run before it.
  std::vector<const JobList*> Concerned(const Trigger& trigger, const State& state, const Plan& plan, bool after) const;

  PolicyProbe* probe_ = nullptr;
  Pipeline cluster_;
  size_t first_ = 0, end_ = 0;       // its members from the first of job scope to behind the last
  const JobList* common_ = nullptr;  // serves jobs without a list of their own
  std::map<std::string, Own> own_;   // by JobList::suffix
  uint64_t seen_ = 0;                // State::lists_count at the last TakeJobs
};

}  // namespace mr::sched
