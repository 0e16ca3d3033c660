#include "jobs/mrctl/submit.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/io/sha256.h"
#include "common/io/target_file.h"
#include "jobs/mrctl/argv_split.h"
#include "jobs/mrctl/csv_stages.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/follow.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/help.h"
#include "jobs/mrctl/input_check.h"
#include "jobs/mrctl/input_sizes.h"
#include "jobs/mrctl/job_file.h"
#include "jobs/mrctl/last_job.h"
#include "jobs/mrctl/local_cluster.h"
#include "jobs/mrctl/local_end.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/local_parts.h"
#include "jobs/mrctl/local_record.h"
#include "jobs/mrctl/missing_input.h"
#include "jobs/mrctl/operator_use.h"
#include "jobs/mrctl/output_claim.h"
#include "jobs/mrctl/plan.h"
#include "jobs/mrctl/plan_cache.h"
#include "jobs/mrctl/queue_note.h"
#include "jobs/mrctl/read_run.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/scratch.h"
#include "jobs/mrctl/sdk_check.h"
#include "jobs/mrctl/side_files.h"
#include "jobs/mrctl/stdin_spool.h"
#include "jobs/mrctl/step_plans.h"
#include "jobs/mrctl/step_times.h"
#include "jobs/mrctl/stored_parts.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/type_check.h"
#include "jobs/mrctl/uri.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

// Returns the options that a job of a library declares in its plan function and that its help does not list, as lines.
std::string DeclaredOptions(const SubmitPlan& plan, const std::string& help) {
  if (!plan.own_library) return "";
  const auto made = StartPlan(plan.library, plan.options.job, {"--help"}, {}).Finish();
  const auto options = made.ok() ? std::nullopt : OptionsInRefusal(made.status().message());
  if (help.find('\n') != std::string::npos) {
    const std::string unlisted = UnlistedOptions(options.value_or(""), help);
    return unlisted.empty() ? "" : "\nFurther options:\n" + unlisted;
  }
  return "\n" + options.value_or(
                    "The job does not declare its options. Words behind the job, and all behind `--`, are "
                    "its arguments.\n");
}

// Prints the help of one job from its library.
Result<int> PrintJobHelp(const SubmitPlan& plan) {
  MR_ASSIGN_OR_RETURN(const std::string json, StartCheck(plan.library).Finish());
  MR_ASSIGN_OR_RETURN(const LibraryInfo info, ParseLibraryInfo(json));
  std::vector<std::string_view> names;
  for (const auto& job : info.jobs) {
    if (job.name == plan.options.job) {
      Print(JobHelp(job.name, job.help + DeclaredOptions(plan, job.help)));
      return kExitOk;
    }
    names.push_back(job.name);
  }
  return InvalidArgument("there is no job '" + plan.options.job + "'" + DidYouMean(plan.options.job, names));
}

Status UploadLibrary(Client& client, const std::string& path, std::string* sha256) {
  auto digest = Sha256File(path);
  if (!digest.ok()) return digest.status();
  *sha256 = *digest;
  MR_ASSIGN_OR_RETURN(const bool known, client.LibraryKnown(*sha256));
  return known ? Status::Ok() : client.PutLibrary(*sha256, path);
}

// Uploads the side files that the master does not have from an earlier job.
Status UploadSideFiles(Client& client, const std::vector<SideFile>& files) {
  for (const SideFile& file : files) {
    MR_ASSIGN_OR_RETURN(const bool known, client.LibraryKnown(file.sha256));
    if (known) continue;
    if (const Status sent = client.PutLibrary(file.sha256, file.path); !sent.ok())
      return sent.With("--files " + file.path);
  }
  return Status::Ok();
}

std::string RandomHex() {
  char text[33];
  std::snprintf(text, sizeof text, "%016llx%016llx", static_cast<unsigned long long>(RandomId()),
                static_cast<unsigned long long>(RandomId()));
  return text;
}

// One run of submit: state that its steps share.
class Submission {
 public:
  Submission(SubmitPlan plan, const Settings& settings) : plan_(std::move(plan)), settings_(settings) {}

  Result<int> Run() {
    const bool local = plan_.options.local > 0;
    MR_RETURN_IF_ERROR(CheckReport());
    MR_RETURN_IF_ERROR(StartPlanning());
    NoteStep("planning");
    // The guardian of a local cluster must be forked before the client's thread exists.
    if (local && !plan_.options.dry_run) {
      MR_RETURN_IF_ERROR(ClaimOutput());
      MR_ASSIGN_OR_RETURN(
          cluster_,
          LocalCluster::Prepare({plan_.options.local, plan_.spec.policies.empty() ? plan_.options.scheduler : ""}));
    } else if (!local) {
      client_ = std::make_unique<Client>(settings_.master);
    }
    MR_ASSIGN_OR_RETURN(Plan plan, FinishPlanning());
    NoteStep("planned");
    MR_RETURN_IF_ERROR(SetPrivatePaths());
    MR_RETURN_IF_ERROR(DigestSideFiles(&plan_.spec.files));
    MR_ASSIGN_OR_RETURN(JobSpec spec, BuildJobSpec(plan, plan_.spec));
    // After all checks that need no master.
    if (!plan.wants_bytes.empty()) {
      MR_ASSIGN_OR_RETURN(const bool again, PlanAgain(plan.wants_bytes));
      if (again) {
        MR_ASSIGN_OR_RETURN(plan, FinishPlanning());
        MR_ASSIGN_OR_RETURN(spec, BuildJobSpec(plan, plan_.spec));
      }
    }
    std::vector<std::string> notes;
    for (const std::string& warning : BinaryLines(plan, plan_.spec.output_format))
      notes.push_back("warning: " + warning);
    if (plan_.own_library) {
      if (plan_.options.local == 0) notes.insert(notes.end(), library_warnings_.begin(), library_warnings_.end());
      for (std::string& text : UnusedFunctions(plan)) notes.push_back(std::move(text));
    }
    MR_RETURN_IF_ERROR(CheckInputs(&plan, plan_.spec, client_.get(), &notes));
    AddQueueNote(&notes);
    for (const std::string& note : notes) {
      if (!settings_.quiet) PrintErr("mrctl: " + note + "\n");
    }
    if (plan_.options.dry_run) return Explain(plan, std::move(spec));
    if (cluster_ != nullptr) {
      MR_RETURN_IF_ERROR(cluster_->Start());
      client_ = std::make_unique<Client>(cluster_->address());
    }
    if (plan_.own_library) {
      MR_RETURN_IF_ERROR(UploadLibrary(*client_, plan_.library, &spec.library));
    }
    MR_RETURN_IF_ERROR(UploadSideFiles(*client_, plan_.spec.files));
    if (cluster_ != nullptr) local_name_.emplace(settings_);
    const std::string submission = plan_.options.submission_id.empty() ? RandomHex() : plan_.options.submission_id;
    NoteStep("checked");
    MR_ASSIGN_OR_RETURN(const JobId id, Submit(spec, submission));
    NoteStep("submitted");
    stdin_.reset();  // the job has pinned it
    if (cluster_ == nullptr) SetLast(Name(id), settings_.master);
    if (plan_.options.detach) return Detach(id);
    auto end = Follow(
        *client_, id, settings_, [this] { return cluster_ != nullptr ? cluster_->CheckAlive() : Status::Ok(); },
        LocalId());
    NoteStep("ended");
    if (cluster_ != nullptr && !plan_.options.keep_logs.empty())
      PrintFailure(KeepLogs(cluster_->directory(), plan_.options.keep_logs, id, LocalId()));
    if (!end.ok()) return Broken(end.status(), id);
    if (cluster_ != nullptr)
      FetchBeforeEnd(&*end);
    else
      FetchFromMaster(&*end);
    NoteStep("fetched");
    auto code = Report(*end);
    NoteStep("printed");
    SayWhereTheReportIs();
    return code;
  }

 private:
  // Adds a note if the queue is new. Where the master does not answer, the submit says so.
  void AddQueueNote(std::vector<std::string>* notes) {
    if (client_ == nullptr || plan_.spec.queue.empty()) return;
    const auto queues = client_->Queues();
    if (!queues.ok()) return;
    const std::string note = NewQueueNote(plan_.spec.queue, *queues, CommandPrefix(settings_.master));
    if (!note.empty()) notes->push_back(note);
  }

  // Finds out before the job runs whether its report can be written.
  Status CheckReport() const {
    const SubmitOptions& options = plan_.options;
    if (options.report.empty()) return Status::Ok();
    if (options.detach) {
      return WithHint(InvalidArgument("--report needs the end of the job, and --detach does not wait for it"),
                      "mrctl report JOB > FILE when it has ended");
    }
    return CheckReportFile(options.report);
  }

  Status StartPlanning() {
    const SubmitOptions& options = plan_.options;
    if (plan_.own_library) MR_RETURN_IF_ERROR(CheckLibraryFile(plan_.library, &library_warnings_));
    if (options.steps.empty()) {
      planning_.emplace(PlanRun::Start(plan_.library, options.job, options.job_args, SizesKnown()));
      return {};
    }
    MR_ASSIGN_OR_RETURN(auto started, StepPlanning::Start(options.steps, plan_.own_library ? plan_.library : "",
                                                          options.job, SizesKnown()));
    steps_.emplace(std::move(started));
    return {};
  }

  Result<Plan> FinishPlanning() {
    if (steps_.has_value()) {
      MR_ASSIGN_OR_RETURN(Plan plan, steps_->Finish());
      plan_.own_library = steps_->uses_library();
      MR_RETURN_IF_ERROR(CheckTypes(plan));
      MR_RETURN_IF_ERROR(CheckUse(plan));
      return WithCsvStages(std::move(plan), plan_.spec.format);
    }
    auto json = planning_->Finish();
    if (!json.ok()) return Explained(json.status());
    MR_ASSIGN_OR_RETURN(Plan plan, ParsePlan(*json));
    MR_RETURN_IF_ERROR(CheckTypes(plan));
    MR_RETURN_IF_ERROR(CheckUse(plan));
    return WithCsvStages(std::move(plan), plan_.spec.format);
  }

  PlanSizes SizesKnown(std::map<std::string, uint64_t> bytes = {}) const {
    return {plan_.spec.memory_bytes, std::move(bytes)};
  }

  // Measures the inputs that the plan asked for, and plans again (jobs/adr/0006). Returns false if no size is known.
  Result<bool> PlanAgain(const std::vector<std::string>& wanted) {
    MR_ASSIGN_OR_RETURN(auto known, MeasureInputs(wanted, plan_.spec, client_.get()));
    if (known.empty()) return false;
    const PlanSizes sizes = SizesKnown(std::move(known));
    if (steps_.has_value()) {
      steps_->Again(sizes);
    } else {
      planning_.emplace(PlanRun::Start(plan_.library, plan_.options.job, plan_.options.job_args, sizes));
    }
    return true;
  }

  // Explains the plan. For --local no cluster is started, so only the plan itself is known.
  Result<int> Explain(const Plan& plan, JobSpec spec) {
    const auto print = [&](const ctl::Explained* explained) {
      Print(RenderPlan(plan_.options.job, plan, plan_.spec.inputs, plan_.options.output, explained,
                       plan_.spec.deadline_ms * 1000, settings_.form));
    };
    if (client_ == nullptr) {
      print(nullptr);
      if (!settings_.quiet)
        PrintErr(
            "`explain --local` shows the plan only. To see splits, placement and predicted times, run it against a "
            "cluster (without --local).\n");
      if (plan_.refused.ok()) return kExitOk;
      const Failure refused = ToFailure(plan_.refused);
      PrintErr("would be refused: " + refused.message + "; " + refused.hint + "\n");
      return ExitCodeFor(plan_.refused.code());
    }
    if (plan_.own_library) {
      MR_ASSIGN_OR_RETURN(spec.library, Sha256File(plan_.library));
    }
    const auto answer = client_->Explain(spec);
    if (!answer.ok()) return WithLocalFile(answer.status(), std::filesystem::current_path().string());
    const ctl::Explained& explained = *answer;
    print(&explained);
    if (explained.refusals.empty()) return kExitOk;
    for (const Status& refusal : explained.refusals) {
      const Failure refused = ToFailure(WithLocalFile(refusal, std::filesystem::current_path().string()));
      if (settings_.form != OutputForm::kTable) continue;
      PrintErr("would be refused: " + refused.message + (refused.hint.empty() ? "" : "\n  ") + refused.hint + "\n");
    }
    return ExitCodeFor(explained.refusals.front().code());
  }

  // Adds to the job's own refusal where its flags are listed.
  Status Explained(const Status& status) {
    if (status.message().rfind(plan_.options.job + ": ", 0) != 0) return status;
    const std::string lib = plan_.own_library ? "--lib " + plan_.options.lib + " " : "";
    std::string hint = "mrctl submit " + lib + plan_.options.job + " --help shows its options";
    // This hint would be wrong for a job with its own options for inputs.
    const bool own_inputs = status.message().find("--left") != std::string::npos;
    if (status.message().find("it takes no argument '") != std::string::npos && plan_.spec.inputs.empty() &&
        !own_inputs) {
      hint = "give inputs as --input FILE; " + hint;
    }
    // The job's own suggestion is for its option.
    const bool suggests = status.message().find("did you mean") != std::string::npos;
    for (const auto& [word, ours] : plan_.options.near_ours) {
      if (suggests || status.message().find("unknown option '" + word + "'") == std::string::npos) continue;
      hint = "did you mean submit's own " + ours + "? " + hint;
      break;
    }
    return WithHint(status, hint);
  }

  // If the connection breaks before the answer, the job may have been accepted. The same id again returns the same job.
  Result<JobId> Submit(const JobSpec& spec, const std::string& submission) {
    if (HasParse(spec)) parse_ = spec;
    MR_RETURN_IF_ERROR(client_->WaitConnected());
    Result<JobId> id = client_->Submit(spec, submission);
    if (!id.ok() && cluster_ == nullptr) id = WithLocalFile(id.status(), std::filesystem::current_path().string());
    if (id.ok() || id.status().code() != Code::kUnavailable || cluster_ != nullptr) return id;
    MR_RETURN_IF_ERROR(TryAgain(*client_, id.status(), settings_, [&]() -> Status {
      id = client_->Submit(spec, submission);
      return id.ok() ? Status::Ok() : id.status();
    }));
    return id;
  }

  // Sets the paths that exist only during this run.
  Status SetPrivatePaths() {
    if (plan_.stdin_input) MR_RETURN_IF_ERROR(StoreStdin(&plan_.spec.inputs[plan_.stdin_index]));
    if (!plan_.to_stdout && !(plan_.options.dry_run && plan_.spec.output_uri.empty())) return Status::Ok();
    plan_.spec.output_uri = cluster_ != nullptr ? "file://" + cluster_->directory() + "/out"
                                                : "dfs://" + ScratchOf(client_.get()) + "/mrctl-" + RandomHex();
    return Status::Ok();
  }

  // Stores standard input where all workers read it. A local cluster's directory is removed with the cluster.
  Status StoreStdin(std::string* uri) {
    if (cluster_ != nullptr) {
      const std::string path = cluster_->directory() + "/stdin";
      *uri = "file://" + path;
      return SpoolStdin(path);
    }
    *uri = "-";
    if (client_ == nullptr) return Status::Ok();  // explain --local
    const std::string path = ScratchOf(client_.get()) + "/mrctl-" + RandomHex();
    MR_ASSIGN_OR_RETURN(stdin_, StoredStdin::Put(*client_, path));
    *uri = "dfs://" + path;
    return Status::Ok();
  }

  // Makes it the job of `last`. A file that cannot be written is no failure of the submit.
  void SetLast(const std::string& id, const std::string& master) const {
    const Status kept = RememberLast(id, master);
    if (!kept.ok() && !settings_.quiet) {
      PrintErr("mrctl: `last` is not set: " + kept.message() + "\n");
    }
  }

  Result<int> Detach(JobId id) {
    if (settings_.form == OutputForm::kTable) {
      Print(Name(id) + "\n");
      if (!settings_.quiet) {
        PrintErr("follow it with `" + CommandPrefix(settings_.master) + "attach " + Name(id) + "`\n");
      }
      return kExitOk;
    }
    MR_ASSIGN_OR_RETURN(const JobStatus status, client_->Job(id));
    Print(SubmitJson(status, settings_.form, nullptr));
    return kExitOk;
  }

  Status Broken(const Status& status, JobId id) {
    if (cluster_ == nullptr) return WithKeptResult(GoesOn(status, id, settings_.master));
    if (status.code() != Code::kCancelled && status.code() != Code::kDeadline) return LocalBroken(status, id);
    const std::string why = status.code() == Code::kCancelled ? "interrupted by Ctrl-C or a signal" : status.message();
    StopLocalJob(*client_, id, why);
    KeepRun(id);
    SayWhereTheReportIs();
    const Status stopped(status.code(), why + ": " + LocalId() + " was killed and its local cluster stopped; " +
                                            (plan_.to_stdout || plan_.options.output.empty()
                                                 ? std::string("nothing was written")
                                                 : "nothing was written to " + plan_.options.output));
    const std::string again = "run it again to get its output";
    return WithHint(stopped,
                    local_name_->stored() ? again + "; mrctl why " + LocalId() + " shows how far it came" : again);
  }

  // Remembers the run as far as the local master still answers: its workers may be all that is gone.
  Status LocalBroken(const Status& status, JobId id) {
    const Status named = WithRunningOperator(status, *client_, id, LocalId());
    const std::string why = status.message().substr(0, status.message().find("; its log ends:\n"));
    StopLocalJob(*client_, id, why);
    if (!client_->Job(id).ok()) return named;
    KeepRun(id);
    SayWhereTheReportIs();
    if (!local_name_->stored()) return named;
    const Failure failure = ToFailure(named);
    return WithHint(Status(named.code(), failure.message), (failure.hint.empty() ? "" : failure.hint + "; ") +
                                                               "mrctl why " + LocalId() + " shows how far it came");
  }

  // Adds where the result of --output - is kept while nobody prints it.
  Status WithKeptResult(const Status& status) const {
    if (!plan_.to_stdout) return status;
    const Failure failure = ToFailure(status);
    const std::string path = UriPath(plan_.spec.output_uri), prefix = CommandPrefix(settings_.master);
    return WithHint(Status(status.code(), failure.message),
                    (failure.hint.empty() ? "" : failure.hint + "; ") + "its result will be in " + path + ": `" +
                        prefix + "fs cat " + path + "` prints it, `" + prefix + "fs rm -r " + path + "` removes it");
  }

  // Returns the name of a local run, which replaces that of its job in all that is printed; empty on a cluster.
  std::string LocalId() const { return local_name_.has_value() ? local_name_->text() : ""; }

  void SayWhereTheReportIs() const {
    if (report_written_) Say(settings_, "report: " + plan_.options.report);
  }

  Status ClaimOutput() {
    if (plan_.to_stdout || plan_.spec.output_uri.empty()) return Status::Ok();
    MR_ASSIGN_OR_RETURN(OutputClaim claim, OutputClaim::Take(UriPath(plan_.spec.output_uri)));
    claim_.emplace(std::move(claim));
    return Status::Ok();
  }

  // Reads what only the local master knows, before it ends: remembers the run and writes its report. Returns the job,
  // with its counters and its local name; without an id where nothing could be read.
  JobStatus KeepRun(JobId id) {
    auto recorded = ReadRecord(*client_, id);
    if (!recorded.ok()) {
      PrintFailure(recorded.status().With("cannot read the run of the job"));
      return {};
    }
    if (plan_.to_stdout)
      recorded->run.job.output_uri = recorded->run.spec.output_uri = "";  // a directory that is removed
    if (!plan_.options.keep_logs.empty())
      recorded->run.kept_logs = std::filesystem::absolute(plan_.options.keep_logs).lexically_normal();
    local_name_->Store(*recorded);
    if (local_name_->stored()) SetLast(LocalId(), "");
    UseLocalNames(&recorded->run.job, LocalId());
    const std::string& report = plan_.options.report;
    if (!report.empty()) {
      const Status written = WriteTarget(report, PageOf(recorded->run)).With("cannot write the report");
      report_written_ = written.ok();
      PrintFailure(written);
    }
    return std::move(recorded->run.job);
  }

  // Reads from a master what is shown at the end of a job, and writes its report.
  void FetchFromMaster(JobStatus* job) {
    if (auto counters = client_->Counters(job->id); counters.ok()) job->counters = *std::move(counters);
    if (plan_.options.report.empty()) return;
    const Status written = WriteReport(*client_, job->id, plan_.options.report);
    report_written_ = written.ok();
    PrintFailure(written);
  }

  void FetchBeforeEnd(JobStatus* job) {
    if (settings_.keep_runs > 0 || !plan_.options.report.empty()) {
      JobStatus kept = KeepRun(job->id);
      if (kept.id == job->id) {
        *job = std::move(kept);
        return;
      }
    }
    if (auto counters = client_->Counters(job->id); counters.ok()) job->counters = *std::move(counters);
    if (job->state != JobState::kSucceeded) job->error = EndFailure(*job, "").message;
  }

  // Returns advice for a local job that has failed.
  std::string LocalNext(const JobStatus& job) const {
    const std::string logs = plan_.options.keep_logs.empty()
                                 ? "run it again with --keep-logs DIRECTORY to keep the logs of its attempts"
                                 : "read the logs of its attempts in " + plan_.options.keep_logs;
    const std::string replay = ReplayOfFailure(job, plan_.own_library ? plan_.options.lib : "");
    if (!replay.empty() && local_name_->stored()) return "mrctl " + replay;
    const std::string then = job.state == JobState::kKilled ? "submit it again to get its output" : logs;
    return local_name_->stored() ? then + "; mrctl why " + job.local_id + " explains this run" : then;
  }

  // Prints how to look at the remembered run of a job that succeeded.
  void PrintLocalNext(const JobStatus& job) const {
    if (settings_.quiet || !local_name_.has_value() || !local_name_->stored()) return;
    const std::string& id = job.local_id;
    PrintErr("where the time went: mrctl why " + id + ", or mrctl report " + id + " > " + id + ".html\n");
  }

  static void PrintFailure(const Status& done) {
    if (!done.ok()) PrintErr("mrctl: " + done.message() + "\n");
  }

  Result<int> Report(const JobStatus& job) {
    const std::string master = cluster_ != nullptr ? "" : settings_.master;
    const std::string next = cluster_ != nullptr ? LocalNext(job) : "";
    const std::string library = plan_.own_library ? plan_.options.lib : "";
    if (job.state == JobState::kSucceeded && plan_.to_stdout) {
      MR_RETURN_IF_ERROR(PrintResult());
    }
    const bool succeeded = job.state == JobState::kSucceeded;
    if (settings_.form != OutputForm::kTable) {
      const Failure failure = succeeded ? Failure{} : EndFailure(job, master, next, library);
      Print(SubmitJson(job, settings_.form, succeeded ? nullptr : &failure));
    } else if (!succeeded) {
      JobStatus shown = job;
      if (plan_.to_stdout) shown.output_uri.clear();
      PrintErr(EndText(shown, master, next, library));
    } else if (!settings_.quiet) {
      // This line is the result, unless the result was printed. Its directory is then removed.
      JobStatus shown = job;
      if (plan_.to_stdout) shown.output_uri.clear();
      plan_.to_stdout ? PrintErr(EndText(shown, master)) : Print(EndText(shown, master));
      if (job.counters && !job.counters->empty()) {
        PrintErr(RenderCounters(*job.counters, OutputForm::kTable));
      }
    }
    if (succeeded && settings_.form == OutputForm::kTable) PrintLocalNext(job);
    if (succeeded && plan_.spec.max_bad_records > 0) ReportBadRecords(job.id, master);
    if (!settings_.quiet && succeeded) PrintErr(NoCloneNote(job, plan_.spec.clones, master));
    // Also with --quiet: the table lacks these lines.
    if (succeeded && parse_) PrintErr(UnmatchedText(*client_, *parse_, job.id, plan_.to_stdout ? "" : job.output_uri));
    if (!settings_.quiet) PrintErr(SkewHint(job, master.empty() ? "" : CommandPrefix(master)));
    if (succeeded && plan_.options.strict_deadline && job.elapsed_us > plan_.spec.deadline_ms * 1000) {
      PrintErr("mrctl: " + Name(job) + " missed its deadline of " + plan_.options.deadline + "\n");
      return kExitMissedDeadline;
    }
    return ExitOf(job);
  }

  // Reports the number of bad records of a job that succeeded without them.
  void ReportBadRecords(JobId id, const std::string& master) {
    if (settings_.quiet) return;
    const auto counters = client_->Counters(id);
    if (!counters.ok()) return;
    int64_t bytes = 0;
    for (const CounterValue& counter : *counters) {
      if (counter.group == "mr" && counter.name == "bad_bytes") bytes = counter.value;
    }
    for (const CounterValue& counter : *counters) {
      if (counter.group != "mr" || counter.name != "bad_records") continue;
      PrintErr("mrctl: " + std::to_string(counter.value) + " bad " +
               (counter.value == 1 ? "record was" : "records were") + " skipped" +
               (bytes == 0 ? "" : ", " + HumanBytes(static_cast<uint64_t>(bytes)) + " of the input") +
               (master.empty() ? "" : ": `" + CommandPrefix(master) + "logs " + Name(id) + "` shows some") + "\n");
      if (!master.empty()) continue;
      for (const std::string& record : SkippedRecords(*client_, id)) PrintErr("  " + record + "\n");
    }
  }

  Status PrintResult() {
    const std::string path = UriPath(plan_.spec.output_uri);
    if (cluster_ != nullptr) return PrintLocalParts(path);
    const Status printed = StoreFailure(*client_, PrintStoredParts(*client_, path), StoreUse::kReads);
    if (IsGivenUp(printed)) {
      return WithHint(printed.With("the job has succeeded, but its result was not printed to the end"),
                      "submit it again; with --output PATH its result is kept");
    }
    return printed.code() == Code::kUnavailable
               ? WithHint(printed, "the result may still be in " + path + ": " + CommandPrefix(settings_.master) +
                                       "fs cat " + path + " prints it, fs rm -r removes it")
               : printed;
  }

  SubmitPlan plan_;
  std::optional<JobSpec> parse_;  // of a job with the built-in job `parse`
  const Settings& settings_;
  std::optional<PlanRun> planning_;    // of one job
  std::optional<StepPlanning> steps_;  // of several steps
  std::vector<std::string> library_warnings_;
  std::optional<OutputClaim> claim_;  // of a local job; released when nothing of its cluster is left
  std::optional<LocalRunName> local_name_;
  bool report_written_ = false;
  std::unique_ptr<LocalCluster> cluster_;
  std::unique_ptr<Client> client_;      // destroyed before the cluster
  std::unique_ptr<StoredStdin> stdin_;  // until the job is accepted
};

}  // namespace

Result<int> RunSubmit(const Command& command, const Settings& settings) {
  SubmitOptions options = command.submit;
  if (IsJobFile(options.job)) MR_RETURN_IF_ERROR(LoadJobFile(options.job, &options));
  // A job that claims --format gets the option even from before JOB, since it changes what the job computes.
  if (options.lib.empty() && !options.format.empty() && BuiltinClaims(options.job, "--format")) {
    options.job_args.insert(options.job_args.begin(), {"--format", std::exchange(options.format, "")});
  }
  const std::string cwd = std::filesystem::current_path().string();
  if (options.job_help) {
    SubmitPlan plan;
    plan.own_library = !options.lib.empty();
    plan.library = options.lib.empty()     ? BuiltinLibrary()
                   : options.lib[0] == '/' ? options.lib
                                           : cwd + "/" + options.lib;
    plan.options = std::move(options);
    return PrintJobHelp(plan);
  }
  MR_ASSIGN_OR_RETURN(SubmitPlan plan, PrepareSubmit(std::move(options), settings, cwd));
  return Submission(std::move(plan), settings).Run();
}

}  // namespace mr::ctl
