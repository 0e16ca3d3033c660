// A note at submit about a queue that does not exist yet: the scheduler makes it, also where its name is a typing
// error.
#pragma once

#include <string>
#include <vector>

#include "common/model/status.h"

namespace mr::ctl {

// Returns the note, or "" if the queue is known or is the default one. prefix: "mrctl ", for the command in its text.
std::string NewQueueNote(const std::string& queue, const std::vector<QueueStatus>& known, const std::string& prefix);

}  // namespace mr::ctl
