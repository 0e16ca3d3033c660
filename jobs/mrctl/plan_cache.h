// Keeps the plans of built-in jobs, so that a repeated submit starts no mrtask. A built-in plan is a function of its
// library, its arguments and the sizes that it was given (jobs/PLAN.md), which are the key. A plan of a user's library
// may depend on anything and is never kept (jobs/adr/0012).
//
// The plans are files of the user, below $XDG_CACHE_HOME/paceline/plans (default ~/.cache). They may be removed at any
// time.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/mrctl/tools.h"

namespace mr::ctl {

class PlanCache {
 public:
  // words: all that the plan depends on; files: the programs that make it (mrtask, the library). Where one of them
  // cannot be found, nothing is kept or found.
  PlanCache(const std::vector<std::string>& words, const std::vector<std::string>& files);

  // Returns what mrtask printed for the same words and the same version of the files, if it is kept. A file that others
  // could have written is ignored. Cost: three system calls per file, and one open.
  std::optional<std::string> Find() const;
  // Keeps what mrtask printed. Failures have no effect.
  void Keep(const std::string& printed) const;

 private:
  std::string path_;  // empty: keeps nothing
  std::string key_;
};

// The plan of one job: from the cache, or from mrtask, which then runs from Start to Finish.
class PlanRun {
 public:
  // Arguments: as for StartPlan (tools.h).
  static PlanRun Start(const std::string& library, const std::string& job, const std::vector<std::string>& args,
                       const PlanSizes& sizes);
  // Returns what mrtask prints. Errors: those of ToolRun::Finish.
  Result<std::string> Finish();

 private:
  PlanRun() = default;
  std::optional<PlanCache> cache_;  // of a built-in job
  std::optional<std::string> found_;
  std::optional<ToolRun> run_;
};

}  // namespace mr::ctl
