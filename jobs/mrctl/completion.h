// The shell script that completes words of mrctl, generated from the option tree.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// Returns the script. shell: bash or zsh (bash's script, run by zsh's bashcompinit). jobs: completions after submit and
// explain, besides files. Pure. Errors: kInvalidArgument for another shell.
Result<std::string> CompletionScript(const std::string& shell, const std::vector<std::string>& jobs);

}  // namespace mr::ctl
