// The --data directory of a daemon: which kind of daemon it belongs to, and who can enter it.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr {

// Each returns kRejected where the directory holds the data of the other kind of daemon. A directory that does not
// exist, or is empty, is nobody's.
Status CheckMasterData(const std::string& directory);
Status CheckWorkerData(const std::string& directory);
// Makes the last directory of the path for this user alone, if it does not exist; directories above it are not made.
// One of this user that is empty, or has the data of a daemon, is closed to others (mode 0700). The mode 0711, with
// which users of tasks pass through, stays. Returns whether a directory was open to others and is closed now. Never
// fails: who uses the directory has the better message.
bool MakePrivateData(const std::string& directory);

}  // namespace mr
