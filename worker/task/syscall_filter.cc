#include "worker/task/syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "common/io/files.h"

namespace mr::task {
namespace {

static_assert(sizeof(sock_filter) == sizeof(uint64_t));

// Calls that no task needs, each with a way out of its room. A name that this architecture lacks is skipped.
constexpr const char* kDenied[] = {
    // Other processes: their memory, descriptors and registers.
    "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "process_madvise", "perf_event_open",
    // Namespaces and mounts.
    "unshare", "setns", "mount", "umount", "umount2", "pivot_root", "chroot", "fsopen", "fsconfig", "fsmount", "fspick",
    "move_mount", "open_tree", "mount_setattr",
    // Files by handle pass by all directories above them.
    "open_by_handle_at",
    // io_uring makes sockets, and opens files, that no filter sees.
    "io_uring_setup", "io_uring_enter", "io_uring_register",
    // Large parts of the kernel that tasks do not use and attackers do.
    "bpf", "userfaultfd", "keyctl", "add_key", "request_key", "lookup_dcookie", "fanotify_init", "nfsservctl",
    "modify_ldt", "vm86", "vm86old", "uselib", "_sysctl",
    // The machine itself. Without capabilities these fail anyway.
    "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "create_module", "reboot",
    "swapon", "swapoff", "acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "syslog", "sethostname", "setdomainname",
    "clock_settime", "clock_settime64", "clock_adjtime", "clock_adjtime64", "settimeofday", "stime", "adjtimex",
    "vhangup"};

// Flags of clone that make namespaces. CLONE_NEWTIME exists for clone3 and unshare only.
constexpr uint64_t kNamespaceFlags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                        CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
// The register that has clone's flags: s390 has the stack first.
#if defined(__s390__)
constexpr unsigned kCloneFlags = 1;
#else
constexpr unsigned kCloneFlags = 0;
#endif

// personality(2): the low byte selects the ABI of another system; the largest one is PER_OSF4 (15). 0xffffffff only
// asks, and does not match.
constexpr uint64_t kPersonalityMask = 0xff, kMostPersonality = 0x10;

struct Release {
  void operator()(void* context) const { seccomp_release(context); }
};
using Context = std::unique_ptr<void, Release>;

constexpr uint32_t kDeny = SCMP_ACT_ERRNO(EACCES);

// Adds one rule. A call that the architecture does not have needs none.
Status Deny(const Context& filter, const char* name, const std::vector<scmp_arg_cmp>& arguments = {},
            uint32_t action = kDeny) {
  const int number = seccomp_syscall_resolve_name(name);
  if (number < 0) return {};  // unknown to libseccomp, or a pseudo number: not of this architecture
  const int error =
      seccomp_rule_add_array(filter.get(), action, number, static_cast<unsigned>(arguments.size()), arguments.data());
  if (error == 0) return {};
  return Internal(std::string("cannot filter the system call ") + name + ": " + strerror(-error));
}

Status AddBase(const Context& filter) {
  for (const char* name : kDenied) MR_RETURN_IF_ERROR(Deny(filter, name));
  MR_RETURN_IF_ERROR(Deny(filter, "clone3", {}, SCMP_ACT_ERRNO(ENOSYS)));
  for (const uint64_t flag : kNamespaceFlags) {
    MR_RETURN_IF_ERROR(Deny(filter, "clone", {{kCloneFlags, SCMP_CMP_MASKED_EQ, flag, flag}}));
  }
  for (uint64_t persona = 1; persona <= kMostPersonality; ++persona) {
    MR_RETURN_IF_ERROR(Deny(filter, "personality", {{0, SCMP_CMP_MASKED_EQ, kPersonalityMask, persona}}));
  }
  // The limits of other processes: those of the daemon have the same user.
  return Deny(filter, "prlimit64", {{0, SCMP_CMP_NE, 0, 0}});
}

// Denies set-uid and set-gid files: by them others would gain the rights of the task's user.
Status AddSetId(const Context& filter) {
  // Its arguments are in memory, where a filter cannot read them.
  MR_RETURN_IF_ERROR(Deny(filter, "openat2", {}, SCMP_ACT_ERRNO(ENOSYS)));
  for (const uint64_t bit : {uint64_t{S_ISUID}, uint64_t{S_ISGID}}) {
    MR_RETURN_IF_ERROR(Deny(filter, "fchmod", {{1, SCMP_CMP_MASKED_EQ, bit, bit}}));
    MR_RETURN_IF_ERROR(Deny(filter, "chmod", {{1, SCMP_CMP_MASKED_EQ, bit, bit}}));
    MR_RETURN_IF_ERROR(Deny(filter, "fchmodat", {{2, SCMP_CMP_MASKED_EQ, bit, bit}}));
    const int fchmodat2 = 452;  // libseccomp 2.5 does not know it
    const scmp_arg_cmp mode{2, SCMP_CMP_MASKED_EQ, bit, bit};
    if (const int error = seccomp_rule_add_array(filter.get(), kDeny, fchmodat2, 1, &mode); error != 0) {
      return Internal(std::string("cannot filter fchmodat2: ") + strerror(-error));
    }
    MR_RETURN_IF_ERROR(Deny(filter, "creat", {{1, SCMP_CMP_MASKED_EQ, bit, bit}}));
    MR_RETURN_IF_ERROR(Deny(filter, "mknod", {{1, SCMP_CMP_MASKED_EQ, bit, bit}}));
    MR_RETURN_IF_ERROR(Deny(filter, "mknodat", {{2, SCMP_CMP_MASKED_EQ, bit, bit}}));
    // Without O_CREAT the mode has no meaning and any value.
    MR_RETURN_IF_ERROR(
        Deny(filter, "open", {{1, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT}, {2, SCMP_CMP_MASKED_EQ, bit, bit}}));
    MR_RETURN_IF_ERROR(
        Deny(filter, "openat", {{2, SCMP_CMP_MASKED_EQ, O_CREAT, O_CREAT}, {3, SCMP_CMP_MASKED_EQ, bit, bit}}));
  }
  return {};
}

// Landlock has no rules about modes and extended attributes: by them a task could open what belongs to the worker's
// user to other users, or close it, and leave set-uid programs.
Status AddModes(const Context& filter) {
  MR_RETURN_IF_ERROR(AddSetId(filter));
  for (const char* name : {"chmod", "fchmodat", "setxattr", "lsetxattr", "removexattr", "lremovexattr"}) {
    MR_RETURN_IF_ERROR(Deny(filter, name));
  }
  // fchmodat2, setxattrat and removexattrat, which libseccomp 2.5 does not know. Their numbers are those of all
  // architectures but alpha.
  for (const int number : {452, 463, 466}) {
    const int error = seccomp_rule_add_array(filter.get(), kDeny, number, 0, nullptr);
    if (error != 0) return Internal(std::string("cannot filter a system call: ") + strerror(-error));
  }
  // Root owns the system's files, which tasks may open.
  return geteuid() == 0 ? Deny(filter, "fchmod") : Status::Ok();
}

// Calls of a process that reads files and writes to its stdout.
constexpr const char* kReaderCalls[] = {
    "read",           "pread64",      "readv",         "write",       "writev",     "close",
    "lseek",          "fstat",        "newfstatat",    "stat",        "lstat",      "statx",
    "access",         "faccessat",    "faccessat2",    "readlink",    "readlinkat", "fcntl",
    "mmap",           "munmap",       "mprotect",      "mremap",      "madvise",    "brk",
    "futex",          "getrandom",    "clock_gettime", "getpid",      "gettid",     "rt_sigaction",
    "rt_sigprocmask", "rt_sigreturn", "sigaltstack",   "sched_yield", "exit",       "exit_group",
    "restart_syscall"};

Status Allow(const Context& filter, const char* name, const std::vector<scmp_arg_cmp>& arguments = {}) {
  return Deny(filter, name, arguments, SCMP_ACT_ALLOW);
}

Status AddReadFiles(const Context& filter) {
  for (const char* name : kReaderCalls) MR_RETURN_IF_ERROR(Allow(filter, name));
  constexpr uint64_t kWrites = O_ACCMODE | O_CREAT | O_TRUNC;
  MR_RETURN_IF_ERROR(Allow(filter, "open", {{1, SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY}}));
  return Allow(filter, "openat", {{2, SCMP_CMP_MASKED_EQ, kWrites, O_RDONLY}});
}

Status AddInternet(const Context& filter) {
  constexpr uint64_t kMost = AF_NETLINK;
  for (uint64_t family = 0; family <= kMost; ++family) {
    if (family == AF_INET || family == AF_INET6 || family == AF_NETLINK) continue;
    MR_RETURN_IF_ERROR(Deny(filter, "socket", {{0, SCMP_CMP_EQ, family, 0}}));
  }
  // Routes, which name look-up reads. Others of this family show connections or change rules of the machine.
  MR_RETURN_IF_ERROR(Deny(filter, "socket", {{0, SCMP_CMP_EQ, AF_NETLINK, 0}, {2, SCMP_CMP_NE, NETLINK_ROUTE, 0}}));
  return Deny(filter, "socket", {{0, SCMP_CMP_GT, kMost, 0}});
}

}  // namespace

Result<SyscallFilter> SyscallFilter::Compile(FilterKind kind) {
  const Context filter(seccomp_init(kind == FilterKind::kReadFiles ? kDeny : SCMP_ACT_ALLOW));
  if (filter == nullptr) return Internal("cannot make a filter of system calls: out of memory");
  seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH, kDeny);
  constexpr uint32_t kBinaryTree = 2;  // a third of the time of a linear program at its installation (measured)
  if (kind != FilterKind::kNoSockets && kind != FilterKind::kInternet)
    seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, kBinaryTree);
  switch (kind) {
    case FilterKind::kBase: MR_RETURN_IF_ERROR(AddBase(filter)); break;
    case FilterKind::kBaseAndModes:
      MR_RETURN_IF_ERROR(AddBase(filter));
      MR_RETURN_IF_ERROR(AddModes(filter));
      break;
    case FilterKind::kBaseAndSetId:
      MR_RETURN_IF_ERROR(AddBase(filter));
      MR_RETURN_IF_ERROR(AddSetId(filter));
      break;
    case FilterKind::kNoSockets: MR_RETURN_IF_ERROR(Deny(filter, "socket")); break;
    case FilterKind::kReadFiles: MR_RETURN_IF_ERROR(AddReadFiles(filter)); break;
    case FilterKind::kInternet: MR_RETURN_IF_ERROR(AddInternet(filter)); break;
  }
  const UniqueFd file(memfd_create("filter", MFD_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, "cannot make a filter of system calls");
  if (const int error = seccomp_export_bpf(filter.get(), file.get()); error != 0) {
    return ErrnoStatus(-error, "cannot make a filter of system calls");
  }
  SyscallFilter made;
  const off_t bytes = lseek(file.get(), 0, SEEK_END);
  if (bytes <= 0 || bytes % static_cast<off_t>(sizeof(uint64_t)) != 0) return Internal("libseccomp made no filter");
  made.program_.resize(static_cast<size_t>(bytes) / sizeof(uint64_t));
  if (pread(file.get(), made.program_.data(), static_cast<size_t>(bytes), 0) != bytes) {
    return ErrnoStatus(errno, "cannot read the filter of system calls");
  }
  return made;
}

int SyscallFilter::Install() const {
  sock_fprog program{};
  program.len = static_cast<unsigned short>(program_.size());
  program.filter = reinterpret_cast<sock_filter*>(const_cast<uint64_t*>(program_.data()));
  // Without this flag, kernels before 5.16 slow the whole process down against attacks of other threads of itself.
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program) == 0 ? 0 : errno;
}

}  // namespace mr::task
