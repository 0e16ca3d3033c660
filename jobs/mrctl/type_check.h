// Checks that the stages of a plan agree about the types of records on their edges (common/adr/0009).
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// Returns each fault, with both stages and both types. Undeclared types match all. Requires: a plan without the stages
// that csv_stages.h adds.
std::vector<std::string> TypeFaults(const Plan& plan);

// Returns all faults in one kInvalidArgument.
Status CheckTypes(const Plan& plan);

// Returns a warning for each file of lines that gets binary records: text and csv files have the bytes of a record as
// they are, so an int64_t is 8 bytes there, not digits. output_format: of --output-format, which replaces that of the
// main output; or empty. Undeclared types pass.
std::vector<std::string> BinaryLines(const Plan& plan, const std::string& output_format);

// Returns "str, i64; i64, str" (keys and values of a list of types) for people, or "?" if none is known.
std::string TypeListText(const std::vector<RecordType>& types);

}  // namespace mr::ctl
