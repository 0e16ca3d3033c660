// The lines about a failed job beside the scheduler's sentence: the place in the input, the hot key of a task that ran
// out of memory, the number of attempts that failed alike, and the end of the operator's output. At most eight lines,
// since a client adds two. Pure.
#pragma once

#include <string>

#include "master/core/jobs.h"

namespace mr::master {

// message: of the decision to fail the job; as it is where it names no attempt of the job that failed. others: the
// limit that was reached, for failures of a task that --max-attempts does not count; 0: another one was.
std::string FailureSummary(const JobView& job, const std::string& message, uint64_t others = 0);
// Returns the message of a failed attempt, with the place in its input after the first line. "": it has no message.
std::string WithPlace(const AttemptNote& note);
// The warning about an input of the local file system that grew while its job ran.
std::string GrownText(const std::string& uri);

}  // namespace mr::master
