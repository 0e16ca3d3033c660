#include "worker/task/kept_memory.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>

#include "worker/task/record_store.h"

namespace mr::task {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kMostOwnPages = 32 * kMiB;  // the most that glibc accepts
constexpr uint64_t kMostHeapEnd = 1024 * kMiB;
// Guesses for small limits: what glibc adapts to where buffers of 1 MiB are freed.
constexpr uint64_t kLeastOwnPages = 4 * kMiB, kLeastHeapEnd = 8 * kMiB;
// Parts of the limit (guesses). A hole in the heap is lost for a larger allocation, so one may take a 64th.
constexpr uint64_t kBlocksPart = 8, kHeapEndPart = 8, kOwnPagesPart = 64, kHeapPart = 2;

std::optional<KeptMemory> in_force;

char* EndOfHeap() { return static_cast<char*>(sbrk(0)); }
// Where the heap begins, as far as this file knows: at its first use nearly nothing is allocated.
char* const heap_begin = EndOfHeap();

// Called when operator new finds no memory; it tries again when this returns.
void OnNoMemory() {
  if (!ReturnFreedMemory()) throw std::bad_alloc();
}

}  // namespace

KeptMemory KeptUnder(uint64_t limit) {
  if (limit == 0) return {~uint64_t{0}, kMostHeapEnd, kMostOwnPages};
  return {limit / kBlocksPart, std::clamp(limit / kHeapEndPart, kLeastHeapEnd, kMostHeapEnd),
          std::clamp(limit / kOwnPagesPart, kLeastOwnPages, kMostOwnPages)};
}

void KeepFreedMemory(uint64_t limit) {
  std::set_new_handler(OnNoMemory);  // an operator may have set its own
  const KeptMemory keep = KeptUnder(limit);
  if (keep != in_force) {
    in_force = keep;
    RecordStore::KeepBlocks(keep.blocks);
    mallopt(M_MMAP_THRESHOLD, static_cast<int>(keep.own_pages));
    mallopt(M_TRIM_THRESHOLD, static_cast<int>(keep.heap_end));
  }
  const auto heap = static_cast<uint64_t>(std::max<ptrdiff_t>(0, EndOfHeap() - heap_begin));
  if (limit != 0 && heap > limit / kHeapPart) ReturnFreedMemory();
}

bool ReturnFreedMemory() {
  // Kept blocks are the main thread's; an operator may have others.
  const bool blocks = getpid() == gettid() && RecordStore::FreeKept();
  const char* const end = EndOfHeap();
  malloc_trim(0);
  return blocks || EndOfHeap() < end;
}

}  // namespace mr::task
