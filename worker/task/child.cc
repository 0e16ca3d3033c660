#include "worker/task/child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "worker/task/crash.h"
#include "worker/task/kept_memory.h"
#include "worker/task/runner.h"
#include "worker/task/warm_up.h"

namespace mr::task {
namespace {

// Numbers of the control socket and of the room's rules in a child: above the numbers that a careless library may count
// through.
constexpr int kControlFd = 200, kRoomFd = 201;

[[noreturn]] void Die(const char* what) {
  dprintf(2, "mrtask: cannot set up a task process: %s: %s\n", what, strerror(errno));
  _exit(70);
}

// Handles the daemon's end: ends this process, but only after a delay. Normally the helper ends it before, with all
// that it has started. Killed at once, this process would let its descendants escape. If the helper was killed, too, it
// ends alone.
void EndLater(int) {
  constexpr unsigned kSeconds = 5;
  alarm(kSeconds);
}

void EndBehindTheDaemon(pid_t daemon) {
  struct sigaction later {};
  later.sa_handler = EndLater;
  later.sa_flags = SA_RESTART;
  sigaction(SIGRTMAX, &later, nullptr);
  signal(SIGALRM, SIG_DFL);
  if (prctl(PR_SET_PDEATHSIG, SIGRTMAX) != 0) Die("prctl");
  if (getppid() != daemon) _exit(1);  // it died before the line above
}

// Gives the child its own session, an end with the daemon, and only the descriptors that a task needs.
void Isolate(int control, int log, pid_t daemon, Room* room) {
  setsid();
  EndBehindTheDaemon(daemon);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  // Its descendants stay below it, where the daemon and the helper find them (process_tree.h).
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int s : {SIGPIPE, SIGINT, SIGTERM, SIGXFSZ}) signal(s, SIG_DFL);
  if (dup2(log, 1) < 0 || dup2(log, 2) < 0) Die("dup2");
  if (dup3(control, kControlFd, O_CLOEXEC) < 0) Die("dup3");
  const bool rules = room->fd() >= 0;
  if (rules && dup3(room->fd(), kRoomFd, O_CLOEXEC) < 0) Die("dup3");
  syscall(SYS_close_range, 3u, static_cast<unsigned>(kControlFd - 1), 0u);
  syscall(SYS_close_range, static_cast<unsigned>((rules ? kRoomFd : kControlFd) + 1), ~0u, 0u);
  if (rules) room->MovedTo(kRoomFd);
  setvbuf(stdout, nullptr, _IOLBF, 1 << 16);
}

void SetEnvironment(const WireTask& task) {
  for (const WireEnv& e : task.env) {
    if (e.name.rfind("LD_", 0) != 0) setenv(e.name.c_str(), e.value.c_str(), 1);
  }
  const auto set = [](const char* name, const std::string& value) {
    const char* now = getenv(name);  // most are unchanged since the last task; setenv() takes longer
    if (now == nullptr || value != now) setenv(name, value.c_str(), 1);
  };
  set("MR_JOB_ID", Name(task.attempt.task.job));
  set("MR_JOB_NAME", task.job_name);
  set("MR_TASK_ID", Name(task.attempt.task, task.letter));
  set("MR_PARTITION", std::to_string(task.attempt.task.task));
  set("MR_ATTEMPT_ID", Name(task.attempt, task.letter));
  set("MR_STAGE", std::to_string(task.attempt.task.stage));
  set("MR_STAGE_NAME", task.stage_name);
  set("MR_TASK", std::to_string(task.attempt.task.task));
  set("MR_TASKS", std::to_string(task.tasks));
  set("MR_ATTEMPT", std::to_string(task.attempt.number));
  set("MR_MEMORY_LIMIT", std::to_string(task.memory_bytes));
  // Temporary files of operators and their commands go where there is room, and are removed with the worker's scratch
  // data.
  set("TMPDIR", task.scratch_directory);
  if (!task.files_directory.empty()) set("MR_FILES_DIR", task.files_directory);
  // A task that reads several files has no single name.
  set("MR_INPUT_FILE", task.splits.size() != 1 ? "" : task.splits[0].name);
}

// Lowers a limit to `most`, and also its maximum, so that nobody raises it again. No effect if most = 0.
void Limit(__rlimit_resource resource, uint64_t most) {
  rlimit limit;
  if (most == 0 || getrlimit(resource, &limit) != 0) return;
  const rlim_t lowered = std::min<rlim_t>(limit.rlim_max, most);
  if (limit.rlim_cur == lowered && limit.rlim_max == lowered) return;  // as the last task of this process left it
  limit.rlim_cur = limit.rlim_max = lowered;
  setrlimit(resource, &limit);
}

// Sets the limit of memory. That of a job binds the whole process, which serves no job with another one. The default of
// the worker changes between the tasks of a process, so it is no maximum.
void LimitMemory(const WireTask& task) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)  // their own memory is above any limit
  (void)task;
  KeepFreedMemory(0);
#else
  if (task.memory_bytes != 0) {
    Limit(RLIMIT_DATA, task.memory_bytes);
    return KeepFreedMemory(task.memory_bytes);
  }
  rlimit limit;
  if (getrlimit(RLIMIT_DATA, &limit) == 0) {
    const rlim_t wanted = task.default_memory_bytes == 0 ? RLIM_INFINITY : task.default_memory_bytes;
    const rlim_t soft = std::min<rlim_t>(limit.rlim_max, wanted);
    if (limit.rlim_cur != soft) {
      limit.rlim_cur = soft;
      setrlimit(RLIMIT_DATA, &limit);
    }
  }
  KeepFreedMemory(task.default_memory_bytes);
#endif
}

void SetLimits(const WireTask& task) {
  Limit(RLIMIT_NOFILE, task.open_files);
  Limit(RLIMIT_FSIZE, task.file_bytes);
  LimitMemory(task);
}

// Writes the reason of the failure to the attempt's log, where `mrctl logs --grep` searches. The end of a command's
// stderr is there already (jobs/builtin/command.cc).
void LogFailure(const WireResult& result) {
  const size_t bytes = std::min(result.message.find("; its stderr ends:\n"), result.message.size());
  fprintf(stderr, "%.*s\n", static_cast<int>(bytes), result.message.c_str());
  if (!result.record.empty()) fprintf(stderr, "at %s\n", result.record.c_str());
}

WireResult RunTask(const WireTask& task, std::vector<UniqueFd> fds, Link* link) {
  try {
    return Runner(task, std::move(fds), link).Run();
  } catch (const std::bad_alloc&) {
    return {Outcome::kUser, "the task ran out of memory; raise --memory"};
  } catch (const std::exception& e) {
    return {Outcome::kUser, std::string("the task threw an exception: ") + e.what()};
  }
}

// Adds the limit to the message of a task that ran out of memory. Messages of the SDK have it.
void NameMemoryLimit(const WireTask& task, WireResult* result) {
  const std::string limit = MemoryLimitText(task.memory_bytes, task.default_memory_bytes);
  const auto says = [result](const char* text) { return result->message.find(text) != std::string::npos; };
  if (limit.empty() || !says("ran out of memory") || says("the attempt may have")) return;
  result->message += "; the attempt's limit is " + limit;
}

}  // namespace

void PrepareTask(const WireTask& task) {
  SetLimits(task);
  SetEnvironment(task);
}

void ChildMain(const ChildSetup& setup, Room* room) {
  // First, so that all that it uses counts.
  for (const int group : setup.joins) {
    if (write(group, "0", 1) != 1) Die("enter a control group");
  }
  // Its commands open /dev/stderr by its path.
  if (setup.user != 0 && fchown(setup.log, setup.user, setup.user) != 0) Die("give away the log's pipe");
  struct stat info;
  if (fstat(setup.arena, &info) != 0) Die("fstat");
  void* mapped = mmap(nullptr, info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, setup.arena, 0);
  if (mapped == MAP_FAILED) Die("mmap");
  const Status begun = room->Begin(setup.user, setup.network);
  Isolate(setup.control, setup.log, setup.parent, room);
  ReportCrashes(reinterpret_cast<ProgressPage*>(mapped));
  Link link(kControlFd, static_cast<char*>(mapped), info.st_size);
  WarmUp(kControlFd, static_cast<char*>(mapped), ArenaLayout::Of(info.st_size));
  for (bool entered = false;; entered = true) {
    std::vector<UniqueFd> fds;
    WireTask task = link.AwaitTask(&fds);
    Status in_room = entered || !begun.ok() ? begun : room->MakePlace(task);
    room->MoveInto(&task);
    PrepareTask(task);
    if (!entered && in_room.ok()) in_room = room->Enter(task);
    WireResult result =
        in_room.ok() ? RunTask(task, std::move(fds), &link) : WireResult{Outcome::kEnvironment, in_room.message()};
    fflush(stdout);
    if (result.outcome != Outcome::kDone) {
      NameMemoryLimit(task, &result);
      LogFailure(result);
    }
    fflush(stderr);
    link.SendDone(result);
    // A failed task may have left anything behind.
    if (!task.keep || result.outcome != Outcome::kDone) _exit(0);
  }
}

}  // namespace mr::task
