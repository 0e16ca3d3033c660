// Whether a job with a deadline is admitted beside those that are (Jockey, EuroSys 2012; papers.md 4.4): its smallest
// allocation that meets the deadline must be left of the cluster's slots, less what others are guaranteed. Pure:
// asked before the job is submitted.
#pragma once

#include <cstdint>

#include "master/sched/state.h"

namespace mr::sched {

struct Admission {
  enum class Answer {
    kAdmitted,
    kBelowCriticalPath,  // not with any number of slots: its longest chain of tasks takes longer
    kTooFewSlots,        // not with all slots of the cluster
    kTaken,              // others are guaranteed too many of them
  };
  Answer answer = Answer::kAdmitted;
  uint32_t slots = 0;        // that it needs; where none are enough, all of the cluster
  uint32_t available = 0;    // that are guaranteed to nobody now
  double critical_path = 0;  // seconds: Amdahl's S
  double earliest = 0;       // seconds: a deadline that would be admitted now. Infinity: none, no slots
};

// The earliest deadline, in seconds from the submission, that a job meets with so many slots from its first moment
// on: 19 of 20 runs with slack do (the greatest of ten quantiles) within the deadline less the control loop's dead
// zone. Infinity: it needs more. REQUIRES prediction.known().
double EarliestWith(const Prediction& prediction, uint32_t slots);

// Admitted where `earliest` is within the deadline: at once beside the others, or once some of them have ended, by
// their deadlines. deadline: seconds from the submission, which is at `now`. Taken are the guarantees of running
// jobs, and what queues but this one are to have at least; there are no more for it than its queue may hold. REQUIRES
// prediction.Valid.
Admission Admit(const State& state, const Prediction& prediction, double deadline, const std::string& queue,
                Instant now);
// What the answer would be for another deadline of a job that runs, from what it has done until now; what it is
// guaranteed itself counts as free. All seconds but critical_path, which is what is left, are from its submission.
// REQUIRES job.prediction.known().
Admission AdmitAgain(const State& state, const Job& job, double deadline, Instant now);

}  // namespace mr::sched
