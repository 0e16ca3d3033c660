// Loads the jobs that `--workload` names: from the generator or a trace.
#pragma once

#include "master/sim/traces/trace.h"

namespace mr::sim {

struct WorkloadSpec {
  std::string workload;  // "generate:...", or a file
  std::string data;      // folder in which, and in whose subfolders, a relative file is looked for
  std::string format;    // a name for FormatNamed; "": from the first line; "tpch:20": with a number of executors
  uint64_t seed = 1;
  double swim_scale = 1;  // factor on all bytes of a swim trace
  bool observe = false;   // also fill Trace::observed, where the format has attempts
};

// Loads a workload. A file may be packed (gzip), and its name may omit the ".gz".
// Errors: kNotFound: the file, or one that belongs beside it, is missing; kInvalidArgument: it does not fit its format.
Result<Trace> LoadTrace(const WorkloadSpec& spec);

}  // namespace mr::sim
