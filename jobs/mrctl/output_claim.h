// A claim on an output directory for as long as a process lives: two `mrctl submit --local` on one machine have a
// master each, so that neither master can see that both write to one place. It leaves nothing behind, however the
// process ends (the name of an abstract unix socket), and says nothing of other machines or of jobs of a cluster.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::ctl {

class OutputClaim {
 public:
  // kRejected where another process has claimed it. path: absolute; links in it are followed.
  static Result<OutputClaim> Take(const std::string& path);

 private:
  explicit OutputClaim(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;  // invalid where this system has no such sockets: then nothing is claimed
};

}  // namespace mr::ctl
