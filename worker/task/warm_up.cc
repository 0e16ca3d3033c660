#include "worker/task/warm_up.h"

#include <poll.h>
#include <stdlib.h>

#include <algorithm>

#include "worker/task/kept_memory.h"

namespace mr::task {
namespace {

// A child that was made for a task receives it at once. One that has nothing after this time waits for a first task,
// and no other job uses the machine at this moment (guess).
constexpr int kQuietMillis = 30;
// A map of 2 MB of words touches 700 pages of its table, and 300 of its reads and batches (measured).
constexpr size_t kHeapBytes = 4u << 20;
constexpr uint32_t kSlots = 2;
constexpr size_t kBytesOfSlot = 256u << 10;
// Between two looks at the control socket. A page costs 1 to 5 us, and up to 25 us in a virtual machine whose host must
// find the memory (measured).
constexpr size_t kStepBytes = 256u << 10;
constexpr size_t kPage = 4096;

bool Quiet(int control, int millis) {
  pollfd fd{control, POLLIN, 0};
  return poll(&fd, 1, millis) == 0;
}

// Calls touch(i) for a byte of each page. Returns false if something came.
template <class Fn>
bool EachPage(int control, size_t size, Fn&& touch) {
  for (size_t step = 0; step < size; step += kStepBytes) {
    if (!Quiet(control, 0)) return false;
    for (size_t at = step; at < std::min(size, step + kStepBytes); at += kPage) touch(at);
  }
  return true;
}

}  // namespace

void WarmUp(int control, char* arena, const ArenaLayout& layout) {
  if (!Quiet(control, kQuietMillis)) return;
  KeepFreedMemory(0);
  char* const heap = static_cast<char*>(malloc(kHeapBytes));
  if (heap == nullptr) return;
  bool quiet = EachPage(control, kHeapBytes, [heap](size_t at) { static_cast<volatile char*>(heap)[at] = 0; });
  free(heap);
  // Shared pages exist once they are read. The daemon may write to them at any time.
  const auto read = [&](uint64_t offset) {
    const volatile char* const slot = arena + offset;
    quiet = quiet && EachPage(control, kBytesOfSlot, [slot](size_t at) { (void)slot[at]; });
  };
  for (uint32_t slot = 0; slot < std::min(kSlots, layout.output_slots); ++slot) read(layout.OutputOffset(slot));
  for (uint32_t slot = 0; slot < std::min(kSlots, layout.input_slots); ++slot) read(ArenaLayout::InputOffset(slot));
}

}  // namespace mr::task
