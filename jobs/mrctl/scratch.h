// The place in the block store for results that mrctl shows and removes.
#pragma once

#include <string>

#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Returns the directory of the block store in which this user makes temporary paths (MasterInfo::scratch); "/tmp" where
// there is no client or no answer, since the next call then says why.
std::string ScratchOf(Client* client);

}  // namespace mr::ctl
