// Fits as a table for people, and as TOML with the keys of a model file.
#pragma once

#include <string>
#include <vector>

#include "master/sim/calibrate/fit.h"

namespace mr::sim {

std::string FitTable(const std::vector<Fit>& fits);

// One [[source]] for each fit. [source.task] has the keys of a model file's [task] that the source gives; a key that it
// cannot give is absent, with the reason as a comment. [source.worth] has what the fit is worth.
// command: what writes this text, for the first line.
std::string FitToml(const std::vector<Fit>& fits, const std::string& command);

}  // namespace mr::sim
