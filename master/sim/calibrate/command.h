// The command `mrsim calibrate`.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sim/calibrate/fit.h"

namespace mr::sim {

struct CalibrateCommand {
  std::vector<std::string> sources;  // known names, or trace files; none: all that are known
  std::string data;                  // directory of traces
  std::string form = "table";        // or "toml"
};

// Errors: kInvalidArgument: a source has no attempts; kNotFound: it is neither known nor a file.
Result<std::vector<Fit>> Calibrate(const std::vector<std::string>& sources, const std::string& data);

// Prints to standard output.
Status RunCalibrate(const CalibrateCommand& command);

}  // namespace mr::sim
