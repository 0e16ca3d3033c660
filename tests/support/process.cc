#include "tests/support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::test {
namespace {

// Descriptors are moved out of the way of the child's numbers first, so that no dup2 overwrites
// one that is still needed.
constexpr int kParkedFd = 200;
constexpr size_t kMaxInherited = 16;

// Where mrctl remembers things between commands: of this test, not of the user who runs it.
const std::string& StateHome() {
  static const struct Home {
    const std::string path = "/tmp/mrtest-state." + std::to_string(getpid());
    const std::string assignment = "XDG_STATE_HOME=" + path;
    ~Home() { (void)RemoveTree(path); }
  } home;
  return home.assignment;
}

// Secrets of daemons of this test, its own and its children's: not in the directory of the user who runs it.
[[maybe_unused]] const int own_secrets =
    setenv("MR_SECRET_DIR", (StateHome().substr(StateHome().find('=') + 1) + "/daemons").c_str(), 0);

// The child's arguments and environment, made before the fork. In the child of a process with threads only
// async-signal-safe calls are allowed, and an allocation is none.
struct Prepared {
  // Local runs are not remembered in the home directory of the user who tests, unless a test asks for it.
  const std::string keep_none = "MR_KEEP_RUNS=0";
  std::vector<char*> arguments, environment;
  Prepared(const std::vector<std::string>& argv, const SpawnOptions& options) {
    for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
    arguments.push_back(nullptr);
    const auto named = [](const char* variable, const std::string& assignment) {
      return std::strncmp(variable, assignment.c_str(), assignment.find('=') + 1) == 0;
    };
    const std::string& state = StateHome();
    bool own_state = false;
    for (const std::string& variable : options.env) own_state |= named(variable.c_str(), state);
    if (!own_state) environment.push_back(const_cast<char*>(state.c_str()));
    for (char** e = environ; *e != nullptr; ++e) {
      bool replaced = named(*e, state) || named(*e, keep_none);
      for (const std::string& variable : options.env) replaced |= named(*e, variable);
      if (!replaced) environment.push_back(*e);
    }
    for (const std::string& variable : options.env) environment.push_back(const_cast<char*>(variable.c_str()));
    environment.push_back(const_cast<char*>(keep_none.c_str()));  // the first one of a name counts
    environment.push_back(nullptr);
  }
};

[[noreturn]] void RunChild(const Prepared& prepared, const SpawnOptions& options) {
  if (options.network >= 0 && setns(options.network, CLONE_NEWNET) != 0) _exit(127);
  if (!options.directory.empty() && chdir(options.directory.c_str()) != 0) _exit(127);
  const int out_flags = O_WRONLY | O_CREAT | (options.append ? O_APPEND : O_TRUNC);
  const int in = open(options.stdin_path.c_str(), O_RDONLY);
  const int out = open(options.stdout_path.c_str(), out_flags, 0644);
  const int err = open(options.stderr_path.c_str(), out_flags, 0644);
  if (in < 0 || out < 0 || err < 0) _exit(127);
  int parked[kMaxInherited];
  size_t count = 0;
  for (const auto& [from, to] : options.inherit) {
    if (count == kMaxInherited) _exit(127);
    parked[count++] = fcntl(from, F_DUPFD_CLOEXEC, kParkedFd);
  }
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  close(in);
  close(out);
  close(err);
  for (size_t i = 0; i < count; ++i) dup2(parked[i], options.inherit[i].second);
  if (options.open_files != 0) {
    const rlimit limit{options.open_files, options.open_files};
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) _exit(127);
  }
  execve(prepared.arguments[0], prepared.arguments.data(), prepared.environment.data());
  _exit(127);
}

}  // namespace

Process& Process::operator=(Process&& other) noexcept {
  if (this != &other) {
    Kill();
    pid_ = std::exchange(other.pid_, 0);
  }
  return *this;
}

Process::~Process() { Kill(); }

Result<Process> Process::Spawn(const std::vector<std::string>& argv, const SpawnOptions& options) {
  const Prepared prepared(argv, options);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot fork");
  if (pid == 0) RunChild(prepared, options);
  Process process;
  process.pid_ = pid;
  return process;
}

bool Process::running() {
  if (pid_ == 0) return false;
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
}

void Process::Signal(int signal) const {
  if (pid_ != 0) kill(pid_, signal);
}

std::optional<int> Process::Wait(Duration limit) {
  if (pid_ == 0) return std::nullopt;
  UniqueFd fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ready{fd.get(), POLLIN, 0};
  const Instant end = Now() + limit;
  while (poll(&ready, 1, static_cast<int>((end - Now()).millis())) < 0 && errno == EINTR) {
  }
  int status = 0;
  if (waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = 0;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

void Process::Kill() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = 0;
}

}  // namespace mr::test
