#include "jobs/mrctl/read_run.h"

#include "common/base/text.h"
#include "common/io/target_file.h"
#include "common/report/page.h"
#include "common/report/report.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/local_names.h"

namespace mr::ctl {
namespace {

// Returns as much of a job's spec as its status shows, for a caller who may see the job and not its data: names of the
// stages, and which of them read others. The report has no edges, operators and options then.
JobSpec SpecOfStatus(const report::JobRun& run) {
  JobSpec spec;
  spec.name = run.job.name;
  spec.task_timeout = {};
  spec.stages.resize(run.job.stages.size());
  for (size_t s = 0; s < spec.stages.size(); ++s) spec.stages[s].name = run.job.stages[s].name;
  for (const TaskStatus& task : run.tasks) {
    const bool reduce = task.id.find("_r_") != std::string::npos;
    if (!reduce || task.stage >= spec.stages.size() || !spec.stages[task.stage].inputs.empty()) continue;
    InputSpec earlier;
    earlier.is_edge = true;
    earlier.kind = EdgeKind::kManyToOne;
    earlier.stage = UINT32_MAX;
    spec.stages[task.stage].inputs.push_back(std::move(earlier));
  }
  return spec;
}

}  // namespace

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
  const bool shown = spec.status().code() != Code::kNotAllowed;
  if (!spec.ok() && shown) return spec.status();
  if (shown) run.spec = *std::move(spec);
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
  if (!shown) run.spec = SpecOfStatus(run);
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
