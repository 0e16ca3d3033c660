#include "common/io/huge_heap.h"

#ifdef MR_TCMALLOC
#include <gperftools/malloc_extension.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#endif

namespace mr {

#ifdef MR_TCMALLOC
namespace {

constexpr size_t kHugePage = size_t{2} << 20;  // of x86-64, and of arm64 with pages of 4 KiB

// tcmalloc calls it under its own lock. It must not allocate.
class HugePages final : public SysAllocator {
 public:
  explicit HugePages(SysAllocator* system) : system_(system) {}

  void* Alloc(size_t size, size_t* actual_size, size_t alignment) override {
    size_t got = 0;
    const size_t wanted = (size + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = system_->Alloc(wanted, &got, std::max(alignment, kHugePage));
    if (memory != nullptr) {
      // The memory is as good without them, and malloc sets errno only if it fails.
      const int error = errno;
      (void)madvise(memory, got, MADV_HUGEPAGE);
      errno = error;
    }
    if (actual_size != nullptr) *actual_size = got;
    return memory;
  }

 private:
  SysAllocator* const system_;  // not owned
};

}  // namespace

void GrowHeapInHugePages() {
  MallocExtension* malloc = MallocExtension::instance();
  malloc->SetSystemAllocator(new HugePages(malloc->GetSystemAllocator()));  // lives as long as the process
}
#else
void GrowHeapInHugePages() {}
#endif

}  // namespace mr
