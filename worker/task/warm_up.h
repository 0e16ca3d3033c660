// A child that waits for its first task touches the memory that a small task uses, so that the kernel does not clear
// these pages when the task runs.
#pragma once

#include "worker/task/protocol.h"

namespace mr::task {

// Touches some memory of the heap, and the beginnings of the arena's first slots. Begins when nothing has come on the
// control socket for a moment, and ends when something comes. Cost: as much memory as one small task uses, about 5 MiB,
// which the child keeps.
void WarmUp(int control, char* arena, const ArenaLayout& layout);

}  // namespace mr::task
