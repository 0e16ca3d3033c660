// mrtask as a throwaway child that loads an operator library: mrctl itself never does.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// The directory of the running mrctl, where the other binaries are.
const std::string& BinaryDirectory();
// ../lib/libpaceline_jobs.so from there.
std::string BuiltinLibrary();

// Limit for a library that loops in its constructors or in plan() (a guess: a plan takes milliseconds).
inline constexpr int kToolSeconds = 10;

// A child whose output is collected. Starts at construction, so that other work can go on; killed
// by the destructor if it still runs.
class ToolRun {
 public:
  explicit ToolRun(std::vector<std::string> argv);
  ~ToolRun();
  ToolRun(ToolRun&& other) noexcept;
  ToolRun& operator=(ToolRun&&) = delete;

  // Its standard output. kInvalidArgument with what it said on standard error where it exits 2 or
  // dies of a signal or of time (a library does that); kInternal where it cannot be started.
  Result<std::string> Finish();

 private:
  pid_t pid_ = 0;
  UniqueFd out_, err_;
  Status start_;
  std::string what_;
};

// In place of a job's name: the one argument is a plan document, and its operators are asked about their configs.
inline constexpr char kPlanDocument[] = "--document";
ToolRun StartPlan(const std::string& library, const std::string& job, const std::vector<std::string>& args,
                  const PlanSizes& sizes = {});
ToolRun StartCheck(const std::string& library);
// Prints the paths of mrtask and of what is loaded with it, one a line.
ToolRun StartHostLibraries();

}  // namespace mr::ctl
