// `mrctl worker`: shows workers and carries out what an operator decides about them. Drains: drain.cc.
#include <algorithm>

#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/worker_ref.h"

namespace mr::ctl {
namespace {

// Returns what has become of a worker that is no longer drained.
std::string AfterUndrain(Client& client, const NamedWorker& worker) {
  const auto workers = client.Workers();
  if (!workers.ok()) return worker.word + " is not drained any more";
  for (const WorkerStatus& w : *workers) {
    if (w.id != Name(worker.id) || w.state == "live") continue;
    return worker.word + " is not drained any more, but it is " + w.state +
           (w.state == "excluded" ? " (mrctl worker include " + worker.word + ")" : "");
  }
  return worker.word + " takes work again";
}

// Forgetting a worker ends its exclusion, too.
std::string AfterForget(const NamedWorker& worker) {
  return worker.word + " is forgotten; stop its mrworker: one that still runs registers again, not excluded (to keep " +
         "it out: mrctl token revoke worker:NAME)";
}

// undrain, exclude, include, forget.
Result<int> SetWorkers(const Command& command, const Settings& settings) {
  const std::string& sub = command.sub;
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto workers, FindWorkers(client, command.args));
  std::vector<Done> done;
  for (const NamedWorker& w : workers) {
    MR_RETURN_IF_ERROR(sub == "undrain"  ? client.Drain(w.id, false)
                       : sub == "forget" ? client.Forget(w.id, command.force)
                                         : client.Exclude(w.id, sub == "exclude"));
    done.push_back({w.word, sub, "", ""});
    Say(settings, sub == "undrain"   ? AfterUndrain(client, w)
                  : sub == "exclude" ? w.word + " is excluded: it counts as lost until it is included again"
                  : sub == "forget"  ? AfterForget(w)
                                     : w.word + " may register again; if it runs, it does so within seconds");
  }
  PrintDone(done, settings);
  return kExitOk;
}

// Shows workers and the attempts that run there, of jobs that have not ended.
Result<int> ShowWorkers(const Command& command, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto named, FindWorkers(client, command.args));
  MR_ASSIGN_OR_RETURN(const auto workers, client.Workers());
  MR_ASSIGN_OR_RETURN(const auto jobs, client.Jobs());
  std::vector<AttemptStatus> running;
  for (const JobStatus& job : jobs) {
    if (Ended(job.state)) continue;
    auto attempts = client.Attempts(job.id);
    if (!attempts.ok() && attempts.status().code() == Code::kNotFound) continue;  // the job ended meanwhile
    if (!attempts.ok()) return attempts.status();
    for (AttemptStatus& a : *attempts) {
      if (Runs(a)) running.push_back(std::move(a));
    }
  }
  std::vector<WorkerShown> shown;
  for (const NamedWorker& want : named) {
    const std::string id = Name(want.id);
    const auto at = std::find_if(workers.begin(), workers.end(), [&](const WorkerStatus& w) { return w.id == id; });
    if (at == workers.end()) return WithHint(NotFound("there is no worker " + want.word), "mrctl workers lists them");
    WorkerShown w{*at, {}, {}, {}};
    MR_ASSIGN_OR_RETURN(w.why, client.Why(id));
    if (settings.form == OutputForm::kTable && !settings.verbose)
      w.why = NewestOfWorker(w.why, CommandPrefix(settings.master) + "-v worker show " + want.word);
    if (at->state == "draining") {
      MR_ASSIGN_OR_RETURN(w.drain, client.DrainStatus(want.id));
    }
    for (const AttemptStatus& a : running) {
      if (a.worker == id) w.running.push_back(a);
    }
    shown.push_back(std::move(w));
  }
  Print(RenderWorkersShown(shown, settings.form));
  return kExitOk;
}

}  // namespace

Result<int> RunWorker(const Command& command, const Settings& settings) {
  if (command.sub == "drain") return RunDrain(command, settings);
  return command.sub == "show" ? ShowWorkers(command, settings) : SetWorkers(command, settings);
}

}  // namespace mr::ctl
