// The script by which a shell completes words of mrctl, written from the option tree itself.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::ctl {

// shell: bash or zsh (bash's script, run by zsh's bashcompinit). jobs: what stands behind submit and explain, beside
// files. Pure. kInvalidArgument for another shell.
Result<std::string> CompletionScript(const std::string& shell, const std::vector<std::string>& jobs);

}  // namespace mr::ctl
