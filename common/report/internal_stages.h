// Decides which stages a built-in job or the engine adds to the user's work: samples of a sort, headers of tables,
// quotes of csv, sums of a rank. Progress, `why` and reports leave them out or join them.
#pragma once

#include <string>
#include <vector>

namespace mr::report {

// Returns whether the stage is internal. names: of all stages of its job, since a user's own stage may have any name;
// in a chain they are "step.stage". Source: builtin/sort.cc, builtin/table.cc, mrctl/csv_stages.h, builtin/pagerank.cc.
bool IsInternalStage(const std::string& name, const std::vector<std::string>& names);

}  // namespace mr::report
