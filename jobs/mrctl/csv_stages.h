// A reader of a csv file in several splits must know the state at each border: within quotes, at the start of a field,
// ... This puts a stage that finds it out before the stages that read such files, and an edge to each of these. csv
// without quotes needs none.
#pragma once

#include <string>

#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// `format`: of --format, which goes over the plan's but for files that the job's own arguments name; or empty.
// Inputs that read the same files share a stage. A plan without csv comes back as it is.
Plan WithCsvStages(Plan plan, const std::string& format);

// What the files input is read as. What counts bytes (raw) does so whatever the files hold.
const std::string& FormatOf(const PlanInput& input, const std::string& format);

}  // namespace mr::ctl
