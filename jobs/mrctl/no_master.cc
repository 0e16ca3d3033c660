#include "jobs/mrctl/no_master.h"

#include "common/base/version.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

// Returns whether the address is certainly of this machine alone.
bool IsHere(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") || address.starts_with("[::1]") ||
         address.starts_with("unix:");
}

}  // namespace

Status NoMaster(const std::string& address, const Status& why) {
  if (why.code() != Code::kUnavailable) return why;
  // The text of common/rpc/hello.cc: a master answers, so the hint must not suggest to start one.
  if (why.message().find("speaks protocol") != std::string::npos) {
    return WithHint(Unavailable("the master at " + why.message()),
                    "use the mrctl of that master's release, or name a master of this one (" + std::string(kVersion) +
                        ") with --master HOST:PORT or MR_MASTER");
  }
  std::string hint = TimeLimit() ? "--timeout limits the time of an answer and waits for no master; " : std::string();
  // The machine answers, but not the port: a master that runs there most often listens on its loopback only.
  if (!IsHere(address) && why.message().find("refused") != std::string::npos) {
    hint +=
        "does the master run, and does it listen on loopback only, as without flags? Start it with --bind 0.0.0.0 "
        "--advertise HOST, after mrctl cluster init; ";
  }
  return WithHint(Unavailable("no master: " + why.message()),
                  hint +
                      "start one (mrmaster --data DIR, or ./dev cluster for containers), or name another with "
                      "--master HOST:PORT or MR_MASTER (now " +
                      address + ")");
}

}  // namespace mr::ctl
