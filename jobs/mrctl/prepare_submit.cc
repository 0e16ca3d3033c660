#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "common/base/text.h"
#include "common/io/files.h"
#include "common/report/job_run.h"
#include "jobs/mrctl/argv_split.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/help.h"
#include "jobs/mrctl/submit.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/uri.h"

namespace mr::ctl {
namespace {

// Returns the job's name for a job file with steps: "errors" for "jobs/errors.toml".
std::string NameOfFile(const std::string& file) {
  const std::string base = file.substr(file.rfind('/') + 1);
  return base == "-" ? "steps" : base.substr(0, base.rfind('.'));
}

// Finds local inputs before daemons start, so that a typing error costs no second.
Status CheckLocalInput(const std::string& uri) {
  const std::string path = UriPath(uri);
  struct stat info {};
  if (lstat(path.c_str(), &info) == 0) return Status::Ok();
  const int error = errno;
  if (path.find_first_of("*?[") == std::string::npos) {
    if (error == EACCES)
      return ErrnoStatus(error, "input " + path + " cannot be read: a directory above it may not be entered");
    return NotFound("input " + path + " does not exist");
  }
  glob_t found{};
  const int result = glob(path.c_str(), 0, nullptr, &found);
  globfree(&found);
  if (result == 0) return Status::Ok();
  // A directory that may not be listed is not an empty one.
  const std::string directory = ParentOf(path.substr(0, path.find_first_of("*?[")) + "x");
  const auto names = ListDirectory(directory);
  if (!names.ok() && names.status().code() == Code::kNotAllowed) return names.status().With("input " + path);
  return WithHint(NotFound("no input matches " + path),
                  names.ok() ? "`ls " + directory + "` shows what is there" : "there is no directory " + directory);
}

Result<std::string> ResolveInput(const std::string& word, bool local, BarePath bare, const std::string& cwd) {
  MR_ASSIGN_OR_RETURN(std::string uri, ResolveInputUri(word, bare, cwd));
  if (local && IsDfsUri(uri))
    return InvalidArgument(word + ": a local cluster starts with an empty block store; use a local file");
  if (local && !IsUrl(uri)) MR_RETURN_IF_ERROR(CheckLocalInput(uri));
  return uri;
}

// Returns all errors in one, with the code of the first.
Status Together(const std::vector<Status>& wrong) {
  if (wrong.empty()) return Status::Ok();
  if (wrong.size() == 1) return wrong[0];
  std::string text;
  for (const Status& status : wrong) text += (text.empty() ? "" : "\n  ") + ToFailure(status).message;
  return {wrong[0].code(), text};
}

Status CheckLocalOutput(const SpecOptions& spec) {
  if (spec.overwrite) return Status::Ok();
  const std::string path = UriPath(spec.output_uri);
  if (!PathExists(path)) return Status::Ok();
  auto names = ListDirectory(path);
  if (names.ok() && names->empty()) return Status::Ok();
  return WithHint(Rejected("output " + path + " exists" + (names.ok() ? " and is not empty" : " and is no directory")),
                  names.ok() ? "name another, remove it, or give --overwrite" : "name another, or remove it");
}

// Finds a mistyped built-in job before anything else that is wrong with its options.
Status CheckJobName(const SubmitOptions& o) {
  if (!o.lib.empty() || !o.steps.empty()) return Status::Ok();
  std::vector<std::string_view> names;
  std::string all;
  for (const BuiltinJob& job : BuiltinJobList()) {
    if (o.job == job.name) return Status::Ok();
    if (!job.shown) continue;
    names.emplace_back(job.name);
    all += (all.empty() ? "" : ", ") + std::string(job.name);
  }
  return WithHint(InvalidArgument("there is no job '" + o.job + "'" + DidYouMean(o.job, names) + "; there are " + all),
                  "a job of your own needs --lib, or is a .toml or .json file");
}

Status CheckTogether(const SubmitOptions& o, const Settings& settings) {
  if (o.local > 0 && o.detach)
    return InvalidArgument("--local and --detach exclude each other: the local cluster ends with mrctl");
  if (!o.keep_logs.empty() && o.local == 0) {
    return WithHint(InvalidArgument("--keep-logs needs --local: a cluster keeps its logs"),
                    "mrctl logs JOB shows them");
  }
  if (o.strict_deadline && o.deadline.empty()) return InvalidArgument("--strict-deadline needs --deadline");
  if (o.best_effort && o.deadline.empty()) return InvalidArgument("--best-effort needs --deadline");
  if (o.output == "-" && o.detach) return InvalidArgument("--output - and --detach exclude each other");
  const bool to_stdout = o.output == "-" || (o.output.empty() && o.local > 0);
  if (to_stdout && settings.form != OutputForm::kTable && !o.dry_run) {
    return InvalidArgument("-o json and a result on standard output exclude each other: give --output a directory");
  }
  if (const int flags = fcntl(STDOUT_FILENO, F_GETFL);
      to_stdout && !o.dry_run && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)) {
    return WithHint(InvalidArgument("the result goes to standard output, which is closed; nothing was run"),
                    "give --output a directory");
  }
  if (o.output.empty() && o.local == 0 && !o.dry_run) {
    return WithHint(InvalidArgument("--output is missing"),
                    "give a directory of the block store, such as --output /out, or - for standard output");
  }
  return Status::Ok();
}

Status SetNumbers(const SubmitOptions& o, SpecOptions* spec) {
  if (!o.memory.empty()) {
    auto bytes = ParseSize(o.memory);
    if (!bytes.ok()) return bytes.status().With("--memory");
    spec->memory_bytes = *bytes;
  }
  if (!o.deadline.empty()) {
    auto deadline = ParseDuration(o.deadline);
    if (!deadline.ok()) return deadline.status().With("--deadline");
    if (deadline->millis() == 0) return InvalidArgument("--deadline must be at least 1ms");
    spec->deadline_ms = static_cast<uint64_t>(deadline->millis());
  }
  spec->best_effort = o.best_effort;
  spec->strict_inputs = o.strict_inputs;
  spec->allow_network = o.allow_network;
  MR_ASSIGN_OR_RETURN(spec->speculation, ParseWish(o.speculation, "--speculation"));
  MR_ASSIGN_OR_RETURN(spec->clones, ParseWish(o.clone, "--clone"));
  MR_ASSIGN_OR_RETURN(spec->conf, ParseKeyValues(o.conf, "--conf"));
  MR_ASSIGN_OR_RETURN(spec->env, ParseKeyValues(o.env, "--env"));
  MR_ASSIGN_OR_RETURN(spec->labels, ParseKeyValues(o.labels, "--label"));
  const auto own = [](const auto& label) { return label.key == report::kArgumentsLabel; };
  if (!o.job_args.empty() && std::none_of(spec->labels.begin(), spec->labels.end(), own)) {
    constexpr size_t kMostBytes = 1000;  // a guess: reports show as many
    std::string words = ShellWords(o.job_args);
    if (words.size() > kMostBytes) words.replace(kMostBytes - 4, std::string::npos, " ...");
    spec->labels.push_back({report::kArgumentsLabel, std::move(words)});
  }
  return Status::Ok();
}

}  // namespace

Result<SubmitPlan> PrepareSubmit(SubmitOptions o, const Settings& settings, const std::string& cwd) {
  MR_RETURN_IF_ERROR(CheckJobName(o));
  MR_RETURN_IF_ERROR(CheckTogether(o, settings));
  SubmitPlan plan;
  SpecOptions& spec = plan.spec;
  MR_RETURN_IF_ERROR(SetNumbers(o, &spec));
  std::vector<std::string> of_job;
  for (const auto& [key, value] : spec.conf) {
    if (IsConfOfTheJob(key)) of_job.insert(of_job.end(), {"--conf", key + "=" + value});
  }
  if (!o.steps.empty() && !of_job.empty()) {
    return InvalidArgument("conf " + of_job[1] +
                           " is no setting of the engine, and it is unknown which step it belongs to: " +
                           "write it in the args of that step, as [\"--conf\", \"" + of_job[1] + "\"]");
  }
  std::erase_if(spec.conf, [](const auto& pair) { return IsConfOfTheJob(pair.key); });
  o.job_args.insert(o.job_args.begin(), of_job.begin(), of_job.end());
  const bool local = o.local > 0;
  const BarePath bare = local ? BarePath::kLocalFile : BarePath::kBlockStore;
  spec.bare_is_local = local;
  spec.cwd = cwd;
  std::vector<Status> wrong;  // inputs
  for (size_t i = 0; i < o.inputs.size(); ++i) {
    if (o.inputs[i] == "-") {
      if (!local && o.dry_run)
        return WithHint(InvalidArgument("explain does not read standard input"),
                        "copy it into the block store first: mrctl fs put - /path");
      if (o.job == "-") return InvalidArgument("JOB and --input cannot both be standard input");
      if (plan.stdin_input) return InvalidArgument("--input - can be given once");
      plan.stdin_input = true;
      plan.stdin_index = i;
      spec.inputs.emplace_back();
      continue;
    }
    auto uri = ResolveInput(o.inputs[i], local, bare, cwd);
    if (!uri.ok()) wrong.push_back(uri.status());
    spec.inputs.push_back(uri.ok() ? *std::move(uri) : "");
  }
  for (JobStep& step : o.steps) {
    for (std::string& word : step.inputs) {
      if (IsStepRef(word)) continue;
      auto uri = ResolveInput(word, local, bare, cwd);
      if (uri.ok())
        word = *std::move(uri);
      else
        wrong.push_back(uri.status().With("step '" + step.name + "'"));
    }
  }
  MR_RETURN_IF_ERROR(Together(wrong));
  plan.to_stdout = o.output == "-" || (o.output.empty() && local);
  if (!plan.to_stdout && !o.output.empty()) {
    MR_ASSIGN_OR_RETURN(spec.output_uri, ResolveUri(o.output, bare, cwd));
    spec.overwrite = o.overwrite;
    if (local && IsDfsUri(spec.output_uri))
      return InvalidArgument(o.output +
                             ": the block store of a local cluster is gone at its end; use a local directory");
    if (local) plan.refused = CheckLocalOutput(spec);
    if (!o.dry_run) MR_RETURN_IF_ERROR(plan.refused);
  }
  plan.own_library = !o.lib.empty();
  plan.library = plan.own_library ? (o.lib[0] == '/' ? o.lib : cwd + "/" + o.lib) : BuiltinLibrary();
  if (plan.own_library && !PathExists(plan.library))
    return InvalidArgument("operator library " + o.lib + " does not exist");
  spec.name = !o.name.empty() ? o.name : o.steps.empty() ? o.job : NameOfFile(o.job);
  spec.queue = o.queue.empty() ? settings.queue : o.queue;
  spec.priority = o.priority;
  spec.format = o.format;
  spec.output_format = o.output_format;
  spec.reduces = o.reduces.value_or(0);
  spec.map_only = o.reduces == 0u;
  spec.max_failures = o.max_attempts;
  spec.max_bad_records = o.max_bad_records;
  if (!o.task_timeout.empty()) {
    const auto timeout = o.task_timeout == "0" ? Result<Duration>(Duration{}) : ParseDuration(o.task_timeout);
    if (!timeout.ok()) return timeout.status().With("--task-timeout");
    spec.task_timeout_ms = static_cast<uint64_t>(timeout->millis());
  }
  MR_ASSIGN_OR_RETURN(spec.files, ParseSideFiles(o.files, cwd));
  MR_RETURN_IF_ERROR(CheckPolicyList(o.scheduler));
  // A local master uses the list as its own, so policies of cluster scope are allowed, too. "none" is a list of the
  // job.
  if (!local || o.scheduler == "none") spec.policies = SplitPolicies(o.scheduler);
  plan.options = std::move(o);
  return plan;
}

}  // namespace mr::ctl
