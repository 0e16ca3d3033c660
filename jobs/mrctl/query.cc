// Commands that ask a master about jobs and workers.
#include <cstdio>

#include "common/base/text.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

Result<JobId> JobIdOf(const std::string& text) {
  const auto id = ParseJobId(text);
  if (!id.has_value()) return WithHint(InvalidArgument("'" + text + "' is not a job id, as job_1_0001"), "mrctl jobs lists them");
  return *id;
}

Result<int> SetJob(JobId id, const Command& command, const Settings& settings) {
  if (!command.priority && command.deadline.empty()) {
    return WithHint(InvalidArgument("nothing to set is given"), "add --priority or --deadline");
  }
  std::optional<uint64_t> deadline_ms;
  if (command.deadline == "none") deadline_ms = 0;
  else if (!command.deadline.empty()) {
    auto deadline = ParseDuration(command.deadline);
    if (!deadline.ok()) return deadline.status().With("--deadline");
    if (deadline->millis() == 0) return InvalidArgument("--deadline must be at least 1ms, or none");
    deadline_ms = static_cast<uint64_t>(deadline->millis());
  }
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const std::string warning, client.SetJob(id, command.priority, deadline_ms));
  if (settings.quiet) return kExitOk;
  std::fprintf(stderr, "%s is set\n", Name(id).c_str());
  if (!warning.empty()) std::fprintf(stderr, "warning: %s\n", warning.c_str());
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  if (deadline_ms && *deadline_ms > 0 && info.policies.find("jockey") == std::string::npos) {
    std::fprintf(stderr, "this master does not steer by deadlines: its --scheduler is '%s', without jockey\n",
                 info.policies.c_str());
  }
  return kExitOk;
}

Result<int> RunJob(const Command& command, const Settings& settings) {
  std::string text;
  for (const std::string& word : command.args) MR_RETURN_IF_ERROR(JobIdOf(word).status());
  if (command.args.size() != 1) return InvalidArgument("job " + command.sub + " takes one job id");
  MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(command.args[0]));
  if (command.sub == "set") return SetJob(id, command, settings);
  Client client(settings.master);
  const OutputForm form = settings.form;
  if (command.sub == "tasks") {
    MR_ASSIGN_OR_RETURN(const auto tasks, client.Tasks(id));
    text = RenderTasks(tasks, form);
  } else if (command.sub == "attempts") {
    MR_ASSIGN_OR_RETURN(const auto attempts, client.Attempts(id));
    text = RenderAttempts(attempts, form);
  } else if (command.sub == "counters") {
    MR_ASSIGN_OR_RETURN(const auto counters, client.Counters(id));
    text = RenderCounters(counters, form);
  } else {
    MR_ASSIGN_OR_RETURN(const JobStatus job, client.Job(id));
    text = command.sub == "stages" ? RenderStages(job, form) : RenderJob(job, form);
  }
  Print(text);
  return kExitOk;
}

// wait says nothing until the end; attach shows progress.
Result<int> RunWait(const Command& command, Settings settings) {
  if (command.verb == "wait") settings.progress = false;
  int exit = kExitOk;
  for (const std::string& word : command.args) {
    MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(word));
    Client client(settings.master);
    auto end = Follow(client, id, settings, [] { return Status::Ok(); });
    if (!end.ok()) return GoesOn(end.status(), id, settings.master);
    const bool succeeded = end->state == JobState::kSucceeded;
    if (settings.form != OutputForm::kTable) {
      const Failure failure = succeeded ? Failure{} : EndFailure(*end, settings.master);
      Print(SubmitJson(*end, settings.form, succeeded ? nullptr : &failure));
    } else if (!succeeded) {
      std::fputs(EndText(*end, settings.master).c_str(), stderr);
    } else if (!settings.quiet) {
      Print(EndText(*end, settings.master));
    }
    if (exit == kExitOk) exit = ExitOf(*end);
  }
  return exit;
}

Result<int> RunKill(const Command& command, const Settings& settings) {
  std::vector<JobId> ids;
  for (const std::string& word : command.args) {
    MR_ASSIGN_OR_RETURN(const JobId id, JobIdOf(word));
    ids.push_back(id);
  }
  Client client(settings.master);
  for (const JobId id : ids) {
    MR_RETURN_IF_ERROR(client.Kill(id, command.why.empty() ? "killed by mrctl kill" : command.why));
    if (!settings.quiet) std::fprintf(stderr, "%s is being killed\n", Name(id).c_str());
  }
  return kExitOk;
}

Result<int> RunWhy(const Command& command, const Settings& settings) {
  Client client(settings.master);
  for (const std::string& word : command.args) {
    MR_ASSIGN_OR_RETURN(const auto lines, client.Why(word));
    std::string text;
    for (const std::string& line : lines) text += line + "\n";
    Print(settings.form == OutputForm::kTable ? text : JsonLines("why", word, lines));
  }
  return kExitOk;
}

Result<int> RunVersion(const Settings& settings) {
  Client client(settings.master);
  auto info = client.Info();
  if (!info.ok() && info.status().code() != Code::kUnavailable) return info.status();
  // Without a master it is still an answer.
  Print(RenderVersion(kVersion, info.ok() ? &*info : nullptr,
                      info.ok() ? "" : "none at " + settings.master, settings.form));
  return kExitOk;
}

Result<int> RunQueues(const Command& command, const Settings& settings) {
  Client client(settings.master);
  if (command.verb == "queues") {
    MR_ASSIGN_OR_RETURN(const auto queues, client.Queues());
    Print(RenderQueues(queues, settings.form));
    return kExitOk;
  }
  if (!command.weight && !command.min_share && !command.max_share) {
    return WithHint(InvalidArgument("nothing to set is given"), "add --weight, --min-share or --max-share");
  }
  if (command.weight && !(*command.weight > 0)) return InvalidArgument("--weight must be above 0");
  const std::string& queue = command.args.at(0);
  MR_RETURN_IF_ERROR(client.SetQueue(queue, command.weight, command.min_share, command.max_share));
  if (settings.quiet) return kExitOk;
  MR_ASSIGN_OR_RETURN(const MasterInfo info, client.Info());
  std::fprintf(stderr, "queue %s is set\n", queue.c_str());
  if (info.policies.find("fair") == std::string::npos) {
    std::fprintf(stderr, "this master does not look at queues: its --scheduler is '%s', without fair\n", info.policies.c_str());
  }
  return kExitOk;
}

}  // namespace

Result<int> RunJobVerb(const Command& command, const Settings& settings) {
  if (command.verb == "job") return RunJob(command, settings);
  if (command.verb == "wait" || command.verb == "attach") return RunWait(command, settings);
  if (command.verb == "kill") return RunKill(command, settings);
  if (command.verb == "why") return RunWhy(command, settings);
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto jobs, client.Jobs());
  Print(RenderJobs(jobs, settings.form));
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
  if (command.verb == "worker") {
    const bool on = command.sub == "drain";
    Client client(settings.master);
    for (const std::string& word : command.args) {
      const auto id = ParseWorkerId(word);
      if (!id.has_value()) return WithHint(InvalidArgument("'" + word + "' is not a worker, as w1"), "mrctl workers lists them");
      MR_RETURN_IF_ERROR(client.Drain(*id, on));
      if (!settings.quiet) std::fprintf(stderr, "%s %s\n", word.c_str(), on ? "is draining" : "takes work again");
    }
    return kExitOk;
  }
  if (command.verb == "queues" || command.verb == "queue") return RunQueues(command, settings);
  Client client(settings.master);
  MR_ASSIGN_OR_RETURN(const auto workers, client.Workers());
  Print(RenderWorkers(workers, settings.form));
  return kExitOk;
}

}  // namespace mr::ctl
