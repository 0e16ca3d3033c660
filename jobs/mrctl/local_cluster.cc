#include "jobs/mrctl/local_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/rpc/credentials.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/guardian.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/wait.h"

extern char** environ;

namespace mr::ctl {
namespace {

constexpr int kReadyFd = 10;
constexpr int kLifelineFd = 11;
constexpr int kSecretFd = 12;
constexpr int kParkedFd = 20;                  // above these descriptors, so that no dup2 overwrites its own source
constexpr Duration kReadyLimit = Seconds(15);  // a daemon is ready within 0.1 s; a loaded machine takes longer
constexpr int kLogLines = 6;

std::string LastLines(const std::string& path, int lines) {
  auto text = ReadFile(path);
  if (!text.ok() || text->empty()) return "(the log is empty)";
  while (!text->empty() && text->back() == '\n') text->pop_back();
  size_t at = text->size();
  for (int i = 0; i < lines && at != std::string::npos && at > 0; ++i) at = text->rfind('\n', at - 1);
  return at == std::string::npos || at == 0 ? *text : text->substr(at + 1);
}

Result<std::pair<UniqueFd, UniqueFd>> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  return std::make_pair(UniqueFd(ends[0]), UniqueFd(ends[1]));
}

}  // namespace

Result<std::unique_ptr<LocalCluster>> LocalCluster::Prepare(LocalClusterOptions options) {
  const char* base = std::getenv("TMPDIR");
  std::string directory = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/mrctl-local.XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return ErrnoStatus(errno, "cannot make " + directory);
  std::unique_ptr<LocalCluster> cluster(new LocalCluster(std::move(options)));
  cluster->directory_ = directory;
  MR_ASSIGN_OR_RETURN(auto control, MakePipe());
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot fork");
  if (pid == 0) RunGuardian(control.first.get(), directory);
  cluster->guardian_ = pid;
  cluster->guardian_pipe_ = std::move(control.second);
  MR_ASSIGN_OR_RETURN(auto lifeline, MakePipe());
  cluster->lifeline_read_ = std::move(lifeline.first);
  cluster->lifeline_write_ = std::move(lifeline.second);
  return cluster;
}

LocalCluster::~LocalCluster() {
  lifeline_write_.reset();
  guardian_pipe_.reset();
  // The guardian kills daemons that do not end by themselves, so none of these waits is long.
  for (const Daemon& daemon : daemons_) {
    if (daemon.pid != 0 && !daemon.ended) waitpid(daemon.pid, nullptr, 0);
  }
  if (guardian_ != 0) waitpid(guardian_, nullptr, 0);
}

Status LocalCluster::Spawn(const std::string& name, std::vector<std::string> argv) {
  const std::string log = directory_ + "/" + name + ".log";
  argv.insert(argv.end(), {"--data", directory_ + "/" + name, "--port", "0", "--http_port", "0", "--ready_fd",
                           std::to_string(kReadyFd), "--lifeline_fd", std::to_string(kLifelineFd), "--secret_fd",
                           std::to_string(kSecretFd), "--ephemeral"});
  MR_ASSIGN_OR_RETURN(auto ready, MakePipe());
  // A pipe holds the secret until the daemon takes it out. Its environment and arguments can be read by others.
  MR_ASSIGN_OR_RETURN(auto secret, MakePipe());
  MR_RETURN_IF_ERROR(WriteAll(secret.second.get(), FormatDaemonSecret(secret_).Reveal()).With("passing the secret"));
  const UniqueFd secret_read(fcntl(secret.first.get(), F_DUPFD_CLOEXEC, kParkedFd));
  const UniqueFd ready_write(fcntl(ready.second.get(), F_DUPFD_CLOEXEC, kParkedFd));
  const UniqueFd lifeline(fcntl(lifeline_read_.get(), F_DUPFD_CLOEXEC, kParkedFd));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawn_file_actions_adddup2(&actions, ready_write.get(), kReadyFd);
  posix_spawn_file_actions_adddup2(&actions, lifeline.get(), kLifelineFd);
  posix_spawn_file_actions_adddup2(&actions, secret_read.get(), kSecretFd);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  for (int s : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, s);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&attributes, 0);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  Daemon daemon{name, log, 0, std::move(ready.first), false};
  const int error = posix_spawn(&daemon.pid, arguments[0], &actions, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return Internal("cannot start " + argv[0] + ": " + std::strerror(error));
  NotifyGuardian(guardian_pipe_.get(), daemon.pid);
  daemons_.push_back(std::move(daemon));
  return Status::Ok();
}

Status LocalCluster::Broken(const Daemon& daemon, const std::string& what) const {
  return Internal("the local " + daemon.name + " " + what + "; its log ends:\n" + LastLines(daemon.log, kLogLines));
}

Result<uint16_t> LocalCluster::WaitReady(Daemon& daemon) {
  std::string text;
  const Instant limit = Now() + kReadyLimit;
  while (text.find('\n') == std::string::npos) {
    switch (WaitFor(daemon.ready.get(), Earlier(limit, TimeLimit()))) {
      case Woken::kInterrupted: return InterruptedStatus();
      case Woken::kTimeout:
        if (Now() < limit) return TimeoutStatus();
        return Broken(daemon, "was not ready within " + HumanDuration(kReadyLimit));
      case Woken::kReady: break;
    }
    char piece[128];
    const ssize_t n = read(daemon.ready.get(), piece, sizeof piece);
    if (n <= 0) {
      int status = 0;
      daemon.ended = waitpid(daemon.pid, &status, 0) == daemon.pid;
      // The daemon received its flags from our options, so its usage error is ours.
      const std::string last = LastLines(daemon.log, 1), mark = "invalid_argument: ";
      const size_t said = last.find(mark);
      const bool usage = daemon.ended && WIFEXITED(status) && WEXITSTATUS(status) == kExitUsage;
      if (usage && said != std::string::npos) return InvalidArgument(last.substr(said + mark.size()));
      return Broken(daemon, "ended before it was ready");
    }
    text.append(piece, static_cast<size_t>(n));
  }
  daemon.ready.reset();
  unsigned rpc = 0, http = 0;
  if (std::sscanf(text.c_str(), "ready %u %u", &rpc, &http) != 2 || rpc == 0 || rpc > 65535) {
    return Broken(daemon, "wrote '" + text + "' instead of its ports");
  }
  return static_cast<uint16_t>(rpc);
}

Status LocalCluster::Start() {
  MR_ASSIGN_OR_RETURN(secret_, MakeDaemonSecret());
  rpc::SetProcessCredentials(std::make_shared<rpc::FixedCredentials>(secret_.Copy()));
  std::vector<std::string> argv = {BinaryDirectory() + "/mrmaster", "--bind", "127.0.0.1", "--url_roots", "any"};
  if (!options_.scheduler.empty()) argv.insert(argv.end(), {"--scheduler", options_.scheduler});
  MR_RETURN_IF_ERROR(Spawn("master", std::move(argv)));
  MR_ASSIGN_OR_RETURN(const uint16_t port, WaitReady(daemons_[0]));
  address_ = "127.0.0.1:" + std::to_string(port);
  // At least two slots each: with one slot, no reduce could run beside the maps.
  const int slots = std::max(2, static_cast<int>(std::thread::hardware_concurrency()) / options_.workers);
  for (int i = 1; i <= options_.workers; ++i) {
    MR_RETURN_IF_ERROR(Spawn("worker-" + std::to_string(i),
                             {BinaryDirectory() + "/mrworker", "--master", address_, "--bind", "127.0.0.1", "--slots",
                              std::to_string(slots), "--min_free", "0", "--own_rights", "--url_roots", "any"}));
  }
  for (size_t i = 1; i < daemons_.size(); ++i) MR_RETURN_IF_ERROR(WaitReady(daemons_[i]).status());
  return Status::Ok();
}

namespace {

// Returns "was killed by SIGKILL" or "ended with exit code 1".
std::string EndOf(int wait_status) {
  if (!WIFSIGNALED(wait_status)) return "ended with exit code " + std::to_string(WEXITSTATUS(wait_status));
  const char* const name = sigabbrev_np(WTERMSIG(wait_status));
  return std::string("was killed by SIG") + (name != nullptr ? name : std::to_string(WTERMSIG(wait_status)));
}

}  // namespace

Status LocalCluster::CheckAlive() {
  size_t workers = 0;
  const Daemon* last = nullptr;
  for (Daemon& daemon : daemons_) {
    if (!daemon.ended && waitpid(daemon.pid, &daemon.wait_status, WNOHANG) == daemon.pid) daemon.ended = true;
    if (&daemon == &daemons_[0]) {
      if (daemon.ended) return Broken(daemon, EndOf(daemon.wait_status));
    } else if (!daemon.ended) {
      ++workers;
    } else {
      last = &daemon;
    }
  }
  if (workers == 0 && last != nullptr) return Broken(*last, EndOf(last->wait_status) + ", and no other worker is left");
  return Status::Ok();
}

}  // namespace mr::ctl
