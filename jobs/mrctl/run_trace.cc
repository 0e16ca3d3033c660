// mrctl trace: prints an ended job's history as trace events on standard output.
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/trace.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {

// The result is JSON for every -o.
Result<int> RunTrace(const Command& command, const Settings& settings) {
  if (command.args.size() != 1) return InvalidArgument("trace takes one job");
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(client, command.args[0]));
  MR_ASSIGN_OR_RETURN(const JobHistory history, client.History(id));
  // Reasons of a job that ended long ago are no longer kept; the times of its attempts may be.
  auto attempts = client.Attempts(id);
  if (!attempts.ok() && attempts.status().code() != Code::kNotFound) return attempts.status();
  auto decisions = client.Decisions(id);
  if (!decisions.ok() && decisions.status().code() != Code::kNotFound) return decisions.status();
  MR_ASSIGN_OR_RETURN(const auto workers, client.Workers());
  MR_ASSIGN_OR_RETURN(
      const std::string trace,
      TraceJson(id, history.head + history.text, attempts.ok() ? *attempts : std::vector<AttemptStatus>(),
                decisions.ok() ? *decisions : std::vector<DecisionStatus>(), workers));
  Print(trace);
  return kExitOk;
}

}  // namespace mr::ctl
