// The limit of open files of this process.
#pragma once

#include <cstdint>

namespace mr {

// Raises the soft limit of open files to the hard one, at most 2^20 (a higher one slows down programs that walk all
// descriptors). Returns the resulting soft limit. A limit that cannot be raised stays. Children inherit the limit:
// start them, or the process that starts them, before this call.
uint64_t RaiseDescriptorLimit();

}  // namespace mr
