// mrctl schedulers: prints the lists of policies, as mrsim knows them. It needs no master.
#include "jobs/mrctl/mrsim.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

Result<int> RunSchedulers(const Settings& settings) { return RunMrsim({"schedulers"}, 0, settings); }

}  // namespace mr::ctl
