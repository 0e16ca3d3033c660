#include "common/io/huge_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

namespace mr {
namespace {

// Returns the line "VmFlags: ..." of the mapping with this address; "" if there is none.
std::string FlagsAt(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  std::ifstream maps("/proc/self/smaps");
  std::string line;
  bool inside = false;
  while (std::getline(maps, line)) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= at && at < end;
    if (inside && line.rfind("VmFlags:", 0) == 0) return line + " ";
  }
  return "";
}

bool KernelHasHugePages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string modes;
  std::getline(file, modes);
  return !modes.empty();
}

class HugeHeap : public testing::Test {
 protected:
  static void SetUpTestSuite() { GrowHeapInHugePages(); }
};

TEST_F(HugeHeap, MemoryTakenFromTheSystemAsksForHugePages) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers bring their own allocator";
#endif
  if (!KernelHasHugePages()) GTEST_SKIP() << "the kernel has no transparent huge pages";
  constexpr size_t kBytes = 32 << 20;
  const auto block = std::make_unique<char[]>(kBytes);
  std::memset(block.get(), 1, kBytes);
  EXPECT_NE(FlagsAt(block.get() + kBytes / 2).find(" hg "), std::string::npos) << FlagsAt(block.get() + kBytes / 2);
}

TEST_F(HugeHeap, FailedAllocationsFailAsBefore) {
  const volatile size_t too_much = SIZE_MAX / 4;
  EXPECT_EQ(std::unique_ptr<char[]>(new (std::nothrow) char[too_much]), nullptr);
}

}  // namespace
}  // namespace mr
