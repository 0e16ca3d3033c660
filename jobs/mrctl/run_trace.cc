// mrctl trace: prints a job's attempts as trace events on standard output.
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/read_run.h"
#include "jobs/mrctl/trace.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

// The result is JSON for every -o.
Result<int> RunTrace(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("trace takes one job");
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(client, command.args[0]));
  MR_ASSIGN_OR_RETURN(const report::JobRun run, ReadRun(client, id, false));
  Print(TraceJson(run));
  return kExitOk;
}

}  // namespace mr::ctl
