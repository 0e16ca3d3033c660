// The error of a daemon that cannot listen.
#pragma once

#include <kj/exception.h>

#include <string>

#include "common/base/status.h"

namespace mr::rpc {

// Returns kRejected with the system's reason alone, and the flag to change where the address is taken. what: "cannot
// listen on ADDRESS:PORT".
Status CannotListen(const std::string& what, const std::string& flag, const kj::Exception& e);

}  // namespace mr::rpc
