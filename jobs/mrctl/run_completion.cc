// mrctl completion: prints the script with the names of the built-in jobs.

#include "jobs/mrctl/completion.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

Result<std::vector<JobWords>> BuiltinJobs() {
  MR_ASSIGN_OR_RETURN(const std::string json, StartCheck(BuiltinLibrary()).Finish());
  MR_ASSIGN_OR_RETURN(const LibraryInfo info, ParseLibraryInfo(json));
  std::vector<JobWords> jobs;
  for (const auto& job : info.jobs) jobs.push_back(WordsOfJob(job.name, job.help));
  return jobs;
}

}  // namespace

Result<int> RunCompletion(const Command& command, const Settings& settings) {
  auto jobs = BuiltinJobs();
  if (!jobs.ok() && !settings.quiet) {
    PrintErr("the script has no names of jobs: " + jobs.status().message() + "\n");
  }
  const std::string& shell = command.args.at(0);
  MR_ASSIGN_OR_RETURN(const std::string script, CompletionScript(shell, jobs.ok() ? *jobs : std::vector<JobWords>()));
  if (settings.form == OutputForm::kTable) {
    Print(script);
  } else {
    Print(JsonCompletion(shell, script, settings.form));
  }
  return kExitOk;
}

}  // namespace mr::ctl
