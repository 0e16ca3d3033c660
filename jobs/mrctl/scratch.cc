#include "jobs/mrctl/scratch.h"

namespace mr::ctl {

std::string ScratchOf(Client* client) {
  const auto info = client != nullptr ? client->Info() : Result<MasterInfo>(Unavailable("there is no client"));
  return info.ok() && !info->scratch.empty() ? info->scratch : "/tmp";
}

}  // namespace mr::ctl
