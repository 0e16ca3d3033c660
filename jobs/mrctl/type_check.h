// Whether the stages of a plan agree about the types of what passes between them (common/adr/0009).
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// What is wrong, each with both stages and both types. Types that an operator does not declare agree with all.
// Requires: a plan without the stages that csv_stages.h adds.
std::vector<std::string> TypeFaults(const Plan& plan);

// The same as a status: kInvalidArgument with all of them.
Status CheckTypes(const Plan& plan);

// "str, i64; i64, str": keys and values of a list of types, for people; "?" where nothing is known.
std::string TypeListText(const std::vector<RecordType>& types);

}  // namespace mr::ctl
