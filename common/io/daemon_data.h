// Checks which kind of daemon a --data directory belongs to.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr {

// Each returns kRejected where the directory holds the data of the other kind of daemon. A directory that does not
// exist, or is empty, is nobody's.
Status CheckMasterData(const std::string& directory);
Status CheckWorkerData(const std::string& directory);

}  // namespace mr
