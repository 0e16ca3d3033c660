// The sink of a final stage with several files: one sink per port, and one output of all of them.
#pragma once

#include <memory>
#include <vector>

#include "worker/daemon/output.h"

namespace mr::worker {

// sinks: by port, each for one file. Requires: chunks of port p have partition p, as in stages that write files.
std::unique_ptr<OutputSink> MakeNamedSinks(std::vector<std::unique_ptr<OutputSink>> sinks);

}  // namespace mr::worker
