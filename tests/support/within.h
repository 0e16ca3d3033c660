// Waits for something that another process does.
#pragma once

#include "common/base/time.h"
#include "common/io/clock.h"

namespace mr::test {

// Calls fn() until it holds; false where it does not within the limit.
template <class F>
bool Within(Duration limit, F fn) {
  const Instant end = Now() + limit;
  while (Now() < end) {
    if (fn()) return true;
  }
  return fn();
}

}  // namespace mr::test
