// Waits for an effect of another process.
#pragma once

#include "common/base/time.h"
#include "common/io/clock.h"

namespace mr::test {

// Calls fn() until it returns true. Returns false if that does not happen within the limit.
template <class F>
bool Within(Duration limit, F fn) {
  const Instant end = Now() + limit;
  while (Now() < end) {
    if (fn()) return true;
  }
  return fn();
}

}  // namespace mr::test
