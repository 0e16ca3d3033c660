// Claims an output directory for the lifetime of a process. Two `mrctl submit --local` on one machine have separate
// masters, and neither can notice that both write to one directory. The claim is the name of an abstract unix socket,
// so it disappears with the process. It does not cover other machines or jobs of a cluster.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::ctl {

class OutputClaim {
 public:
  // Claims the directory. path: absolute; links are followed. Errors: kRejected if another process has claimed it.
  static Result<OutputClaim> Take(const std::string& path);

 private:
  explicit OutputClaim(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;  // invalid on systems without such sockets: nothing is claimed then
};

}  // namespace mr::ctl
