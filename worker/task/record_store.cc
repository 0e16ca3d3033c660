#include "worker/task/record_store.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "worker/task/kept_memory.h"

namespace mr::task {
namespace {
uint64_t most_kept = 0;  // blocks
}  // namespace

// One per process: a task process has one thread.
static std::vector<RecordStore::Block>& Spare() {
  static auto* const spare = new std::vector<RecordStore::Block>;
  return *spare;
}

void RecordStore::KeepBlocks(uint64_t most_bytes) {
  most_kept = most_bytes / kBlockBytes;
  // Now, since a list that grows behind the blocks would keep the end of the heap from being returned (guess at a usual
  // number of blocks).
  constexpr size_t kUsualBlocks = 256;
  Spare().reserve(std::min<size_t>(most_kept, kUsualBlocks));
  while (Spare().size() > most_kept) Spare().pop_back();
}

bool RecordStore::FreeKept() {
  if (Spare().empty()) return false;
  Spare().clear();
  return true;
}

RecordStore::~RecordStore() {
  Clear();
  for (Block& block : free_) {
    if (block.size == kBlockBytes && Spare().size() < most_kept) Spare().push_back(std::move(block));
  }
}

void RecordStore::Clear() {
  for (Block& block : blocks_) {
    if (block.size == block_bytes_) free_.push_back(std::move(block));
  }
  blocks_.clear();
  left_ = 0;
}

RecordStore::Block RecordStore::MakeBlock(uint64_t bytes) {
  const auto take = [](std::vector<Block>* from) {
    Block block = std::move(from->back());
    from->pop_back();
    return block;
  };
  if (bytes <= block_bytes_ && !free_.empty()) return take(&free_);
  if (bytes <= block_bytes_ && block_bytes_ == kBlockBytes && !Spare().empty()) return take(&Spare());
  const uint64_t size = std::max(bytes, block_bytes_);
  // In key order nearly each record is in another page, so large pages help. Their alignment takes address space, which
  // counts where memory is limited. A refusal costs time only.
  const bool huge = most_kept > 0 && size == kBlockBytes;
  const auto allocate = [&]() -> void* {
    void* memory = nullptr;  // not cleared
    if (!huge) return std::malloc(size);
    return posix_memalign(&memory, kHugePage, size) == 0 ? memory : nullptr;
  };
  auto* const block = static_cast<char*>(AllocateOrThrow(allocate));
  if (huge) (void)madvise(block, size, MADV_HUGEPAGE);
  return {std::unique_ptr<char, Free>(block), size};
}

}  // namespace mr::task
