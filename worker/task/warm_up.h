// A child that waits for its first task touches the memory that a small task uses, so that the kernel does not clear
// these pages when the task runs.
#pragma once

#include "worker/task/protocol.h"

namespace mr::task {

// Touches some memory of the heap, and the beginnings of the arena's first slots. Begins when nothing has come on the
// control socket for a moment, and ends when something comes. Cost: as much memory as one small task uses, about 5 MiB,
// which the child keeps.
void WarmUp(int control, char* arena, const ArenaLayout& layout);

// Lets freed memory stay in this process, for the buffers of this task and of the next. The process ends with its job,
// and new pages from the kernel cost more than what is copied into them (measured: a tenth of the time of sort, join
// and wordcount).
void KeepFreedMemory();
// For tasks with a memory limit, against which kept memory counts: gives back what WarmUp touched, and keeps less.
void ReturnFreedMemory();

}  // namespace mr::task
