// Admission of a job with a deadline (Jockey, EuroSys 2012). The job is admitted if the slots that are not guaranteed
// to others suffice for its smallest allocation that meets the deadline. Pure functions, called before the job is
// submitted.
//   slots = min {a : slack C(0, a) <= deadline - dead zone}      C(p, a): time left at progress p with a slots
// Departure: a job that meets its deadline only after others have ended by theirs is admitted, too.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "master/sched/state/state.h"

namespace mr::sched {

// Share of a deadline that stays unused: jockey's dead zone, three sixtieths.
inline constexpr double kAdmissionDeadZone = 3. / 60;

struct Admission {
  enum class Answer {
    kAdmitted,
    kBelowCriticalPath,  // no number of slots suffices: its longest chain of tasks takes longer
    kTooFewSlots,        // all slots of the cluster do not suffice
    kTaken,              // too many of the slots are guaranteed to others
    kBeyondMaxShare,     // its queue may hold fewer slots than it needs, and the cluster has enough
  };
  Answer answer = Answer::kAdmitted;
  uint32_t slots = 0;        // that the job needs; if no number suffices, all that its queue may hold
  uint32_t available = 0;    // not guaranteed to anyone now, as far as its queue may hold them
  double critical_path = 0;  // seconds: Amdahl's S
  double earliest = 0;  // seconds: the earliest deadline that would be admitted now; infinity if there are no slots
  // The account of `available`: the slots of the cluster, those that its queue may hold, and those that are taken.
  std::string queue;
  uint32_t cluster = 0, most = 0;
  std::vector<std::pair<std::string, uint32_t>> min_shares;  // of other queues with jobs
  uint32_t promised = 0;  // to other jobs with deadlines that can be met, at most `cluster`
};

// Returns the earliest deadline, in seconds from submission, that a job meets with this many slots from its first
// moment on. 19 of 20 runs, times slack, end within it less the dead zone of the control loop (the greatest of ten
// quantiles). Returns infinity if the job needs more slots. Requires: prediction.known().
double EarliestWith(const Prediction& prediction, uint32_t slots);

// Decides on a job that is submitted at `now` with this deadline, in seconds from then. Admits it if `earliest` is
// within the deadline: at once beside the others, or once some of them have ended by their deadlines. Guarantees of
// running jobs that are promised theirs (IsPromised) are taken. So are min shares of other queues with jobs; without
// jobs nobody claims one, as in Hadoop's Fair Scheduler. Its own queue bounds what it may hold. Requires:
// prediction.Valid.
Admission Admit(const State& state, const Prediction& prediction, double deadline, const std::string& queue,
                Instant now);
// Returns the answer for another deadline of a running job, from its progress so far. Its own guarantee counts as free.
// All seconds are from its submission, except critical_path, which is what is left of it. Requires:
// job.prediction.known().
Admission AdmitAgain(const State& state, const Job& job, double deadline, Instant now);
// Returns true if this running job would be admitted now, and if it may be promised a guarantee: it has points of
// utility instead of a deadline, or an earlier run is known. Workers that are away since the prediction count as there.
// Requires: job.prediction.known().
bool CanBePromised(const State& state, const Job& job, Instant now);

}  // namespace mr::sched
