#include "jobs/mrctl/replay_upstream.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <thread>

#include "common/abi/operator_table.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/tools.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

Status NotKnown(const std::string& what) {
  return WithHint(Rejected(what + " is not known any more, so the attempt's input cannot be made again: its job ended "
                                  "before the master's last start, or long ago"),
                  "submit the job again and replay an attempt of that run, or test the operator with "
                  "paceline/testing.h");
}

bool ReadsTasks(const StageSpec& stage) {
  return std::any_of(stage.inputs.begin(), stage.inputs.end(), [](const InputSpec& input) { return input.is_edge; });
}

}  // namespace

Status UpstreamTasks::FindAttempts(JobId job) {
  if (std::exchange(listed_, true)) return {};
  MR_ASSIGN_OR_RETURN(const auto attempts, source_.Attempts(job));
  for (const AttemptStatus& attempt : attempts) {
    const auto id = ParseAttemptId(attempt.id);
    if (!id.has_value()) continue;
    AttemptStatus& known = attempts_[{id->task.stage, id->task.task}];
    if (known.id.empty() || attempt.won) known = attempt;
  }
  return {};
}

Result<UpstreamTasks::Needed> UpstreamTasks::FindTask(JobId job, Key key) {
  MR_RETURN_IF_ERROR(FindAttempts(job));
  const std::string what = "task " + std::to_string(key.second) + " of stage " + std::to_string(key.first);
  const auto attempt = attempts_.find(key);
  if (attempt == attempts_.end()) return NotKnown(what);
  auto task = source_.Launched(*ParseAttemptId(attempt->second.id));
  if (task.status().code() == Code::kNotFound) return NotKnown(what);
  if (!task.ok()) return task.status();
  const StageSpec& stage = task->stage.spec;
  if ((stage.flags & MR_SIDE_EFFECTS) != 0) {
    return WithHint(Rejected("the attempt reads the output of stage '" + stage.name +
                             "', and the tasks of that stage have side effects: they are not run again"),
                    "test the operator with paceline/testing.h");
  }
  return Needed{attempt->second.id, *std::move(task), {}};
}

Status UpstreamTasks::Find(const ReplayTask& task) {
  const JobId job = task.launch.attempt.task.job;
  std::deque<ReplayTask> readers = {task};
  for (; !readers.empty(); readers.pop_front()) {
    const ReplayTask& reader = readers.front();
    if (ReadsTasks(reader.stage.spec) && reader.launch.slices.empty()) {
      return NotKnown("the part of its input that each task of stage '" + reader.stage.spec.name + "' read");
    }
    for (const Slice& slice : reader.launch.slices) {
      if (slice.input >= reader.stage.spec.inputs.size()) return Internal("a slice has no input");
      const uint32_t stage = reader.stage.spec.inputs[slice.input].stage;
      if (stage >= reader.launch.attempt.task.stage) return Internal("a stage reads one that is not before it");
      for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
        auto found = needed_.find({stage, t});
        if (found == needed_.end()) {
          MR_ASSIGN_OR_RETURN(Needed needed, FindTask(job, {stage, t}));
          found = needed_.emplace(Key{stage, t}, std::move(needed)).first;
          readers.push_back(found->second.task);
        }
        for (uint32_t p = slice.partition_begin; p < slice.partition_end; ++p) found->second.partitions.insert(p);
      }
    }
  }
  return {};
}

std::vector<std::string> UpstreamTasks::Warnings() const {
  std::set<std::string> stages;
  for (const auto& [key, needed] : needed_) {
    if ((needed.task.stage.spec.flags & MR_DETERMINISTIC) == 0) stages.insert(needed.task.stage.spec.name);
  }
  std::vector<std::string> warnings;
  warnings.reserve(stages.size());
  for (const std::string& stage : stages) {
    warnings.push_back("the operator of stage '" + stage +
                       "' is not declared deterministic: its output may differ from what the attempt read");
  }
  return warnings;
}

std::string UpstreamTasks::DirectoryOf(Key key, const std::string& what) const {
  return places_.directory + "/" + (what + "-" + std::to_string(key.first) + "-" + std::to_string(key.second));
}

std::vector<ReplaySegment> UpstreamTasks::SegmentsOf(const ReplayTask& task) const {
  std::vector<ReplaySegment> segments;
  for (const Slice& slice : task.launch.slices) {
    const uint32_t stage = task.stage.spec.inputs[slice.input].stage;
    for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
      for (uint32_t p = slice.partition_begin; p < slice.partition_end; ++p) {
        segments.push_back({slice.input, t, p, DirectoryOf({stage, t}, "out") + "/" + std::to_string(p)});
      }
    }
  }
  return segments;
}

Result<UpstreamTasks::Running> UpstreamTasks::Start(Key key, const Needed& needed, SplitFetcher* fetcher) {
  const std::string work = DirectoryOf(key, "work");
  ReplayPlaces places;
  std::string& library = libraries_[needed.task.stage.library];
  if (library.empty()) {
    // Jobs may mix stages of the built-in library and of their own.
    MR_ASSIGN_OR_RETURN(library, LibraryOf(needed.task, needed.task.stage.library.empty() ? "" : places_.given));
  }
  places.library = library;
  places.segments = SegmentsOf(needed.task);
  places.side_files = places_.side_files;
  places.scratch = work;
  places.keep_directory = DirectoryOf(key, "out");
  places.keep_partitions.assign(needed.partitions.begin(), needed.partitions.end());
  MR_RETURN_IF_ERROR(MakeDirectories(work));
  MR_RETURN_IF_ERROR(MakeDirectories(places.keep_directory));
  MR_ASSIGN_OR_RETURN(places.splits, fetcher->Fetch(needed.task, work));
  const std::string document = work + "/task.json";
  MR_ASSIGN_OR_RETURN(const UniqueFd in, OpenFile(document, O_WRONLY | O_CREAT | O_EXCL, 0600));
  MR_RETURN_IF_ERROR(WriteAll(in.get(), ReplayDocument(needed.attempt, needed.task, places)));
  MR_ASSIGN_OR_RETURN(const UniqueFd out, OpenFile(work + "/result.json", O_WRONLY | O_CREAT | O_EXCL, 0600));
  // The user asked for one attempt's output; that of others would hide it.
  MR_ASSIGN_OR_RETURN(const UniqueFd log, OpenFile(work + "/log", O_WRONLY | O_CREAT | O_EXCL, 0600));
  const std::string program = BinaryDirectory() + "/mrtask";
  const char* const argv[] = {program.c_str(), "replay", document.c_str(), "watched", nullptr};
  const pid_t self = getpid();
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "cannot start " + program);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (getppid() != self) _exit(1);
    for (const int s : {SIGINT, SIGTERM, SIGPIPE}) signal(s, SIG_DFL);
    dup2(out.get(), 1);
    dup2(log.get(), 2);
    execv(program.c_str(), const_cast<char* const*>(argv));
    _exit(127);
  }
  return Running{key, pid};
}

Status UpstreamTasks::Await(const Running& running) {
  MR_ASSIGN_OR_RETURN(const int status, WaitForChild(running.pid));
  const std::string work = DirectoryOf(running.key, "work");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return RemoveTree(work);
  std::string why = "its process ended early";
  if (const auto json = ReadFile(work + "/result.json"); json.ok()) {
    if (const auto result = ParseReplay(*json); result.ok()) why = result->message;
  }
  const std::string attempt = source_.Shown(needed_.at(running.key).attempt);
  return WithHint(Rejected("the attempt's input cannot be made again: " + attempt +
                           " fails on this machine: " + source_.Shown(why)),
                  "replay that attempt to see why: mrctl task replay " + attempt);
}

std::vector<ReplayTask> UpstreamTasks::tasks() const {
  std::vector<ReplayTask> tasks;
  for (const auto& [key, needed] : needed_) tasks.push_back(needed.task);
  return tasks;
}

Result<std::vector<ReplaySegment>> UpstreamTasks::Make(const ReplayTask& task, const Places& places) {
  places_ = places;
  libraries_[task.stage.library] = places.library;
  const size_t most = std::max(1u, std::thread::hardware_concurrency());
  SplitFetcher fetcher(source_);
  std::deque<Running> running;
  Status failed;
  uint32_t stage = 0;
  for (auto next = needed_.begin(); failed.ok() && next != needed_.end(); ++next) {
    // A stage begins when all earlier ones have ended, since it may read any of them.
    while (failed.ok() && !running.empty() && (running.size() >= most || next->first.first != stage)) {
      failed = Await(running.front());
      running.pop_front();
    }
    if (!failed.ok()) break;
    stage = next->first.first;
    auto started = Start(next->first, next->second, &fetcher);
    failed = started.status();
    if (started.ok()) running.push_back(*started);
  }
  for (const Running& left : running) {
    if (!failed.ok()) kill(left.pid, SIGKILL);
    const Status ended = Await(left);
    if (failed.ok()) failed = ended;
  }
  if (!failed.ok()) return failed;
  return SegmentsOf(task);
}

}  // namespace mr::ctl
