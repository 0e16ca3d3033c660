#include "jobs/mrctl/tools.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/io/clock.h"
#include "common/io/installed_files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/wait.h"

extern char** environ;

namespace mr::ctl {
namespace {

constexpr size_t kMaxToolOutput = 16u << 20;

Result<pid_t> Spawn(const std::vector<std::string>& argv, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out, 1);
  posix_spawn_file_actions_adddup2(&actions, err, 2);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return WithHint(Internal("cannot start " + argv[0] + ": " + std::strerror(error)),
                    "mrctl, mrtask, mrmaster and mrworker must be in one directory");
  }
  return pid;
}

std::string TrimmedEnd(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

// Reads both pipes to their end.
Status Drain(int out_fd, int err_fd, std::string* out, std::string* err) {
  const Instant limit = Now() + Seconds(kToolSeconds);
  pollfd fds[2] = {{out_fd, POLLIN, 0}, {err_fd, POLLIN, 0}};
  std::string* texts[2] = {out, err};
  while (fds[0].fd >= 0 || fds[1].fd >= 0) {
    if (Interrupted()) return InterruptedStatus();
    const int64_t left = (limit - Now()).millis();
    if (TimeLimit().has_value() && Now() >= *TimeLimit()) return TimeoutStatus();
    if (left <= 0) {
      return InvalidArgument("the operator library did not end within " + std::to_string(kToolSeconds) +
                             " s while it was loaded or made its plan");
    }
    // In short waits, so that Ctrl-C is noticed although the handler restarts calls.
    if (poll(fds, 2, static_cast<int>(left < 100 ? left : 100)) < 0 && errno != EINTR)
      return ErrnoStatus(errno, "cannot poll");
    for (int i = 0; i < 2; ++i) {
      if (fds[i].fd < 0 || fds[i].revents == 0) continue;
      char piece[65536];
      const ssize_t n = read(fds[i].fd, piece, sizeof piece);
      if (n <= 0) {
        fds[i].fd = -1;
      } else if (texts[i]->size() < kMaxToolOutput) {
        texts[i]->append(piece, static_cast<size_t>(n));
      }
    }
  }
  return Status::Ok();
}

}  // namespace

const std::string& BinaryDirectory() {
  static const std::string directory = [] {
    char path[4096];
    const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
    MR_CHECK(n > 0, "/proc is missing");
    const std::string self(path, static_cast<size_t>(n));
    return self.substr(0, self.rfind('/'));
  }();
  return directory;
}

std::string BuiltinLibrary() { return BuiltinLibraryOf(BinaryDirectory()); }

ToolRun::ToolRun(std::vector<std::string> argv) : what_("mrtask " + argv[1]) {
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) {
    start_ = ErrnoStatus(errno, "cannot make a pipe");
    return;
  }
  out_.reset(out[0]);
  err_.reset(err[0]);
  const UniqueFd out_write(out[1]), err_write(err[1]);
  auto pid = Spawn(argv, out[1], err[1]);
  if (pid.ok()) {
    pid_ = *pid;
  } else {
    start_ = pid.status();
  }
}

ToolRun::ToolRun(ToolRun&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      out_(std::move(other.out_)),
      err_(std::move(other.err_)),
      start_(std::move(other.start_)),
      what_(std::move(other.what_)),
      arguments_refused_(other.arguments_refused_) {}

ToolRun::~ToolRun() {
  if (pid_ == 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

Result<std::string> ToolRun::Finish() {
  MR_RETURN_IF_ERROR(start_);
  std::string out, err;
  const Status drained = Drain(out_.get(), err_.get(), &out, &err);
  if (!drained.ok()) kill(pid_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(pid_, 0), &status, 0);
  if (!drained.ok()) return drained;
  err = TrimmedEnd(err);
  // mrtask prefixes its name, but the user did not call it.
  if (err.compare(0, 8, "mrtask: ") == 0) err.erase(0, 8);
  // mrtask sets an alarm for itself, so that a loop ends even if mrctl does not end it.
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
    return InvalidArgument("the operator library did not end within its time limit while it made its plan");
  }
  if (WIFSIGNALED(status)) {
    return InvalidArgument("the operator library died of signal " + std::to_string(WTERMSIG(status)) + " (" +
                           strsignal(WTERMSIG(status)) + ") while it was loaded or made its plan" +
                           (err.empty() ? "" : ":\n" + err));
  }
  if (WEXITSTATUS(status) == 0 && !out.empty()) {
    if (!err.empty()) PrintErr(err + "\n");
    return out;
  }
  if (WEXITSTATUS(status) == 0) {
    return InvalidArgument("the operator library ended the process (exit 0) while it was loaded or made its plan");
  }
  if (err.empty()) err = what_ + " exited with " + std::to_string(WEXITSTATUS(status)) + " and printed nothing";
  constexpr int kInvalid = 2, kArgumentsRefused = 3;  // of mrtask plan (jobs/PLAN.md)
  arguments_refused_ = WEXITSTATUS(status) == kArgumentsRefused;
  if (arguments_refused_ || WEXITSTATUS(status) == kInvalid) return InvalidArgument(err);
  return Internal(what_ + " exited with " + std::to_string(WEXITSTATUS(status)) + ": " + err);
}

ToolRun StartPlan(const std::string& library, const std::string& job, const std::vector<std::string>& args,
                  const PlanSizes& sizes) {
  std::vector<std::string> argv = {BinaryDirectory() + "/mrtask", "plan"};
  if (sizes.memory_bytes != 0) argv.insert(argv.end(), {"--memory", std::to_string(sizes.memory_bytes)});
  for (const auto& [uri, bytes] : sizes.bytes) argv.insert(argv.end(), {"--bytes", std::to_string(bytes), uri});
  argv.insert(argv.end(), {library, job});
  argv.insert(argv.end(), args.begin(), args.end());
  return ToolRun(std::move(argv));
}

ToolRun StartCheck(const std::string& library) { return ToolRun({BinaryDirectory() + "/mrtask", "check", library}); }

ToolRun StartHostLibraries() { return ToolRun({BinaryDirectory() + "/mrtask", "libraries"}); }

}  // namespace mr::ctl
