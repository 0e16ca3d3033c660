// Commands that query and change jobs, workers and queues.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "common/base/count.h"
#include "common/base/text.h"
#include "common/base/version.h"
#include "common/io/clock.h"
#include "common/report/report.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/job_filter.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/operate.h"
#include "jobs/mrctl/queue_note.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/run_source.h"
#include "jobs/mrctl/stack_text.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"
#include "jobs/mrctl/worker_ref.h"

namespace mr::ctl {
namespace {

Result<int> SetJob(const Command& command, const Settings& settings) {
  if (!command.priority && command.deadline.empty()) {
    return WithHint(InvalidArgument("there is nothing to set"), "add --priority or --deadline");
  }
  std::optional<uint64_t> deadline_ms;
  if (command.deadline == "none")
    deadline_ms = 0;
  else if (!command.deadline.empty()) {
    auto deadline = ParseDuration(command.deadline);
    if (!deadline.ok()) return deadline.status().With("--deadline");
    if (deadline->millis() == 0) return InvalidArgument("--deadline must be at least 1ms, or none");
    deadline_ms = static_cast<uint64_t>(deadline->millis());
  }
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(client, command.args[0]));
  MR_ASSIGN_OR_RETURN(const std::string warning, client.SetJob(id, command.priority, deadline_ms));
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  Done done{Name(id), "set", "", warning};
  Say(settings, Name(id) + " has been changed");
  if (!warning.empty()) Say(settings, "warning: " + warning);
  if (deadline_ms && *deadline_ms > 0 && info.ignores_deadlines) {
    const std::string note =
        "this master ignores deadlines: no policy of its --scheduler, '" + info.policies + "', steers by them";
    Say(settings, note);
    done.note += (done.note.empty() ? "" : "; ") + note;
  }
  PrintDone({done}, settings);
  return kExitOk;
}

Result<int> RunJob(const Command& command, const Settings& settings) {
  std::string text;
  if (command.args.size() != 1) return InvalidArgument("job " + command.sub + " takes one job");
  if (command.sub == "set") return SetJob(command, settings);
  MR_ASSIGN_OR_RETURN(RunSource source, RunSource::Open(command.args[0], settings));
  const OutputForm form = settings.form;
  if (command.sub == "tasks") {
    MR_ASSIGN_OR_RETURN(const auto tasks, source.Tasks());
    text = RenderTasks(tasks, form);
  } else if (command.sub == "attempts") {
    MR_ASSIGN_OR_RETURN(const auto attempts, source.Attempts());
    text = RenderAttempts(attempts, form);
  } else if (command.sub == "counters") {
    MR_ASSIGN_OR_RETURN(const auto counters, source.Counters());
    text = RenderCounters(counters, form);
  } else {
    MR_ASSIGN_OR_RETURN(const JobStatus job, source.Job());
    if (command.sub == "stages") {
      text = RenderStages(job, form);
    } else {
      const auto spec = source.Spec();  // a master may have forgotten it, or be older
      text = RenderJob(job, form, spec.ok() ? &*spec : nullptr);
    }
  }
  Print(text);
  return kExitOk;
}

// wait prints nothing until the end; attach shows progress.
Result<int> RunWait(const Command& command, Settings settings) {
  if (command.verb == "wait") settings.progress = false;
  std::vector<JobStatus> ended;
  std::optional<Failure> first_failure;
  std::vector<JobId> ids;
  Client client(settings.master);
  const auto find = [&]() -> Status {
    MR_ASSIGN_OR_RETURN(ids, JobIdsOf(client, command.args));
    return Status::Ok();
  };
  // A name is looked up at the master, which may be away as later.
  Status found = find();
  if (found.code() == Code::kUnavailable) found = TryAgain(client, found, settings, find);
  MR_RETURN_IF_ERROR(found);
  for (const JobId id : ids) {
    auto end = Follow(client, id, settings, [] { return Status::Ok(); });
    if (!end.ok()) return GoesOn(end.status(), id, settings.master);
    const bool succeeded = end->state == JobState::kSucceeded;
    ended.push_back(*end);
    if (settings.form != OutputForm::kTable) {
      if (!succeeded && !first_failure.has_value()) first_failure = EndFailure(*end, settings.master);
    } else if (!succeeded) {
      PrintErr(EndText(*end, settings.master));
    } else if (!settings.quiet) {
      Print(EndText(*end, settings.master));
    }
  }
  if (settings.form != OutputForm::kTable) {
    Print(JsonWaited(ended, settings.form, first_failure.has_value() ? &*first_failure : nullptr));
  }
  return ExitOf(ended);
}

// Returns " (alice on lab-1)", as far as it is known, for other users of the cluster.
std::string ByWhom() {
  const char* user = std::getenv("USER");
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
  const std::string name = user == nullptr ? "" : user, on = host;
  if (name.empty() && on.empty()) return "";
  return " (" + name + (name.empty() || on.empty() ? "" : " ") + (on.empty() ? "" : "on " + on) + ")";
}

Result<int> RunKill(const Command& command, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto ids, JobIdsOf(client, command.args));
  std::vector<Done> done;
  Status failed;
  for (const JobId id : ids) {
    const Status killed = client.Kill(id, command.why.empty() ? "killed by mrctl kill" + ByWhom() : command.why);
    if (killed.ok()) {
      done.push_back({Name(id), "kill", "", ""});
      Say(settings, Name(id) + " is being killed");
    } else if (failed.ok()) {
      failed = killed;  // the others are killed all the same
    } else {
      Say(settings, ToFailure(killed).message);
    }
  }
  MR_RETURN_IF_ERROR(failed);
  PrintDone(done, settings);
  return kExitOk;
}

// Returns the five lines about a job. None if it ended so long ago that its attempts are forgotten, or if the master is
// older than reports: it then has an answer of its own.
Result<std::vector<std::string>> SummaryOf(RunSource& source, bool all_stages) {
  auto run = source.Run(false);
  if (run.ok()) {
    std::vector<std::string> lines = report::Summary(report::Report(*run), all_stages);
    for (std::string& line : lines) line = WithLocalNames(line, run->job.id, run->job.local_id);
    return lines;
  }
  const Code code = run.status().code();
  if (code == Code::kNotFound || code == Code::kRejected) return std::vector<std::string>();
  return run.status();
}

// Adds the stack of a crash, or of an operator without progress, from the attempt's log. Adds nothing if no log is
// left.
void AddStack(const Settings& settings, AttemptId attempt, std::vector<std::string>* lines) {
  const auto log = Client(settings.master).Logs(attempt);
  if (!log.ok()) return;
  for (const std::string& line : StackOf(log->text).lines) lines->push_back(TerminalText(line));
}

// Prints five lines about a job, with -v all that the master knows; all about a task, an attempt or a worker.
Result<int> RunWhy(const Command& command, const Settings& settings) {
  std::vector<Reasons> why;
  for (const std::string& word : command.args) {
    std::optional<RunSource> source;
    if (const auto part = ParseLocalPart(word)) {
      MR_ASSIGN_OR_RETURN(RunSource run, RunSource::Open(word, settings));
      MR_ASSIGN_OR_RETURN(const auto lines, run.Why(*part));
      why.push_back({word, {}, lines});
      if (settings.form != OutputForm::kTable) continue;
      for (const std::string& line : lines) Print(line + "\n");
      continue;
    }
    bool is_worker = ParseWorkerId(word).has_value();
    std::string name = word;
    if (!word.starts_with("task_") && !word.starts_with("attempt_") && !is_worker) {
      auto run = RunSource::Open(word, settings);
      if (run.status().code() == Code::kNotFound) {
        // No job has this name: perhaps a worker has.
        Client client(settings.master);
        const auto worker = FindWorkers(client, {word});
        if (!worker.ok()) return run.status();
        is_worker = true;
        name = Name(worker->front().id);
      } else if (!run.ok()) {
        return run.status();
      } else {
        source = *std::move(run);
        name = source->name();
      }
    }
    Reasons reasons{name, {}, {}};
    if (source) {
      MR_ASSIGN_OR_RETURN(reasons.summary, SummaryOf(*source, settings.verbose));
    }
    const bool all = reasons.summary.empty() || settings.verbose || settings.form != OutputForm::kTable;
    if (all) {
      MR_ASSIGN_OR_RETURN(reasons.lines, source ? source->Why() : Client(settings.master).Why(name));
    }
    if (const auto attempt = ParseAttemptId(word)) AddStack(settings, *attempt, &reasons.lines);
    why.push_back(std::move(reasons));
    if (settings.form != OutputForm::kTable) continue;
    for (const std::string& line : why.back().summary) Print(line + "\n");
    if (is_worker && !settings.verbose)
      why.back().lines = NewestOfWorker(why.back().lines, CommandPrefix(settings.master) + "-v why " + word);
    for (const std::string& line : why.back().lines) Print(line + "\n");
    if (source && all && !source->recorded()) {
      Say(settings, "Launches and kills: mrctl why TASK or ATTEMPT; mrctl job tasks " + name +
                        " and mrctl job attempts " + name + " list their names");
    }
  }
  if (settings.form != OutputForm::kTable) Print(JsonWhy(why, settings.form));
  return kExitOk;
}

// Lists jobs as the master has them: by id, so the newest is the last.
// Prints the newest of the ended jobs, and on stderr how many are left out.
void PrintHistory(const std::vector<JobStatus>& jobs, const Command& command, const Settings& settings) {
  const auto shown = EndedJobs(jobs, command.limit);
  const size_t all = EndedJobs(jobs, SIZE_MAX).size();
  Print(RenderHistory(shown, settings.form));
  if (shown.size() < all) {
    Say(settings, std::to_string(shown.size()) + " of " + CountOf(all, "job") + (shown.size() == 1 ? " is" : " are") +
                      " shown: --limit " + std::to_string(all) + " shows all");
  }
}

Result<int> ListJobs(const Command& command, const Settings& settings) {
  MR_ASSIGN_OR_RETURN(const JobFilter filter,
                      MakeJobFilter(command.states, command.name_glob, command.owner, command.since));
  Client client(settings.master);
  uint64_t now_ms = 0;
  if (filter.since) {
    MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
    now_ms = info.unix_ms != 0 ? info.unix_ms : WallClockMs();  // 0: an older master
  }
  MR_ASSIGN_OR_RETURN(auto jobs, client.Jobs());
  jobs = FilterJobs(std::move(jobs), filter, now_ms);
  if (command.verb == "history")
    PrintHistory(jobs, command, settings);
  else
    Print(RenderJobs(jobs, settings.form));
  return kExitOk;
}

// Lists the recorded local runs: for history the newest first, for jobs the oldest first.
Result<int> ListLocalRuns(const Command& command, const Settings& settings) {
  const bool history = command.verb == "history";
  MR_ASSIGN_OR_RETURN(const JobFilter filter,
                      MakeJobFilter(command.states, command.name_glob, command.owner, command.since));
  const LocalRuns store(settings.runs_directory);
  if (command.keep) {
    MR_ASSIGN_OR_RETURN(const size_t removed, store.KeepNewest(*command.keep));
    Say(settings, CountOf(removed, "run was", "runs were") + " removed");
  }
  MR_ASSIGN_OR_RETURN(auto runs, store.List(SIZE_MAX));
  for (const std::string& line : runs.unreadable) Say(settings, "warning: " + line);
  runs.jobs = FilterJobs(std::move(runs.jobs), filter, WallClockMs());
  if (history) {
    PrintHistory(runs.jobs, command, settings);
    return kExitOk;
  }
  std::reverse(runs.jobs.begin(), runs.jobs.end());
  Print(RenderJobs(runs.jobs, settings.form));
  return kExitOk;
}

Result<int> RunVersion(const Settings& settings) {
  Client client(settings.master);
  auto info = client.Info();
  if (!info.ok() && info.status().code() != Code::kUnavailable) return info.status();
  // Prints mrctl's own version also without a master.
  Print(RenderVersion(kVersion, info.ok() ? &*info : nullptr, info.ok() ? "" : "none at " + settings.master,
                      settings.form));
  return kExitOk;
}

// Returns the queue that the command sets, as it was before: with default settings where it is new.
QueueStatus QueueBefore(const Command& command, const std::vector<QueueStatus>& known) {
  for (const QueueStatus& q : known) {
    if (q.name == command.args.at(0)) return q;
  }
  return {.name = command.args.at(0)};
}

QueueStatus QueueAfter(const Command& command, QueueStatus queue) {
  queue.weight = command.weight.value_or(queue.weight);
  queue.min_share = command.min_share.value_or(queue.min_share);
  queue.max_share = command.max_share.value_or(queue.max_share);
  return queue;
}

// Returns the notes on `queue set` (queue_note.h). known: the queues before it.
std::vector<std::string> NotesOnSet(const QueueStatus& now, const std::vector<QueueStatus>& known, Client* client,
                                    const Settings& settings) {
  uint64_t slots = 0;
  const auto workers = client->Workers();
  if (workers.ok()) {
    for (const WorkerStatus& w : *workers) slots += w.slots;
  }
  return QueueSetNotes(now, known, slots, CommandPrefix(settings.master));
}

Result<int> RunQueues(const Command& command, const Settings& settings) {
  Client client(settings.master);
  if (command.verb == "queues") {
    MR_ASSIGN_OR_RETURN(const auto queues, client.Queues());
    Print(RenderQueues(queues, settings.form));
    return kExitOk;
  }
  if (!command.weight && !command.min_share && !command.max_share) {
    return WithHint(InvalidArgument("queue set has nothing to change"),
                    "add --weight, --min-share or --max-share; mrctl queues shows what they are now");
  }
  if (command.weight && !(*command.weight > 0)) {
    return WithHint(InvalidArgument("--weight must be above 0; nothing was changed"),
                    "a weight of 0.5 gives half of what a queue with weight 1 gets");
  }
  const std::string& queue = command.args.at(0);
  MR_ASSIGN_OR_RETURN(const auto known, client.Queues());
  MR_RETURN_IF_ERROR(client.SetQueue(queue, command.weight, command.min_share, command.max_share));
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  Done done{queue, "set", "", ""};
  const QueueStatus before = QueueBefore(command, known), now = QueueAfter(command, before);
  const QueueOptions set{command.weight.has_value(), command.min_share.has_value(), command.max_share.has_value()};
  Say(settings, QueueChange(before, now, set));
  for (const std::string& note : NotesOnSet(now, known, &client, settings)) {
    Say(settings, "note: " + note);
    done.note += (done.note.empty() ? "" : "; ") + note;
  }
  if (info.ignores_queues) {
    done.note = "this master ignores queues: no policy of its --scheduler, '" + info.policies + "', shares by them";
    Say(settings, done.note);
  }
  PrintDone({done}, settings);
  return kExitOk;
}

}  // namespace

void Say(const Settings& settings, const std::string& line) {
  if (!settings.quiet && settings.form == OutputForm::kTable) PrintErr(line + "\n");
}

void PrintDone(const std::vector<Done>& done, const Settings& settings) {
  if (settings.form != OutputForm::kTable) Print(JsonDone(done, settings.form));
}

Result<int> RunJobVerb(const Command& command, const Settings& settings) {
  if (command.verb == "job") return RunJob(command, settings);
  if (command.verb == "wait" || command.verb == "attach") return RunWait(command, settings);
  if (command.verb == "kill") return RunKill(command, settings);
  if (command.verb == "why") return RunWhy(command, settings);
  if (command.local_runs) return ListLocalRuns(command, settings);
  if (command.keep) {
    return WithHint(InvalidArgument("--keep needs --local: a master keeps the records of its own jobs"),
                    "mrctl history --local --keep " + std::to_string(*command.keep));
  }
  return ListJobs(command, settings);
}

Result<int> RunConfig(const Command& command, const Settings& settings) {
  Print(RenderConfig(settings, command.show_origin));
  return kExitOk;
}

Result<int> RunProfile(const Command& command, const Settings& settings) {
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto profiles, client.Profiles(command.args.at(0)));
  Print(RenderProfiles(profiles, settings.form));
  return kExitOk;
}

Result<int> RunClusterVerb(const Command& command, const Settings& settings) {
  if (command.verb == "version") return RunVersion(settings);
  if (command.verb == "worker") return RunWorker(command, settings);
  if (command.verb == "queues" || command.verb == "queue") return RunQueues(command, settings);
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto workers, client.Workers());
  Print(RenderWorkers(workers, settings.form));
  return kExitOk;
}

}  // namespace mr::ctl
