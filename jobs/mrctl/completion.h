// The shell script that completes words of mrctl, generated from the option tree.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// A job and its own options.
struct JobWords {
  std::string name, what;
  std::vector<std::string> options;  // "-e", "--regexp"
};
// Returns those that the help of a job lists. help: as its library has it.
JobWords WordsOfJob(const std::string& name, const std::string& help);

// Returns the script. shell: bash, zsh (bash's script, run by zsh's bashcompinit) or fish. jobs: completions after
// submit and explain, besides files. Pure. Errors: kInvalidArgument for another shell.
Result<std::string> CompletionScript(const std::string& shell, const std::vector<JobWords>& jobs);

}  // namespace mr::ctl
