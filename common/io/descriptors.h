// How many files this process may have open.
#pragma once

#include <cstdint>

namespace mr {

// Raises the soft limit of open files to the hard one, at most 2^20 (more only makes programs slow that walk all
// descriptors), and returns the soft limit that holds now. A limit that cannot be raised stays.
// Children inherit the limit: start them, or what starts them, before this.
uint64_t RaiseDescriptorLimit();

}  // namespace mr
