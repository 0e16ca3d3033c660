// mrctl report: prints the report of a job as a page, or as JSON.
#include <unistd.h>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/read_run.h"
#include "jobs/mrctl/run_source.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

Result<int> RunReport(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("report takes one job");
  const std::string& name = command.args[0];
  const bool page = settings.form == OutputForm::kTable;
  if (page && isatty(STDOUT_FILENO) == 1) {
    return WithHint(InvalidArgument("a report is a page for a browser, not for a terminal"),
                    "mrctl report " + name + " > " + name + ".html");
  }
  MR_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(name, settings));
  MR_ASSIGN_OR_RETURN(const report::JobRun run, source.Run());
  Print(page ? PageOf(run) : DocumentOf(run));
  return kExitOk;
}

}  // namespace mr::ctl
