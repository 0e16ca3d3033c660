#include "jobs/mrctl/mrsim.h"

#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>

#include "common/io/files.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/wait.h"

extern char** environ;

namespace mr::ctl {

Result<int> RunMrsim(std::vector<std::string> arguments, int in, const Settings& settings) {
  arguments.insert(arguments.begin(), BinaryDirectory() + "/mrsim");
  arguments.insert(arguments.end(), {"-o", settings.form == OutputForm::kTable ? "table" : "json"});
  std::vector<char*> argv;
  argv.reserve(arguments.size() + 1);
  for (std::string& a : arguments) argv.push_back(a.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, 0);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    return WithHint(Internal("cannot start " + arguments[0] + ": " + std::strerror(error)),
                    "mrctl and mrsim must be in one directory");
  }
  MR_ASSIGN_OR_RETURN(const int status, WaitForChild(pid));
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  return Internal("mrsim died of signal " + std::to_string(WTERMSIG(status)));
}

}  // namespace mr::ctl
