#include "worker/task/landlock.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

namespace mr::task {
namespace {

// linux/landlock.h of Linux 6.12. The structures grow at their end, and the kernel takes any size that it knows.
struct RulesetAttributes {
  uint64_t handled_fs = 0, handled_net = 0, scoped = 0;
};
struct [[gnu::packed]] PathBeneath {
  uint64_t allowed = 0;
  int32_t parent = -1;
};
constexpr int kRulePathBeneath = 1;
constexpr uint32_t kAskVersion = 1;

constexpr uint64_t kExecute = 1 << 0, kWriteFile = 1 << 1, kReadFile = 1 << 2, kReadDirectory = 1 << 3;
constexpr uint64_t kTruncate = 1 << 14, kIoctlDevice = 1 << 15;
constexpr uint64_t kOfFiles = kExecute | kWriteFile | kReadFile | kTruncate | kIoctlDevice;
constexpr uint64_t kOfReaders = kExecute | kReadFile | kReadDirectory;
constexpr uint64_t kScopes = 3;  // abstract unix sockets, signals

// Returns the accesses to files that an interface version knows: bit by bit, in the order of their introduction.
uint64_t HandledBy(int abi) {
  int bits = 13;            // 1: execute, read, write, list, remove two kinds, make seven kinds
  if (abi >= 2) bits = 14;  // move between directories
  if (abi >= 3) bits = 15;  // truncate
  if (abi >= 5) bits = 16;  // ioctl of devices
  return (uint64_t{1} << bits) - 1;
}

}  // namespace

int LandlockAbi() {
  const long version = syscall(SYS_landlock_create_ruleset, nullptr, size_t{0}, kAskVersion);
  return version > 0 ? static_cast<int>(version) : 0;
}

int Landlock::Make(int abi) {
  RulesetAttributes attributes;
  attributes.handled_fs = HandledBy(abi);
  constexpr int kWithScopes = 6, kWithNetwork = 4;
  if (abi >= kWithScopes) attributes.scoped = kScopes;
  const size_t size = abi >= kWithScopes    ? sizeof attributes
                      : abi >= kWithNetwork ? 2 * sizeof(uint64_t)
                                            : sizeof(uint64_t);
  fd_.reset(static_cast<int>(syscall(SYS_landlock_create_ruleset, &attributes, size, 0u)));
  if (!fd_.valid()) return errno;
  handled_ = attributes.handled_fs;
  return 0;
}

int Landlock::Allow(int at, Access access) {
  struct stat info {};
  if (fstat(at, &info) != 0) return errno;
  PathBeneath rule;
  rule.parent = at;
  rule.allowed = handled_ & (access == kRead ? kOfReaders : ~uint64_t{0});
  if (!S_ISDIR(info.st_mode)) rule.allowed &= kOfFiles;
  return syscall(SYS_landlock_add_rule, fd_.get(), kRulePathBeneath, &rule, 0u) == 0 ? 0 : errno;
}

int Landlock::Enter() {
  const int error = syscall(SYS_landlock_restrict_self, fd_.get(), 0u) == 0 ? 0 : errno;
  fd_.reset();
  return error;
}

}  // namespace mr::task
