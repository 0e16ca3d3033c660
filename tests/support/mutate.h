// Changes of valid bytes into hostile ones, for tests that send them to daemons.
#pragma once

#include <string>
#include <vector>

#include "common/base/rng.h"

namespace mr::test {

// Returns `valid` with one to four changes: bits flipped, bytes replaced, cut, repeated or removed, numbers of 4 bytes
// set to the edges of their range, or a piece of another of the `valid` texts in place. Equal to `valid` now and then.
std::string Mutated(const std::string& valid, const std::vector<std::string>& others, Rng* rng);

}  // namespace mr::test
