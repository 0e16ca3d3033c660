// mrctl sdk: new, check.

#include <algorithm>

#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/help.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/sdk_check.h"
#include "jobs/mrctl/sdk_new.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/verbs.h"

namespace mr::ctl {
namespace {

Result<int> New(const Command& command, const Settings& settings) {
  const std::string& name = command.args[0];
  MR_RETURN_IF_ERROR(CheckProjectName(name));
  const std::string directory = command.args.size() > 1 ? command.args[1] : name;
  const std::string sdk = FindSdk();
  MR_ASSIGN_OR_RETURN(const auto files, ProjectFiles(name, sdk, command.project_template));
  MR_RETURN_IF_ERROR(WriteProject(directory, files));
  if (settings.form != OutputForm::kTable) {
    Print(JsonProject(name, directory, files, settings.form));
    return kExitOk;
  }
  std::string text;
  for (const ProjectFile& file : files) text += directory + "/" + file.name + "\n";
  Print(text);
  if (settings.quiet) return kExitOk;
  if (sdk.empty())
    PrintErr("the SDK is not beside mrctl: give cmake -DPaceline_DIR=<directory of PacelineConfig.cmake>\n");
  const auto builtin = BuiltinJobList();
  if (std::any_of(builtin.begin(), builtin.end(), [&](const BuiltinJob& job) { return job.name == name; })) {
    PrintErr("note: '" + name + "' is also the name of a built-in job, which submit runs without --lib\n");
  }
  const std::string build = directory + "/build";
  PrintErr("build and test it: cmake -S " + directory + " -B " + build + " && cmake --build " + build +
           " && ctest --test-dir " + build + "\n");
  if (!sdk.empty()) PrintErr("other projects find the SDK with cmake -DPaceline_DIR=" + sdk + "\n");
  return kExitOk;
}

Result<int> CheckOne(const Command& command, const Settings& settings) {
  MR_ASSIGN_OR_RETURN(const LibraryReport report, CheckLibrary(command.args[0]));
  Print(RenderLibrary(report, settings.form));
  if (settings.form == OutputForm::kTable) {
    for (const std::string& warning : report.warnings) PrintErr("mrctl: " + warning + "\n");
    for (const std::string& problem : report.problems) {
      PrintErr("mrctl: " + report.path + " " + problem + "\n");
    }
  }
  return report.problems.empty() ? kExitOk : kExitUsage;
}

}  // namespace

Result<int> RunSdk(const Command& command, const Settings& settings) {
  return command.sub == "new" ? New(command, settings) : CheckOne(command, settings);
}

}  // namespace mr::ctl
