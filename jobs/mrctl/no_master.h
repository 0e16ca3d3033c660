// Explains why no master answers at an address.
#pragma once

#include <string>

#include "common/base/status.h"

namespace mr::ctl {

// Returns the error of a connection that failed, with a hint that names the next step. Errors other than kUnavailable
// stay as they are.
Status NoMaster(const std::string& address, const Status& why);

}  // namespace mr::ctl
