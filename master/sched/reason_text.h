// Numbers of a reason as words of its sentence. A number that is missing becomes "?" or "some".
#pragma once

#include <string>

#include "master/sched/reason.h"

namespace mr::sched::text {

// Returns the i-th number and its noun: "1 slot", "3 slots".
std::string Count(const Reason& reason, size_t i, const char* one, const char* many);
// Returns the i-th number, rounded to an integer.
std::string Number(const Reason& reason, size_t i);
// Returns the i-th number with two digits after the point.
std::string Decimal(const Reason& reason, size_t i);
// Returns the name of the job with the id of the first two numbers.
std::string JobName(const Reason& reason);

}  // namespace mr::sched::text
