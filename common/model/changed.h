// The answer to a request that changes the master's state. Values only; no I/O.
#pragma once

#include <cstdint>
#include <utility>

#include "common/base/status.h"

namespace mr {

// The status, and the journal's record of the change, for the audit log.
struct Changed {
  Status status;
  uint64_t sequence = 0;  // 0: nothing was recorded

  Changed() = default;
  Changed(Status s, uint64_t number = 0) : status(std::move(s)), sequence(number) {}  // NOLINT: a refusal is an answer
  operator const Status&() const { return status; }                                   // NOLINT: most ask for no more
  bool ok() const { return status.ok(); }
};

}  // namespace mr
