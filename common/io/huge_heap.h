// Lets the heap of a daemon grow in huge pages (common/adr/0022).
#pragma once

namespace mr {

// Makes the allocator take memory from the system in multiples of 2 MiB and ask the kernel for huge pages there. No
// effect on memory that it has already taken, where transparent huge pages are off ("never"), and in builds with
// sanitizers. Requires: called once, from a program that links mr_allocator. Thread: any.
// Cost: up to 2 MiB of resident memory more per piece of heap; a system call per piece.
void GrowHeapInHugePages();

}  // namespace mr
