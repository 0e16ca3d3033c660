// mrctl whatif: fetches the history of a job's run, and simulates it with mrsim.
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

extern char** environ;

namespace mr::ctl {
namespace {

// Size of the history past which jobs that ran beside it are left out (a guess: some hundred thousand attempts).
constexpr size_t kEnough = 64u << 20;

// Returns the history of the job and, within that size, of jobs that ran beside it.
Result<std::string> FetchHistory(Client& client, JobId id) {
  MR_ASSIGN_OR_RETURN(JobHistory history, client.History(id));
  std::string text = std::move(history.head) + std::move(history.text);
  for (const JobId other : history.beside) {
    if (text.size() > kEnough) break;
    auto beside = client.History(other);
    if (beside.ok())
      text += beside->text;
    else if (beside.status().code() != Code::kNotFound)
      return beside.status();
  }
  return text;
}

// Returns a file without a name that contains the text, positioned at its start.
Result<UniqueFd> Unnamed(const std::string& text) {
  UniqueFd fd(memfd_create("history", MFD_CLOEXEC));
  if (!fd.valid()) return ErrnoStatus(errno, "cannot make a file in memory");
  MR_RETURN_IF_ERROR(WriteAll(fd.get(), text));
  if (lseek(fd.get(), 0, SEEK_SET) != 0) return ErrnoStatus(errno, "cannot rewind a file in memory");
  return fd;
}

// Runs a child with our standard output and error. Returns its exit code; mrsim uses the codes of mrctl.
Result<int> Run(const std::vector<std::string>& argv, int in) {
  std::vector<char*> arguments;
  for (const std::string& a : argv) arguments.push_back(const_cast<char*>(a.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return WithHint(Internal("cannot start " + argv[0] + ": " + std::strerror(error)),
                    "mrctl and mrsim must be in one directory");
  }
  const UniqueFd ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const Woken woken = WaitFor(ended.get(), TimeLimit());
  if (woken != Woken::kReady) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (woken == Woken::kInterrupted) return InterruptedStatus();
  if (woken == Woken::kTimeout) return TimeoutStatus();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return Internal("mrsim died of signal " + std::to_string(WTERMSIG(status)));
}

}  // namespace

Result<int> RunWhatif(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("whatif takes one job id");
  const auto id = ParseJobId(command.args[0]);
  if (!id)
    return WithHint(InvalidArgument("'" + command.args[0] + "' is not a job id such as job_1_0001"),
                    "mrctl jobs lists them");
  const WhatifOptions& o = command.whatif;
  if (o.scheduler.empty() && o.workers == 0 && o.slots == 0) {
    return WithHint(InvalidArgument("there is nothing to change"), "add --scheduler, --workers or --slots");
  }
  std::string history;
  {
    Client client(settings.master);
    MR_ASSIGN_OR_RETURN(history, FetchHistory(client, *id));
  }
  std::vector<std::string> argv = {BinaryDirectory() + "/mrsim", "replay", "-", "--job", command.args[0]};
  if (!o.scheduler.empty()) argv.insert(argv.end(), {"--scheduler", o.scheduler});
  if (o.workers > 0) argv.insert(argv.end(), {"--workers", std::to_string(o.workers)});
  if (o.slots > 0) argv.insert(argv.end(), {"--slots", std::to_string(o.slots)});
  argv.insert(argv.end(), {"-o", settings.form == OutputForm::kTable ? "table" : "json"});
  MR_ASSIGN_OR_RETURN(const UniqueFd in, Unnamed(history));
  return Run(argv, in.get());
}

}  // namespace mr::ctl
