// The command `mrtask frames`: a process that reads a user's debug information, and can do nothing else.
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "worker/task/debug_info.h"
#include "worker/task/frames.h"
#include "worker/task/syscall_filter.h"

namespace mr::task {
namespace {

// Guesses. The crashed process waits for two seconds (crash.cc); names without lines have to be ready by then. Without
// enough memory, the stack has names and no lines.
constexpr uint64_t kMostCpuSeconds = 3;
constexpr Duration kLinesFor = Seconds(1);

// Lowers a limit, and also its maximum.
void LowerLimit(__rlimit_resource resource, uint64_t most) {
  rlimit limit;
  if (getrlimit(resource, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max = std::min<rlim_t>(limit.rlim_max, most);
  setrlimit(resource, &limit);
}

// Gives up all that reading debug information does not need. Below this, the process has the rights of the attempt that
// started it: its user, its room and its control group. Returns whether that worked.
bool Confine() {
  LowerLimit(RLIMIT_CORE, 0);
  LowerLimit(RLIMIT_CPU, kMostCpuSeconds);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // their own memory is above any limit
  LowerLimit(RLIMIT_DATA, kFramesMemory);
#endif
  const auto filter = SyscallFilter::Compile(FilterKind::kReadFiles);
  return filter.ok() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter->Install() == 0;
}

}  // namespace

int FramesMain(const std::vector<std::string>& words) {
  std::string maps;
  char piece[4096];
  for (ssize_t n; (n = read(0, piece, sizeof piece)) > 0;) maps.append(piece, static_cast<size_t>(n));
  std::vector<uint64_t> addresses;
  for (const std::string& word : words) {
    uint64_t address = 0;
    const char* begin = word.data() + (word.starts_with("0x") ? 2 : 0);
    if (std::from_chars(begin, word.data() + word.size(), address, 16).ec != std::errc()) return 2;
    addresses.push_back(address);
  }
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self);
  if (!Confine()) {
    fprintf(stderr, "mrtask frames: the stack is not translated: its process could not be confined\n");
    return 1;
  }
  DebugInfo debug(maps);
  const Instant begun = Now();
  const auto source = [&](uint64_t address) {
    return Now() - begun < kLinesFor ? debug.At(address) : std::vector<SourceCall>();
  };
  const std::string text = StackText(ParseMaps(maps), addresses, n > 0 ? std::string(self, n) : "", source);
  return !text.empty() && WriteAll(1, text).ok() ? 0 : 1;
}

}  // namespace mr::task
