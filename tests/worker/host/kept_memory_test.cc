// Memory that a task process keeps when it is freed, with and without a limit. Each test runs in a process of its own,
// since the limits and settings are the process's.
#include "worker/task/kept_memory.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "worker/task/record_store.h"

namespace mr::task {
namespace {

constexpr uint64_t kMiB = 1ull << 20, kGiB = 1ull << 30;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kLimited = false;
#else
constexpr bool kLimited = true;
#endif

// Returns the exit code of `run` in a new process: the number of the check that failed, or 0.
int InProcess(int (*run)()) {
  const pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);  // faults count pages of one size
    _exit(run());
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

void SetLimit(uint64_t bytes) {
  rlimit data{};
  getrlimit(RLIMIT_DATA, &data);
  data.rlim_cur = bytes;
  setrlimit(RLIMIT_DATA, &data);
}

// Returns what RLIMIT_DATA counts, in bytes.
uint64_t DataBytes() {
  FILE* const file = fopen("/proc/self/statm", "r");
  unsigned long size = 0, resident = 0, shared = 0, text = 0, lib = 0, data = 0;
  const int got = fscanf(file, "%lu %lu %lu %lu %lu %lu", &size, &resident, &shared, &text, &lib, &data);
  fclose(file);
  return got == 6 ? data * static_cast<uint64_t>(sysconf(_SC_PAGESIZE)) : 0;
}

long Faults() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  return use.ru_minflt;
}

// Writes to `count` buffers of this size and frees them. Returns the page faults.
long Pass(int count, size_t bytes) {
  const long before = Faults();
  {
    std::vector<std::unique_ptr<char[]>> buffers;
    buffers.reserve(static_cast<size_t>(count));  // small freed pieces between them would stay
    for (int i = 0; i < count; ++i) {
      buffers.emplace_back(new char[bytes]);
      std::memset(buffers.back().get(), 1, bytes);
    }
  }
  return Faults() - before;
}

void FillStore(uint64_t bytes) {
  RecordStore store;
  const std::string value(1000, 'v');
  for (uint64_t added = 0; added < bytes; added += value.size()) store.Add("key", value);
}

TEST(KeptMemoryTest, TakesAtMostAQuarterOfTheLimit) {
  for (uint64_t limit = 64 * kMiB; limit <= 64 * kGiB; limit *= 2) {
    const KeptMemory kept = KeptUnder(limit);
    EXPECT_LE(kept.blocks + kept.heap_end, limit / 4) << limit;
    EXPECT_LE(kept.own_pages, limit / 16) << limit;
  }
  // A worker of 24 GiB and two slots: as without a limit, for what tasks usually free.
  const KeptMemory usual = KeptUnder(10 * kGiB), free = KeptUnder(0);
  EXPECT_EQ(usual.own_pages, free.own_pages);
  EXPECT_EQ(usual.heap_end, free.heap_end);
  EXPECT_GE(usual.blocks, kGiB);
}

TEST(KeptMemoryTest, FreedMemoryServesTheNextTaskUnderALimit) {
  if (!kLimited) GTEST_SKIP() << "the sanitizer has another malloc()";
  EXPECT_EQ(InProcess([] {
              SetLimit(kGiB);
              KeepFreedMemory(kGiB);
              const long first = Pass(10, 8 * kMiB);
              if (first < 10'000) return 1;
              KeepFreedMemory(kGiB);  // as the next task does
              return Pass(10, 8 * kMiB) * 20 < first ? 0 : 2;
            }),
            0);
}

TEST(KeptMemoryTest, BlocksOfRecordsServeTheNextTaskUnderALimit) {
  if (!kLimited) GTEST_SKIP() << "the sanitizer has another malloc()";
  EXPECT_EQ(InProcess([] {
              SetLimit(kGiB);
              KeepFreedMemory(kGiB);
              FillStore(100 * kMiB);
              const uint64_t with = DataBytes();
              const long before = Faults();
              KeepFreedMemory(kGiB);
              FillStore(100 * kMiB);
              if (DataBytes() > with + 8 * kMiB) return 1;
              return Faults() - before < 2000 ? 0 : 2;
            }),
            0);
}

TEST(KeptMemoryTest, AnAllocationThatFailsGetsWhatIsKept) {
  if (!kLimited) GTEST_SKIP() << "the sanitizer has another malloc()";
  EXPECT_EQ(InProcess([] {
              SetLimit(512 * kMiB);
              KeepFreedMemory(512 * kMiB);
              FillStore(60 * kMiB);
              const size_t more = 512 * kMiB - DataBytes() + 24 * kMiB;
              std::set_new_handler(nullptr);
              const std::unique_ptr<char[]> early(new (std::nothrow) char[more]);
              if (early != nullptr) return 1;  // nothing was kept
              KeepFreedMemory(512 * kMiB);
              const std::unique_ptr<char[]> got(new (std::nothrow) char[more]);
              return got != nullptr ? 0 : 2;
            }),
            0);
}

TEST(KeptMemoryTest, AnAllocationAboveTheLimitFails) {
  if (!kLimited) GTEST_SKIP() << "the sanitizer has another malloc()";
  EXPECT_EQ(InProcess([] {
              SetLimit(512 * kMiB);
              KeepFreedMemory(512 * kMiB);
              FillStore(60 * kMiB);
              std::vector<std::unique_ptr<char[]>> all;
              try {
                for (;;) all.emplace_back(new char[kMiB]);
              } catch (const std::bad_alloc&) {
              }
              // All but what the process itself and the heap's ends take.
              return all.size() >= 480 && all.size() < 512 ? 0 : 1;
            }),
            0);
}

TEST(KeptMemoryTest, ATaskWithALowerLimitBeginsWithoutWhatTheLastOneKept) {
  if (!kLimited) GTEST_SKIP() << "the sanitizer has another malloc()";
  EXPECT_EQ(InProcess([] {
              KeepFreedMemory(0);
              Pass(20, 16 * kMiB);
              if (DataBytes() < 320 * kMiB) return 1;  // it is kept
              SetLimit(512 * kMiB);
              KeepFreedMemory(512 * kMiB);
              return DataBytes() < 64 * kMiB ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace mr::task
