// The sink of a final stage with several files: one sink for each port, one manifest of all of them.
#pragma once

#include <memory>
#include <vector>

#include "worker/daemon/output.h"

namespace mr::worker {

// sinks: by port, each of one file. REQUIRES: chunks of port p are of partition p, as those of files are.
std::unique_ptr<OutputSink> MakeNamedSinks(std::vector<std::unique_ptr<OutputSink>> sinks);

}  // namespace mr::worker
