// Runs mrtask as a short-lived child that loads an operator library. mrctl itself never loads one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// Returns the directory of the running mrctl and of the other binaries.
const std::string& BinaryDirectory();
// Returns the library of built-in jobs of that directory (BuiltinLibraryOf).
std::string BuiltinLibrary();

// Time limit for a library that loops in its constructors or in plan(), in seconds (a guess: a plan takes
// milliseconds).
inline constexpr int kToolSeconds = 10;

// A child with collected output. It starts at construction, so that other work can go on, and is killed by the
// destructor if it still runs.
class ToolRun {
 public:
  explicit ToolRun(std::vector<std::string> argv);
  ~ToolRun();
  ToolRun(ToolRun&& other) noexcept;
  ToolRun& operator=(ToolRun&&) = delete;

  // Returns its standard output; prints its standard error, where the library may have written. Errors:
  // kInvalidArgument with its standard error if it exits with 2 or 3, or dies of a signal or of the time limit, which
  // libraries cause; kInternal if it cannot be started.
  Result<std::string> Finish();
  // Returns whether the job refused its arguments, so that other ones may make a plan. Requires: Finish().
  bool arguments_refused() const { return arguments_refused_; }

 private:
  pid_t pid_ = 0;
  UniqueFd out_, err_;
  Status start_;
  std::string what_;
  bool arguments_refused_ = false;
};

// Used in place of a job's name: the only argument is a plan document, whose operators check their configs.
inline constexpr char kPlanDocument[] = "--document";
ToolRun StartPlan(const std::string& library, const std::string& job, const std::vector<std::string>& args,
                  const PlanSizes& sizes = {});
ToolRun StartCheck(const std::string& library);
// Prints the paths of mrtask and of the libraries loaded with it, one per line.
ToolRun StartHostLibraries();

}  // namespace mr::ctl
