// mrctl task replay: mrtask runs an attempt again on this machine, with the same library and inputs.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/flame_graph.h"
#include "jobs/mrctl/job_ref.h"
#include "jobs/mrctl/launch_source.h"
#include "jobs/mrctl/local_names.h"
#include "jobs/mrctl/local_runs.h"
#include "jobs/mrctl/render.h"
#include "jobs/mrctl/replay_files.h"
#include "jobs/mrctl/replay_upstream.h"
#include "jobs/mrctl/terminal_text.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/verbs.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

// Runs a program in the foreground on this terminal. out: the file of its output, or "". interactive: an interrupt is
// for the program alone. Returns its exit code, or 128 + a signal; 127: there is no such program. Errors: kCancelled,
// kDeadline: it was killed.
Result<int> RunHere(const std::vector<std::string>& argv, const std::string& out, bool interactive) {
  std::vector<char*> words;
  words.reserve(argv.size() + 1);
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  UniqueFd to;
  if (!out.empty()) {
    MR_ASSIGN_OR_RETURN(to, OpenFile(out, O_WRONLY | O_CREAT | O_TRUNC, 0600));
  }
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot start " + argv[0]);
  if (pid == 0) {
    for (const int s : {SIGINT, SIGTERM, SIGPIPE}) signal(s, SIG_DFL);
    if (to.get() >= 0) dup2(to.get(), 1);
    execvp(words[0], words.data());
    _exit(127);
  }
  int status = 0;
  if (interactive) {
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
  } else {
    MR_ASSIGN_OR_RETURN(status, WaitForChild(pid));
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Makes the attempt's inputs again that other tasks wrote.
Result<std::vector<ReplaySegment>> MakeSegments(LaunchSource& source, const ReplayTask& task, const Command& command,
                                                const Settings& settings, const ReplayPlaces& places) {
  UpstreamTasks upstream(source);
  MR_RETURN_IF_ERROR(upstream.Find(task));
  if (upstream.count() == 0) return std::vector<ReplaySegment>();
  if (!settings.quiet) {
    const std::string n = std::to_string(upstream.count());
    PrintErr("mrctl: the attempt reads the output of other tasks: running " +
             (upstream.count() == 1 ? "one task" : n + " tasks") + " on this machine to make it again\n");
  }
  for (const std::string& warning : upstream.Warnings()) PrintErr("mrctl: warning: " + warning + "\n");
  return upstream.Make(task, {places.scratch, places.library, command.replay_lib, places.side_files});
}

// An attempt, and where its launch is known.
struct ReplaySubject {
  AttemptId attempt;
  std::unique_ptr<Client> client;  // or null
  std::unique_ptr<LaunchSource> source;
};

Result<ReplaySubject> FindSubject(const std::string& word, const Settings& settings) {
  ReplaySubject wanted;
  if (const auto part = ParseLocalPart(word)) {
    if (!part->attempt) return InvalidArgument("'" + word + "' is a task, and a replay needs one of its attempts");
    MR_ASSIGN_OR_RETURN(report::RecordedRun run, LocalRuns(settings.runs_directory).Find(part->run));
    wanted.attempt = ParseAttemptId(part->NameIn(run.run.job.id)).value_or(AttemptId());
    wanted.source = std::make_unique<RecordedLaunches>(std::move(run));
    return wanted;
  }
  MR_RETURN_IF_ERROR(NotOfLocalRun(word, "the attempt", settings.runs_directory));
  const auto id = ParseAttemptId(word);
  if (!id.has_value()) {
    return WithHint(InvalidArgument("'" + word + "' is no attempt id"), "mrctl job attempts JOB lists them");
  }
  wanted.attempt = *id;
  wanted.client = std::make_unique<Client>(settings.master);
  wanted.source = std::make_unique<ClusterLaunches>(*wanted.client);
  return wanted;
}

// Runs mrtask's command under perf, and draws where the time went. Returns the exit code of the command.
Result<int> RunUnderPerf(const std::vector<std::string>& command, const std::string& answer,
                         const std::string& directory, const std::string& svg, const std::string& title,
                         const Settings& settings) {
  const std::string data = directory + "/perf.data", text = directory + "/perf.txt";
  // Stacks by debug information: neither operators nor mrtask keep frame pointers. 199 times per second does not beat
  // with timers.
  std::vector<std::string> record = {"perf", "record",       "--quiet",     "--no-buildid-cache", "--freq",
                                     "199",  "--call-graph", "dwarf,16384", "--output",           data,
                                     "--"};
  record.insert(record.end(), command.begin(), command.end());
  MR_ASSIGN_OR_RETURN(const int exit, RunHere(record, answer, false));
  if (exit == 127) {
    return WithHint(InvalidArgument("there is no perf in $PATH"), "install it (Debian: linux-perf), or omit --perf");
  }
  if (exit != 0 && exit != 1) {
    return WithHint(InvalidArgument("perf cannot record here (exit " + std::to_string(exit) + "), so nothing ran"),
                    "see its message above; `sysctl kernel.perf_event_paranoid` of 2 or less lets users record "
                    "their own programs");
  }
  MR_ASSIGN_OR_RETURN(const int shown,
                      RunHere({"perf", "script", "-i", data, "-F", "ip,sym", "--no-inline"}, text, false));
  if (shown != 0) return Internal("perf script exited with " + std::to_string(shown) + "; its message is above");
  FlameGraph graph;
  std::ifstream in(text);
  const uint64_t samples = AddPerfScript(in, &graph);
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(svg, O_WRONLY | O_CREAT | O_TRUNC, 0644));
  MR_RETURN_IF_ERROR(WriteAll(fd.get(), graph.Svg(title)).With("cannot write " + svg));
  Say(settings, samples == 0 ? svg + " is empty: perf took no sample, since the replay was too short"
                             : svg + " is the flame graph of " + std::to_string(samples) +
                                   (samples == 1 ? " sample" : " samples") + ", 199 per second of CPU time");
  return exit;
}

}  // namespace

Result<int> RunReplay(const Command& command, const Settings& settings) {
  const std::string& word = command.args[0];
  MR_ASSIGN_OR_RETURN(const ReplaySubject wanted, FindSubject(word, settings));
  auto launched = wanted.source->Launched(wanted.attempt);
  if (wanted.client == nullptr && launched.status().code() == Code::kNotFound) {
    return WithHint(NotFound(word + " cannot be replayed: only attempts that failed a local job are recorded"),
                    "mrctl job attempts JOB lists them, or run the job on a cluster");
  }
  MR_ASSIGN_OR_RETURN(ReplayTask task, std::move(launched));
  ReplayPlaces places;
  MR_ASSIGN_OR_RETURN(places.library, LibraryOf(task, command.replay_lib));
  ReplayDirectory directory;
  MR_RETURN_IF_ERROR(directory.Make());
  places.scratch = directory.path();
  if (!task.stage.files.empty()) places.side_files = directory / "files";
  MR_RETURN_IF_ERROR(LinkSideFiles(task, command.replay_files, places.side_files));
  MR_ASSIGN_OR_RETURN(places.splits, SplitFetcher(*wanted.source).Fetch(task, directory.path()));
  MR_ASSIGN_OR_RETURN(places.segments, MakeSegments(*wanted.source, task, command, settings, places));
  const std::string document = directory / "task.json", answer = directory / "result.json";
  {
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(document, O_WRONLY | O_CREAT | O_EXCL, 0600));
    MR_RETURN_IF_ERROR(WriteAll(fd.get(), ReplayDocument(Name(wanted.attempt, task.stage.letter()), task, places)));
  }
  const std::string mrtask = BinaryDirectory() + "/mrtask";
  if (command.gdb) {
    // It runs to the crash, or to the end. It asks nothing before that.
    const std::vector<std::string> gdb = {
        "gdb",  "-q",     "-iex",  "set debuginfod enabled off", "-iex", "set pagination off", "-ex", "run", "--args",
        mrtask, "replay", document};
    MR_ASSIGN_OR_RETURN(const int exit, RunHere(gdb, "", true));
    if (exit == 127) return WithHint(InvalidArgument("there is no gdb in $PATH"), "install it, or omit --gdb");
    return exit == 0 ? kExitOk : kExitJobFailed;
  }
  const std::vector<std::string> watched = {mrtask, "replay", document, "watched"};
  MR_ASSIGN_OR_RETURN(const int exit, command.perf.empty()
                                          ? RunHere(watched, answer, false)
                                          : RunUnderPerf(watched, answer, directory.path(), command.perf,
                                                         word + " (" + task.stage.spec.operator_name + ")", settings));
  ReplayResult result;
  if (exit != 0 && exit != 1) return Internal("mrtask replay exited with " + std::to_string(exit));
  {
    MR_ASSIGN_OR_RETURN(const std::string json, ReadFile(answer));
    MR_ASSIGN_OR_RETURN(result, ParseReplay(json));
  }
  Print(RenderReplay(word, task, result, settings.form));
  return result.done ? kExitOk : kExitJobFailed;
}

}  // namespace mr::ctl
