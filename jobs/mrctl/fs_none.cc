// In builds without the block store's client.
#include "jobs/mrctl/fs.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

Result<int> RunFs(const Command&, const Settings&) { return Internal("this build has no client of the block store"); }
Status PrintStoredParts(Client&, const std::string&) { return Internal("this build has no client of the block store"); }

}  // namespace mr::ctl
