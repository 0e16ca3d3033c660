// Sentences about deadlines: why one cannot be met, and which one could be.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/time.h"
#include "master/sched/policies/jockey/admission.h"
#include "master/sched/state/state.h"

namespace mr::master {

// Returns the earliest deadline that would be admitted now, rounded up to what people are shown. 0: none.
Duration Earliest(const sched::Admission& answer);
// Returns why the deadline is not admitted, which one would be, and what else would help; "" where it is admitted.
std::string RefusalText(const sched::Admission& answer, Duration deadline);
// Returns the same for another deadline of a job that runs.
std::string LateText(const sched::Admission& answer, const sched::Job& job);
// Returns the answer with the account of its slots, for `mrctl explain`: a clause that follows the deadline.
std::string AccountText(const sched::Admission& answer);

}  // namespace mr::master
