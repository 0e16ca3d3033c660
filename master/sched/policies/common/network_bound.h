// Finds phases that the network bounds, from phases that ended. Further attempts of these take bandwidth from the
// attempts that they should help.
//
//   reads of splits:   time per byte of attempts without a replica of their split on their worker, over the median of
//                      attempts with one in the same phase; the mean over such attempts, with kLongest at most for
//                      each. Slow above kSlowReads. Splits of less than half of the largest are left out: what an
//                      attempt takes to start would count as a slow read
//   copies of outputs: share of their work for which reduces copy inputs that are all made, by the phase's bin
//                      (job_bins.h) and of all phases. They bound a phase of the bin above kMostlyCopies, and the whole
//                      network is narrow above kNarrowCopies of all
//
// Nothing is bound before some attempts have been seen. The sums are facts of the policy that learns, and of the list
// that its jobs have; later phases weigh more, and without new reads from elsewhere what is known of them is forgotten.
#pragma once

#include <optional>
#include <vector>

#include "master/sched/plan.h"
#include "master/sched/reason.h"
#include "master/sched/view.h"

namespace mr::sched {

class NetworkBound {
 public:
  // off: nothing is bound, and nothing is learned.
  explicit NetworkBound(bool on) : on_(on) {}

  // Returns how many times as long an attempt takes that reads its split from another worker; 0 if that is not slow.
  double SlowReads(const View& view) const;
  // Like SlowReads for this task, but 0 if its split has no place.
  double SlowReads(const View& view, const Task& task) const;
  // Like SlowReads for this task, but 0 on a worker that has the split.
  double SlowReadsOn(const View& view, const Task& task, const Worker& worker) const;
  // Returns why a phase should have no attempts beside the first ones, or nullopt. Cost: two facts.
  std::optional<Reason> WhyNot(const View& view, const Job& job, uint32_t stage) const;
  // Only for reads of this task's split, and only for copies.
  std::optional<Reason> WhyNotRead(const View& view, const Task& task) const;
  std::optional<Reason> WhyNotCopy(const View& view, const Job& job, uint32_t stage) const;
  // Returns why nothing should read from another worker beside first attempts: reads of splits are slow, or phases of
  // all sizes copy for more than kNarrowCopies of their time.
  std::optional<Reason> WhyNotAny(const View& view) const;
  // Returns whether enough has ever been seen to call reads of splits slow, or copies of phases of this size.
  bool KnowsReads(const View& view) const;
  bool KnowsCopies(const View& view, const Job& job, uint32_t stage) const;
  // Counts these jobs, which have ended. Walks their tasks.
  void Learn(const View& view, const std::vector<JobId>& jobs, Plan* plan) const;

 private:
  // Verdicts by the facts about all reads and about copies of all sizes.
  struct Known {
    const State* state = nullptr;  // for this state and list, while State::real_facts is this number
    const JobList* list = nullptr;
    uint64_t facts = 0;
    double slow_reads = 0;     // SlowReads
    bool narrow = false;       // phases of all sizes copy for more than kNarrowCopies of their time
    bool knows_reads = false;  // KnowsReads
  };
  const Known& KnownBy(const View& view) const;

  bool on_;
  mutable Known known_;  // a cache: the facts change when jobs end, and each offer asks for them
};

// Returns whether the task's split has a place, and this worker is none.
bool ReadsElsewhere(const Task& task, WorkerId worker);

}  // namespace mr::sched
