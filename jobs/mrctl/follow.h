// Following a job to its end, and what is said about the end.
#pragma once

#include <functional>
#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/config.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/model.h"

namespace mr::ctl {

// ask, again and again on new connections, for as long as it is kUnavailable and kMasterGraceSeconds last: what broke
// may be a restart of the master. Gives what ask said last, or that the user or --timeout ended it.
Status TryAgain(Client& client, Status broken, const Settings& settings, const std::function<Status()>& ask);

// Shows progress until the job has ended. A master that goes away is looked for again for
// kMasterGraceSeconds: a restart of the master is no failure of the job. still_possible, asked about
// twice a second, ends the wait with its error (a local cluster that died).
Result<JobStatus> Follow(Client& client, JobId id, const Settings& settings,
                         const std::function<Status()>& still_possible);
inline constexpr int kMasterGraceSeconds = 30;

// One line for success, at most ten for anything else. Pure. master: for the commands it names;
// empty: no cluster is left to ask, and `next` is what can be done then. A job without an output_uri wrote to standard
// output.
std::string EndText(const JobStatus& job, const std::string& master, const std::string& next = "");
// The same as an error for JSON. REQUIRES: the job did not succeed.
Failure EndFailure(const JobStatus& job, const std::string& master, const std::string& next = "");

// Adds to an interrupt or timeout that the job goes on, and how to get back to it.
Status GoesOn(const Status& status, JobId id, const std::string& master);

// "mrctl " with --master where that is not the default.
std::string CommandPrefix(const std::string& master);

}  // namespace mr::ctl
