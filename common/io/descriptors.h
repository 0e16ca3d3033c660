// The descriptors of this process: their limit, and the standard ones.
#pragma once

#include <cstdint>

namespace mr {

// Raises the soft limit of open files to the hard one, at most 2^20 (a higher one slows down programs that walk all
// descriptors). Returns the resulting soft limit. A limit that cannot be raised stays. Children inherit the limit:
// start them, or the process that starts them, before this call.
uint64_t RaiseDescriptorLimit();

// Opens those of the descriptors 0, 1 and 2 that the parent closed, so that no file, pipe or connection gets their
// numbers: what is printed would go into it. Reads of such a standard input and writes to such an output fail with
// EBADF, as if it were closed. Call it before anything else opens a descriptor.
void HoldStandardDescriptors();

}  // namespace mr
