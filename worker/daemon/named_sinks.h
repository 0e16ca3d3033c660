// Combines the sinks of a final stage with several files, one per port, into one output.
#pragma once

#include <memory>
#include <vector>

#include "worker/daemon/output.h"

namespace mr::worker {

// Makes the combined sink. sinks: by port, each for one file. Requires: chunks of port p have partition p, as in stages
// that write files.
std::unique_ptr<OutputSink> MakeNamedSinks(std::vector<std::unique_ptr<OutputSink>> sinks);

}  // namespace mr::worker
