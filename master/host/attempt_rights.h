// Rights of workers in the staging directories of attempts, from what the scheduler knows. A restarted master knows the
// attempts of its journal at once, before their workers register.
#pragma once

#include <string>

#include "dfs/meta/assigned_attempts.h"
#include "master/core/master_core.h"

namespace mr::master {

// Thread: the master's.
class AttemptRights final : public dfs::AssignedAttempts {
 public:
  // Requires: core outlives this object.
  explicit AttemptRights(const MasterCore& core) : core_(core) {}
  dfs::StagingRight RightOf(const std::string& subject, const AttemptId& attempt) const override;

 private:
  const MasterCore& core_;
};

}  // namespace mr::master
