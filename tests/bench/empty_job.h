// The job of benchmarks of the engine itself: its operators read nothing and write nothing.
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/job_spec.h"
#include "jobs/mrctl/tools.h"
#include "tests/bench/report.h"

namespace mr::bench {

// args: of the built-in job `empty`, such as --maps 10. out: a path that no other job has.
inline JobSpec EmptyJob(const std::vector<std::string>& args, const std::string& out) {
  const std::string text = OrDie(ctl::StartPlan(ctl::BuiltinLibrary(), "empty", args).Finish(), "plan");
  const ctl::Plan plan = OrDie(ctl::ParsePlan(text), "plan document");
  ctl::SpecOptions options;
  options.name = "empty";
  options.output_uri = "file://" + out;
  return OrDie(ctl::BuildJobSpec(plan, options), "spec");
}

}  // namespace mr::bench
