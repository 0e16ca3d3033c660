// The freed memory that a task process keeps, for the buffers of its task and of the next one. New pages from the
// kernel cost more than what is copied into them (measured: a tenth of the time of sort, join and wordcount).
//
// A limit of memory (RLIMIT_DATA) counts what is kept, so it bounds this: kept blocks and the free end of the heap take
// a quarter of the limit at most, and an allocation by operator new that fails gets them before it throws. malloc()
// reuses the free end of the heap, too; only mmap() of an operator cannot.
#pragma once

#include <cstdint>
#include <new>

namespace mr::task {

// How much is kept under a limit. All in bytes.
struct KeptMemory {
  uint64_t blocks = 0;     // of RecordStore, at most
  uint64_t heap_end = 0;   // free bytes at the end of the heap, above which they are returned
  uint64_t own_pages = 0;  // allocations of this size and more get pages of their own, and return them when freed
  bool operator==(const KeptMemory&) const = default;
};

// limit: 0 = none.
KeptMemory KeptUnder(uint64_t limit);

// Sets up this process for a task with this limit (0 = none), which is in force already. If the last task left the heap
// larger than half of the limit, returns what is free. Cost: less than 1 us if the limit is that of the last task.
void KeepFreedMemory(uint64_t limit);

// Returns what `allocate` returns, a pointer to memory. While that is null, it does as operator new does: what is kept
// is returned, and it tries again. Errors: std::bad_alloc.
template <class Allocate>
auto AllocateOrThrow(Allocate&& allocate) {
  for (;;) {
    if (auto* const memory = allocate(); memory != nullptr) return memory;
    const std::new_handler give_back = std::get_new_handler();
    if (give_back == nullptr) throw std::bad_alloc();
    give_back();
  }
}

// Returns to the kernel what is kept and free. Returns whether an allocation that failed may succeed now.
bool ReturnFreedMemory();

}  // namespace mr::task
