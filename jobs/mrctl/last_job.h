// The newest submit of this user, for `last` as a job id: a file below $XDG_STATE_HOME/paceline (by default
// ~/.local/state/paceline), which only the user may read. Thread: any; processes may write at the same time, and the
// last one wins.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::ctl {

struct LastJob {
  std::string id;      // "job_1_0017", or the name of a run without a cluster
  std::string master;  // address of its master as given to mrctl; empty without a cluster
};

// Returns the directory of what mrctl remembers between commands, which need not exist, or "" if neither
// XDG_STATE_HOME nor HOME is an absolute path.
std::string StateDirectory();

// Remembers the job in place of the one before, or nothing without a state directory. After an error `Last` finds none,
// rather than the job before. Errors: those of making the file.
Status RememberLast(const std::string& id, const std::string& master);

// Errors: kNotFound, with a hint, if nothing is remembered; kCorrupted if the file is none of RememberLast.
Result<LastJob> Last();

}  // namespace mr::ctl
