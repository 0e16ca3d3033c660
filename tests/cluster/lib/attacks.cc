#include "tests/cluster/lib/attacks.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <map>

namespace mr::test {
namespace {

// Each returns what its system call does: -1 and errno, or success.
using Try = std::function<long(const std::string&)>;

pid_t Pid(const std::string& text) { return static_cast<pid_t>(std::atoi(text.c_str())); }

// Closes a descriptor that an attack got.
long Got(long fd) {
  if (fd >= 0) close(static_cast<int>(fd));
  return fd;
}
long Open(const std::string& path, int flags, mode_t mode = 0) { return Got(open(path.c_str(), flags, mode)); }
long Socket(int family, int type) { return Got(socket(family, type, 0)); }

// Returns the outcome of a child, which exits with the errno of its attack, or 0.
long InChild(const std::function<long()>& attack) {
  const pid_t pid = fork();
  if (pid < 0) return -1;
  if (pid == 0) _exit(attack() < 0 ? errno : 0);
  int status = 0;
  waitpid(pid, &status, 0);
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : EFAULT;
  return errno == 0 ? 0 : -1;
}

long Ptrace(const std::string& pid) {
  const long seized = ptrace(PTRACE_SEIZE, Pid(pid), nullptr, nullptr);
  if (seized == 0) ptrace(PTRACE_DETACH, Pid(pid), nullptr, nullptr);
  return seized;
}

// Reads or writes one byte of the other process's stack segment; the address need not be mapped to see the check.
long OtherMemory(const std::string& pid, bool write) {
  char byte = 0;
  const iovec here{&byte, 1}, there{reinterpret_cast<void*>(16), 1};
  const long done = syscall(write ? SYS_process_vm_writev : SYS_process_vm_readv, Pid(pid), &here, 1, &there, 1, 0);
  return done < 0 && errno == EFAULT ? 0 : done;  // allowed, and nothing is mapped there
}

long PidfdGetfd(const std::string& pid) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, Pid(pid), 0));
  if (pidfd < 0) return -1;
  const long got = Got(syscall(SYS_pidfd_getfd, pidfd, 0, 0));
  const int error = errno;
  close(pidfd);
  errno = error;
  return got;
}

long PerfEvent(const std::string&) {
  perf_event_attr attributes{};
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.size = sizeof attributes;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  return Got(syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
}

long CloneNamespace(const std::string&) {
  const long pid = syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, nullptr, nullptr, nullptr, 0);
  if (pid == 0) _exit(0);
  if (pid > 0) waitpid(static_cast<pid_t>(pid), nullptr, 0);
  return pid;
}

// A file of its own that is linked into place by its handle needs no directory.
long OpenByHandle(const std::string&) {
  struct {
    file_handle handle{};
    char bytes[MAX_HANDLE_SZ];
  } at{};
  return Got(syscall(SYS_open_by_handle_at, AT_FDCWD, &at.handle, O_RDONLY));
}

long ThroughLink(const std::string& path) {
  unlink("attack_link");
  if (symlink(path.c_str(), "attack_link") != 0) return -1;
  return Open("attack_link", O_RDONLY);
}

// Reads the limit of another process, which is allowed to whoever may change it.
long OtherLimits(const std::string& pid) {
  rlimit limit{};
  return syscall(SYS_prlimit64, Pid(pid), RLIMIT_NOFILE, nullptr, &limit);
}

// Starts processes until there can be no more, or 1000; they end with the attempt.
long ForkBomb(const std::string& seconds) {
  for (int i = 0; i < 1000; ++i) {
    const pid_t pid = fork();
    if (pid < 0) return -1;
    if (pid == 0) {
      setsid();
      execlp("sleep", "sleep", seconds.c_str(), nullptr);
      _exit(1);
    }
  }
  pause();
  return 0;
}

// Leaves a process that has no parent, session, environment or descriptor of the task.
long LeaveProcess(const std::string& seconds) {
  return InChild([&] {
    const pid_t pid = fork();
    if (pid != 0) return static_cast<long>(pid);
    setsid();
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    char* const none[] = {nullptr};
    execle("/usr/bin/sleep", "sleep", seconds.c_str(), nullptr, none);
    _exit(1);
  });
}

// Fills files of 256 KiB in the scratch directory, up to 256 MiB, and waits to be ended.
long FillDisk(const std::string&) {
  const std::string bytes(256 << 10, 'x');
  for (int i = 0; i < 1024; ++i) {
    const int fd = open(("filled" + std::to_string(i)).c_str(), O_WRONLY | O_CREAT, 0600);
    if (fd < 0 || write(fd, bytes.data(), bytes.size()) < 0) return -1;
    close(fd);
  }
  pause();
  return 0;
}

// Touches memory, up to 1 GiB, in processes that each stay below the attempt's limit, and waits to be ended.
long UseMemory(const std::string&) {
  constexpr size_t kBytes = 64u << 20;
  for (int i = 0; i < 16; ++i) {
    const pid_t pid = fork();
    if (pid < 0) return -1;
    if (pid == 0) {
      void* const got = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (got != MAP_FAILED) memset(got, 1, kBytes);
      pause();
    }
  }
  for (int status = 0; waitpid(-1, &status, 0) > 0;) {
    if (WIFSIGNALED(status)) kill(getpid(), SIGKILL);
  }
  return 0;
}

#if defined(__x86_64__)
// getpid through the gate of 32-bit programs. The kernel answers with -errno.
long ForeignAbi(const std::string&) {
  return InChild([] {
    long result = 20;
    asm volatile("int $0x80" : "+a"(result) : : "memory");
    if (result < 0) errno = static_cast<int>(-result);
    return result < 0 ? -1L : 0L;
  });
}
// getpid of the x32 ABI.
long X32(const std::string&) { return syscall(0x40000000 | SYS_getpid); }
#endif

const std::map<std::string, Try>& Attacks() {
  static const auto* const all = new std::map<std::string, Try> {
    {"socket_inet", [](auto&) { return Socket(AF_INET, SOCK_STREAM); }},
        {"socket_inet6", [](auto&) { return Socket(AF_INET6, SOCK_DGRAM); }},
        {"socket_unix", [](auto&) { return Socket(AF_UNIX, SOCK_STREAM); }},
        {"socket_netlink", [](auto&) { return Socket(AF_NETLINK, SOCK_RAW); }},
        {"socket_packet", [](auto&) { return Socket(AF_PACKET, SOCK_RAW); }},
        {"socket_alg", [](auto&) { return Socket(AF_ALG, SOCK_SEQPACKET); }},
        {"io_uring", [](auto&) { return Got(syscall(SYS_io_uring_setup, 1, nullptr)); }}, {"ptrace", Ptrace},
        {"vm_read", [](auto& pid) { return OtherMemory(pid, false); }},
        {"vm_write", [](auto& pid) { return OtherMemory(pid, true); }}, {"pidfd_getfd", PidfdGetfd},
        {"kcmp", [](auto& pid) { return syscall(SYS_kcmp, getpid(), Pid(pid), 0, 0, 0); }}, {"perf_event", PerfEvent},
        {"unshare", [](auto&) { return InChild([] { return unshare(CLONE_NEWUSER); }); }},
        {"setns", [](auto&) { return setns(0, 0); }}, {"clone_namespace", CloneNamespace},
        {"clone3", [](auto&) { return syscall(SYS_clone3, nullptr, 0); }},
        {"mount", [](auto&) { return mount("none", "/", "tmpfs", 0, nullptr); }},
        {"fsopen", [](auto&) { return Got(syscall(SYS_fsopen, "tmpfs", 0)); }},
        {"open_tree", [](auto&) { return Got(syscall(SYS_open_tree, AT_FDCWD, "/usr", 1)); }},
        {"chroot", [](auto&) { return chroot("/"); }}, {"open_by_handle", OpenByHandle},
        {"bpf", [](auto&) { return syscall(SYS_bpf, 0, nullptr, 0); }},
        {"userfaultfd", [](auto&) { return Got(syscall(SYS_userfaultfd, 1)); }},
        {"keyctl", [](auto&) { return syscall(SYS_keyctl, 0, -3, 0); }},
        {"add_key", [](auto&) { return syscall(SYS_add_key, "user", "a", "b", 1, -3); }},
        {"kexec", [](auto&) { return syscall(SYS_kexec_load, 0, 0, nullptr, 0); }},
        {"module", [](auto&) { return syscall(SYS_init_module, nullptr, 0, ""); }},
        {"reboot", [](auto&) { return syscall(SYS_reboot, 0, 0, 0, nullptr); }},
        {"swapon", [](auto&) { return syscall(SYS_swapon, "/nothing", 0); }},
        {"set_clock", [](auto&) { return syscall(SYS_clock_settime, CLOCK_REALTIME, nullptr); }},
        {"personality", [](auto&) { return InChild([] { return static_cast<long>(personality(PER_LINUX32)); }); }},
        {"fork_bomb", ForkBomb}, {"leave_process", LeaveProcess}, {"fill_disk", FillDisk}, {"use_memory", UseMemory},
        {"kill_all", [](auto&) { return static_cast<long>(kill(-1, SIGKILL)); }},
        {"priority",
         [](auto& pid) { return static_cast<long>(setpriority(PRIO_PROCESS, static_cast<id_t>(Pid(pid)), 19)); }},
        {"cpus",
         [](auto& pid) {
           cpu_set_t set;
           CPU_ZERO(&set);
           CPU_SET(0, &set);
           return static_cast<long>(sched_setaffinity(Pid(pid), sizeof set, &set));
         }},
        {"other_limits", OtherLimits}, {"kill", [](auto& pid) { return static_cast<long>(kill(Pid(pid), 0)); }},
        {"read", [](auto& path) { return Open(path, O_RDONLY); }},
        {"write", [](auto& path) { return Open(path, O_WRONLY); }},
        {"create", [](auto& path) { return Open(path + "/attack", O_WRONLY | O_CREAT, 0600); }},
        {"list", [](auto& path) { return Open(path, O_RDONLY | O_DIRECTORY); }},
        {"truncate", [](auto& path) { return static_cast<long>(truncate(path.c_str(), 0)); }},
        {"chmod", [](auto& path) { return static_cast<long>(chmod(path.c_str(), 0644)); }},
        {"set_uid", [](auto& path) { return Open(path + "/set_uid", O_WRONLY | O_CREAT, 04755); }},
        {"remove", [](auto& path) { return static_cast<long>(unlink(path.c_str())); }}, {"through_link", ThroughLink},
#if defined(__x86_64__)
        {"abi_i386", ForeignAbi}, {"abi_x32", X32},
#endif
  };
  return *all;
}

}  // namespace

std::string TryAttack(const std::string& line) {
  const size_t space = line.find(' ');
  const auto attack = Attacks().find(line.substr(0, space));
  if (attack == Attacks().end()) return "unknown";
  errno = 0;
  if (attack->second(space == line.npos ? "" : line.substr(space + 1)) >= 0) return "possible";
  const int error = errno;
  if (error == ENOSYS) return "absent";
  const char* name = strerrorname_np(error);
  return "denied: " + std::string(name != nullptr ? name : "?");
}

}  // namespace mr::test
