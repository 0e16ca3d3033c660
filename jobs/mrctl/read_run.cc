#include "jobs/mrctl/read_run.h"

#include "common/base/text.h"
#include "common/io/target_file.h"
#include "common/report/page.h"
#include "common/report/report.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"

namespace mr::ctl {

Result<report::JobRun> ReadRun(Client& client, JobId id, bool counters) {
  report::JobRun run;
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  run.release = info.version;
  run.policies = info.policies;
  run.taken_unix_ms = info.unix_ms;
  auto spec = client.Spec(id);
  // The connection has just answered: the method is missing.
  if (!spec.ok() && spec.status().code() == Code::kUnavailable) {
    return Rejected("the master at " + client.address() + " (" + info.version + ") is older than reports");
  }
  if (!spec.ok()) return spec.status();
  run.spec = *std::move(spec);
  MR_ASSIGN_OR_RETURN(run.workers, client.Workers());
  MR_ASSIGN_OR_RETURN(run.tasks, client.Tasks(id));
  MR_ASSIGN_OR_RETURN(run.attempts, client.Attempts(id));
  MR_ASSIGN_OR_RETURN(run.decisions, client.Decisions(id));
  std::vector<CounterValue> values;
  if (counters) {
    MR_ASSIGN_OR_RETURN(values, client.Counters(id));
  }
  MR_ASSIGN_OR_RETURN(run.job, client.Job(id));
  if (counters) run.job.counters = std::move(values);
  MR_ASSIGN_OR_RETURN(const std::vector<QueueStatus> queues, client.Queues());
  for (const QueueStatus& queue : queues) {
    if (queue.name == (run.job.queue.empty() ? "default" : run.job.queue)) run.queue_max_share = queue.max_share;
  }
  return run;
}

std::string DocumentOf(const report::JobRun& run) {
  return WithLocalNames(report::ReportJson(report::Report(run)), run.job.id, run.job.local_id);
}

std::string PageOf(const report::JobRun& run) {
  return report::ReportPage(Name(run.job) + " " + run.job.name, DocumentOf(run));
}

Status CheckReportFile(const std::string& path) {
  const Status can = CheckTarget(path);
  if (can.ok()) return Status::Ok();
  return WithHint(InvalidArgument("--report: " + can.message()),
                  "name a file that can be written (nothing has been run)");
}

Status WriteReport(Client& client, JobId id, const std::string& path) {
  auto run = ReadRun(client, id);
  if (!run.ok()) return run.status().With("cannot write the report");
  return WriteTarget(path, PageOf(*run)).With("cannot write the report");
}

}  // namespace mr::ctl
