#include "worker/task/record_store.h"

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
  for (Block& block : blocks_) {
    if (keep_blocks && block.size == kBlockBytes) Spare().push_back(std::move(block));
  }
}

RecordStore::Block RecordStore::MakeBlock(uint64_t bytes) {
  if (bytes <= kBlockBytes && !Spare().empty()) {
    Block block = std::move(Spare().back());
    Spare().pop_back();
    return block;
  }
  const uint64_t size = (std::max(bytes, kBlockBytes) + kHugePage - 1) / kHugePage * kHugePage;
  auto* const block = static_cast<char*>(std::aligned_alloc(kHugePage, size));  // not cleared
  if (block == nullptr) throw std::bad_alloc();
  // In key order nearly each record is in another page. A refusal costs time only.
  (void)madvise(block, size, MADV_HUGEPAGE);
  return {std::unique_ptr<char, Free>(block), size};
}

}  // namespace mr::task
