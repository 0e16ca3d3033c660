#include "common/rpc/listen_error.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace mr::rpc {

// KJ's description is "CALL(ARGUMENTS): REASON; VALUES".
Status CannotListen(const std::string& what, const std::string& flag, const kj::Exception& e) {
  std::string reason = e.getDescription().cStr();
  if (const size_t call = reason.find("): "); call != std::string::npos) reason.erase(0, call + 3);
  reason.erase(std::min(reason.find(';'), reason.size()));
  const bool taken = reason.find(std::strerror(EADDRINUSE)) != std::string::npos;
  const std::string next = taken ? " (another program has it): " + flag + " sets another port, 0 any free one" : "";
  return Rejected(what + ": " + reason + next);
}

}  // namespace mr::rpc
