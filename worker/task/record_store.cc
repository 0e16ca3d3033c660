#include "worker/task/record_store.h"

#include <stdlib.h>
#include <sys/mman.h>

#include <new>

namespace mr::task {
namespace {
bool keep_blocks = false;
}  // namespace

// One per process: a task process has one thread.
static std::vector<RecordStore::Block>& Spare() {
  static auto* const spare = new std::vector<RecordStore::Block>;
  return *spare;
}

void RecordStore::KeepBlocks(bool keep) {
  keep_blocks = keep;
  if (!keep) FreeKept();
}

void RecordStore::FreeKept() { Spare().clear(); }

RecordStore::~RecordStore() {
  Clear();
  for (Block& block : free_) {
    if (keep_blocks && block.size == kBlockBytes) Spare().push_back(std::move(block));
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
  const bool huge = keep_blocks && size == kBlockBytes;
  void* memory = nullptr;  // not cleared
  if (!huge) memory = std::malloc(size);
  if ((huge && posix_memalign(&memory, kHugePage, size) != 0) || memory == nullptr) throw std::bad_alloc();
  auto* const block = static_cast<char*>(memory);
  if (huge) (void)madvise(block, size, MADV_HUGEPAGE);
  return {std::unique_ptr<char, Free>(block), size};
}

}  // namespace mr::task
