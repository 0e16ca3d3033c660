// The attempts that workers were given: who writes below the staging directory (staging.h). The master implements it
// from what its scheduler knows; tests implement it directly.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/ids.h"

namespace mr::dfs {

// The rights of a worker in the staging directory of an attempt. Each contains those before it.
enum class StagingRight : uint8_t {
  kNone = 0,    // another worker was given the attempt, or its output was accepted, or it is not known
  kRemove = 1,  // the worker was given the attempt, which has ended without an accepted output
  kWrite = 2,   // the worker was given the attempt, which has not ended
};

// Thread: the namespace's.
class AssignedAttempts {
 public:
  // Returns the rights of the worker with this subject ("worker:NAME").
  virtual StagingRight RightOf(const std::string& subject, const AttemptId& attempt) const = 0;

 protected:
  ~AssignedAttempts() = default;  // no owner uses this base
};

}  // namespace mr::dfs
