#include "jobs/builtin/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "paceline/error.h"

extern char** environ;

namespace mr::builtin {
namespace {

constexpr size_t kReadBytes = 64u << 10;
constexpr uint64_t kPipeBytes = 64u << 10;  // the size of a Linux pipe, so the most that one read of it returns
// Polling period for the end of a command where the kernel has no pidfd.
constexpr int kLookMs = 50;
constexpr size_t kErrorTailBytes = 2048;
constexpr size_t kMaxLineBytes = 16u << 20;

// Returns whether the machine lacks a resource that other processes use, too, so that another attempt may succeed. If
// the attempt's own limit is too low, the job still fails, after the retries of a RetryableError.
bool IsShortage(int error) { return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM; }

[[noreturn]] void SystemError(const std::string& what, int error) {
  const std::string message = what + ": " + std::strerror(error);
  if (IsShortage(error)) throw RetryableError(message);
  throw JobError(message);
}

// Follows a command with a pipe. Exit code 141 (SIGPIPE) of a program in a pipe is normal: its reader had read enough.
// It must not hide the failure of another program in the pipe. The empty line ends what the command may have left open.
constexpr char kJudgePipe[] = R"(

code=$? stages=("${PIPESTATUS[@]}")
if [ $code = 141 ] && [ ${#stages[@]} != 1 ]; then
  code=0
  for stage in "${stages[@]}"; do [ $stage = 0 ] || [ $stage = 141 ] || code=$stage; done
fi
exit $code
)";

// Returns bash, which can see failures inside of pipes, or nullptr where there is none.
const char* Bash() {
  for (const char* path : {"/bin/bash", "/usr/bin/bash"}) {
    if (access(path, X_OK) == 0) return path;
  }
  return nullptr;
}

// Returns whether the command runs this program: its name as a whole word, perhaps after a directory.
bool Runs(std::string_view command, std::string_view program) {
  constexpr std::string_view kBefore = " \t\n;|&(`!/{", kBehind = " \t\n;|&)`";
  for (size_t at = command.find(program); at != command.npos; at = command.find(program, at + 1)) {
    const size_t end = at + program.size();
    const bool begins = at == 0 || kBefore.find(command[at - 1]) != kBefore.npos;
    if (begins && (end == command.size() || kBehind.find(command[end]) != kBehind.npos)) return true;
  }
  return false;
}

// Programs that exit with 1 for an answer, not for an error.
struct Answers {
  const char* program;
  const char* one;
};
constexpr Answers kAnswers[] = {
    {"grep", "where no line matches"},          {"egrep", "where no line matches"},
    {"fgrep", "where no line matches"},         {"zgrep", "where no line matches"},
    {"zstdgrep", "where no line matches"},      {"rg", "where no line matches"},
    {"pgrep", "where no process matches"},      {"diff", "where its inputs differ"},
    {"cmp", "where its inputs differ"},         {"test", "where its condition is false"},
    {"[", "where its condition is false"},      {"[[", "where its condition is false"},
    {"expr", "where its result is empty or 0"},
};

// Returns what is known about an exit code, or "".
std::string ExitCodeNote(int code, const std::string& command) {
  if (code == 126) return " (it cannot be executed; check its permissions)";
  if (code == 127) return " (not found; is it installed on the workers?)";
  if (code != 1) return "";
  for (const Answers& known : kAnswers) {
    if (!Runs(command, known.program)) continue;
    return " (" + std::string(known.program) + " exits with 1 " + known.one +
           "; if that is no failure, give --ok-exit 1)";
  }
  return "";
}

struct Pipe {
  Pipe() {
    if (pipe2(fds.data(), O_CLOEXEC) != 0) SystemError("cannot make a pipe for a command", errno);
  }
  ~Pipe() {
    for (int fd : fds) {
      if (fd >= 0) close(fd);
    }
  }
  // Returns our end, made non-blocking. The command's end stays blocking.
  int TakeNonBlocking(int which) {
    fcntl(fds[which], F_SETFL, fcntl(fds[which], F_GETFL) | O_NONBLOCK);
    return std::exchange(fds[which], -1);
  }
  std::array<int, 2> fds{-1, -1};
};

// Turns SIGPIPE of a write to a command that no longer reads into an error. The signal is blocked for this thread and
// consumed, so the process's own handling does not change.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoSigpipe() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec now{0, 0};
      while (sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
      }
      pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }

 private:
  sigset_t pipe_, before_;
};

}  // namespace

Command::Command(std::string text, OnLine on_output, OnLine on_error_line, std::function<void()> on_moved)
    : text_(std::move(text)),
      on_output_(std::move(on_output)),
      on_error_(std::move(on_error_line)),
      on_moved_(std::move(on_moved)) {
  Pipe in, out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.fds[0], 0);
  posix_spawn_file_actions_adddup2(&actions, out.fds[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err.fds[1], 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const char* const bash = Bash();
  // xpg_echo: `echo` reads \t and \n as sh does on Debian.
  char shell[] = "bash", echo[] = "-O", escapes[] = "xpg_echo", set[] = "-o", option[] = "pipefail", read[] = "-c",
       plain[] = "sh";
  std::string command = text_;
  if (bash != nullptr && text_.find('|') != std::string::npos) command += kJudgePipe;
  char* with_bash[] = {shell, echo, escapes, set, option, read, command.data(), nullptr};
  char* with_sh[] = {plain, read, command.data(), nullptr};
  const int error = posix_spawn(&pid_, bash != nullptr ? bash : "/bin/sh", &actions, &attributes,
                                bash != nullptr ? with_bash : with_sh, environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    pid_ = -1;
    SystemError("cannot start a shell for: " + text_, error);
  }
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  input_ = in.TakeNonBlocking(1);
  output_.fd = out.TakeNonBlocking(0);
  error_.fd = err.TakeNonBlocking(0);
}

Command::~Command() {
  CloseInput();
  for (Stream* stream : {&output_, &error_}) {
    if (stream->fd >= 0) close(stream->fd);
  }
  if (pidfd_ >= 0) close(pidfd_);
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Command::CloseInput() {
  if (input_ < 0) return;
  unread_ = Unread();
  close(std::exchange(input_, -1));
}

uint64_t Command::Unread() const {
  int unread = 0;
  if (ioctl(input_, FIONREAD, &unread) != 0 || unread < 0) return 0;
  return std::min(written_, static_cast<uint64_t>(unread));
}

Command::Range Command::LastRead(uint64_t lag) const {
  const uint64_t read = written_ - (input_ >= 0 ? Unread() : unread_);
  return {read - std::min(read, kPipeBytes + lag), read_on_ ? written_ : read};
}

void Command::Write(std::string_view bytes) {
  const NoSigpipe guard;
  while (!bytes.empty() && input_ >= 0) Pump(&bytes);
}

void Command::Pump(std::string_view* to_write) {
  std::array<pollfd, 4> fds{{{to_write->empty() ? -1 : input_, POLLOUT, 0},
                             {output_.fd, POLLIN, 0},
                             {error_.fd, POLLIN, 0},
                             {pidfd_, POLLIN, 0}}};
  const int ready = poll(fds.data(), fds.size(), pidfd_ >= 0 ? -1 : kLookMs);
  if (ready < 0) {
    if (errno == EINTR) return;
    SystemError("cannot wait for a command", errno);
  }
  if ((fds[3].revents != 0 || ready == 0) && HasEnded()) {
    CloseInput();
    ReadRest(&output_, on_output_);
    ReadRest(&error_, on_error_);
    return;
  }
  if (fds[0].revents != 0) {
    const ssize_t n = write(input_, to_write->data(), to_write->size());
    if (n > 0) {
      on_moved_();
      written_ += static_cast<uint64_t>(n);
      to_write->remove_prefix(static_cast<size_t>(n));
    } else if (n < 0 && errno != EAGAIN && errno != EINTR) {
      CloseInput();  // it has closed its end; Finish judges how it ended
    }
  }
  if (fds[1].revents != 0 && !ReadSome(&output_, on_output_)) Close(&output_, on_output_);
  if (fds[2].revents != 0 && !ReadSome(&error_, on_error_)) Close(&error_, on_error_);
}

bool Command::HasEnded() const {
  siginfo_t info{};
  return waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == pid_;
}

void Command::Close(Stream* stream, const OnLine& on_line) {
  close(std::exchange(stream->fd, -1));
  if (!stream->partial.empty()) on_line(std::exchange(stream->partial, {}));
}

// Reads only the bytes that are there: a descendant may write for ever.
void Command::ReadRest(Stream* stream, const OnLine& on_line) {
  if (stream->fd < 0) return;
  int left = 0;
  ioctl(stream->fd, FIONREAD, &left);
  while (left > 0) {
    const size_t most = std::min<size_t>(static_cast<size_t>(left), kReadBytes);
    if (!ReadSome(stream, on_line, most)) break;
    left -= static_cast<int>(most);
  }
  Close(stream, on_line);
}

bool Command::ReadSome(Stream* stream, const OnLine& on_line, size_t most) {
  char buffer[kReadBytes];
  const ssize_t n = read(stream->fd, buffer, std::min(most, sizeof buffer));
  if (n < 0) return errno == EAGAIN || errno == EINTR;
  if (n == 0) return false;
  on_moved_();
  std::string_view rest(buffer, static_cast<size_t>(n));
  if (stream == &error_) {
    error_tail_.append(rest);
    if (error_tail_.size() > kErrorTailBytes) error_tail_.erase(0, error_tail_.size() - kErrorTailBytes);
  }
  for (size_t end; (end = rest.find('\n')) != rest.npos; rest.remove_prefix(end + 1)) {
    if (stream->partial.empty()) {
      on_line(rest.substr(0, end));
    } else {
      stream->partial.append(rest.substr(0, end));
      on_line(std::exchange(stream->partial, {}));
    }
  }
  stream->partial.append(rest);
  if (stream->partial.size() > kMaxLineBytes) {
    throw JobError("the command wrote a line above 16 MiB: " + text_);
  }
  return true;
}

void Command::Finish(const std::string& what, const std::vector<int64_t>& ok_exits) {
  read_on_ = input_ >= 0;
  CloseInput();
  std::string_view nothing;
  // A command may close its output long before it ends.
  while (output_.fd >= 0 || error_.fd >= 0) Pump(&nothing);
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) SystemError("cannot wait for a command", errno);
  }
  pid_ = -1;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 0 || std::find(ok_exits.begin(), ok_exits.end(), code) != ok_exits.end()) return;
  std::string why = "the " + what + " command ";
  if (WIFSIGNALED(status)) {
    why += "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) + ")";
  } else {
    why += "exited with code " + std::to_string(code) + ExitCodeNote(code, text_);
  }
  why += ": " + text_;
  while (!error_tail_.empty() && error_tail_.back() == '\n') error_tail_.pop_back();
  why += error_tail_.empty() ? "; it wrote nothing to stderr" : "; its stderr ends:\n" + error_tail_;
  if (code == EX_TEMPFAIL) throw RetryableError(why);
  throw JobError(why);
}

}  // namespace mr::builtin
