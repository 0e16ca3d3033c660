// mrctl trace: prints a job's attempts as trace events on standard output.
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/run_source.h"
#include "jobs/mrctl/trace.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

// The result is JSON for every -o.
Result<int> RunTrace(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("trace takes one job");
  MR_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(command.args[0], settings));
  MR_ASSIGN_OR_RETURN(const report::JobRun run, source.Run(false));
  Print(WithLocalNames(TraceJson(run), run.job.id, run.job.local_id));
  return kExitOk;
}

}  // namespace mr::ctl
