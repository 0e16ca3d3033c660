// From what `--workload` says to jobs: the generator, or a trace.
#pragma once

#include "master/sim/traces/trace.h"

namespace mr::sim {

struct WorkloadSpec {
  std::string workload;  // "generate:...", or a file
  std::string data;      // a relative file is also looked for here and in the folders of it
  std::string format;    // as FormatNamed; "": recognised; "tpch:20": which number of executors
  uint64_t seed = 1;
  double swim_scale = 1;  // of bytes, where the format is swim
};

// A file may be packed (gzip), and its name may be without the ".gz". kNotFound: no such file, or one that
// belongs beside it; kInvalidArgument: it is not what its format says.
Result<Trace> LoadTrace(const WorkloadSpec& spec);

}  // namespace mr::sim
