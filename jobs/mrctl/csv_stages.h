// Adds stages that find the CSV state at the borders of splits: within quotes, at the start of a field, and so on. A
// reader of a csv file in several splits needs that state. Each stage that reads such files gets an edge from the new
// stage. csv without quotes needs none.
#pragma once

#include <string>

#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// Returns the plan with these stages, or an unchanged plan without csv. `format`: --format, or "". It overrides the
// plan's formats except for files that the job's own arguments name. Inputs that read the same files share a stage.
Plan WithCsvStages(Plan plan, const std::string& format);

// Returns the format in which the files input is read. Inputs that count bytes (raw) do so for every format.
const std::string& FormatOf(const PlanInput& input, const std::string& format);

}  // namespace mr::ctl
