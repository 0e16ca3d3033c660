#include "worker/host/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mr::worker {

Result<std::shared_ptr<Arena>> Arena::Make(uint64_t bytes) {
  std::shared_ptr<Arena> arena(new Arena);
  arena->bytes_ = bytes;
  arena->layout_ = task::ArenaLayout::Of(bytes);
  if (arena->layout_.input_slots == 0)
    return InvalidArgument("an arena of " + std::to_string(bytes) + " bytes has no slots");
  arena->fd_.reset(memfd_create("mr-arena", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!arena->fd_.valid() || ftruncate(arena->fd(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(arena->fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return ErrnoStatus(errno, "cannot make a task arena");
  }
  void* base = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, arena->fd(), 0);
  if (base == MAP_FAILED) return ErrnoStatus(errno, "cannot map a task arena");
  arena->base_ = static_cast<char*>(base);
  return arena;
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, bytes_);
}

void Arena::ClearProgress() {
  task::ProgressPage* p = page();
  __atomic_store_n(&p->taken, 0, __ATOMIC_RELAXED);
  p->total.store(0, std::memory_order_relaxed);
  p->records.store(0, std::memory_order_relaxed);
  p->phase.store(0, std::memory_order_relaxed);
  p->asks.store(0, std::memory_order_relaxed);
  p->cancelled.store(0, std::memory_order_relaxed);
  p->waits.store(0, std::memory_order_relaxed);
  p->pulse.store(0, std::memory_order_relaxed);
  p->batch_records.store(0, std::memory_order_relaxed);
  __atomic_store_n(&p->record, task::kNoRecord, __ATOMIC_RELAXED);
  p->crash.causes.store(0, std::memory_order_relaxed);
  p->crash.signal.store(0, std::memory_order_relaxed);
  p->crash.about.store(task::CrashNote::kRecord, std::memory_order_relaxed);
  p->crash.exact.store(0, std::memory_order_relaxed);
  p->crash.place_bytes.store(0, std::memory_order_relaxed);
  p->crash.key_bytes.store(0, std::memory_order_relaxed);
  p->crash.value_bytes.store(0, std::memory_order_relaxed);
}

}  // namespace mr::worker
