// Messages and hints for writes of files that were given up or refused.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::ctl {

// Returns whether the status is that of an interrupt or of --timeout.
bool IsGivenUp(const Status& status);

// Returns the status of a write that was given up, with the state of its target: a stored or a local file, or a number
// of files. Other statuses are returned unchanged.
Status GivenUpWrite(const Status& status, const std::string& target);

// Adds that --overwrite replaces the target, where the status says that it exists. Other statuses are returned
// unchanged.
Status WithReplaceHint(const Status& status);

}  // namespace mr::ctl
