// Runs operators in child processes (mrtask), for the worker daemon: one child per attempt, or a
// reused one for operators that say they may be. The daemon never loads user code.
//
// A child is made by the helper, a clean process started before the daemon has any thread, by
// clone(CLONE_PARENT | CLONE_PIDFD): the daemon is its parent and waits on its pidfd. Bytes travel
// through one memfd arena per (job, slot), messages over a socketpair; split inputs are read by the
// child itself from the descriptor given. The host trusts nothing that a child says: every message
// and every batch is checked, and a child that breaks the protocol is killed and its attempt failed.
//
// Threads: Start() in main, before any other thread. Everything else from any thread; observers are called
// on the host's io thread, one call at a time per task, and must not block it for long (copying a
// chunk is fine, writing it to disk is not: take it to the pool).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::worker {

// A part of a file, to be cut into records by the child. The child reads bytes
// [offset, offset + length) of the input through `fd`, which holds the input's bytes
// [fd_offset, fd_offset + fd_length) (a whole local file, or one block of a stored file); bytes
// behind that, for the last record, it asks for (TaskObserver::ReadMore).
struct SplitInput {
  uint32_t input = 0;  // index of the stage input
  std::string name;    // URI, for messages and MR_INPUT_FILE
  std::string format;  // text | kv | csv | jsonl | fixed:N | record | raw
  uint64_t offset = 0, length = 0;
  uint64_t file_bytes = 0;    // length of the whole input
  uint64_t sample_bytes = 0;  // not 0: stop after about so many bytes, at a record's end
  UniqueFd fd;
  uint64_t fd_offset = 0, fd_length = 0;
};

// An input that is an edge: the daemon feeds segments, one per (upstream task, partition).
struct EdgeInput {
  uint32_t input = 0;
  bool grouped = false;    // merged in key order with the other grouped inputs; segments are sorted
  bool broadcast = false;  // delivered to the operator before everything else
  bool quotes = false;     // of the csv files: kept by the host, no input of the operator
  uint64_t segments = 0;   // how many will be fed in all
  // Not empty: each segment is delivered as a file `file`/NNNNN of this format, NNNNN being its upstream task: what its
  // records are in a file of format `written` (text, raw, fixed:N). sample_bytes as of a split.
  std::string format, written, file;
  uint64_t sample_bytes = 0;
};

struct OutputPort {
  bool files = false;
  std::string format;       // files: text | fixed:N | raw | record
  std::string name;         // files: of the parts; empty: part
  uint32_t partitions = 1;  // shuffle
  bool sorted = false, combine = false, custom_partition = false;
};

struct TaskSpec {
  AttemptId attempt;
  TaskLetter letter = TaskLetter::kMap;
  std::string stage_name, job_name;
  uint32_t tasks = 0;  // of the stage
  std::string library_path;
  std::string operator_name;
  uint32_t operator_flags = 0;  // as submitted; must equal the library's
  std::string config;
  std::vector<SplitInput> splits;
  std::vector<EdgeInput> edges;
  uint32_t inputs = 0;  // stage inputs in all
  std::vector<OutputPort> ports;
  std::vector<std::pair<std::string, std::string>> env;  // beside MR_*, which the host sets
  uint64_t sort_buffer_bytes = 64ull << 20;
  uint64_t memory_bytes = 0;  // RLIMIT_DATA of the child; 0 = none
  uint64_t partition_seed = 0;
  std::string scratch_directory;  // for spill runs (O_TMPFILE)
  std::string log_path;           // the child's stdout and stderr, at most 64 MiB
  std::string files_directory;    // of the job's side files; "" where it has none
  uint64_t max_bad_records = 0;   // that are skipped; one more is a user error
  Duration timeout;  // without input taken, output, counters: then it is a user error; 0 = never. Neither waiting
                     // counts nor time in which the machine slept or this process stood still.
};

// One piece of output, in its final order within its partition.
struct OutputChunk {
  uint32_t port = 0;
  uint32_t partition = 0;  // over all ports: those of port 0 first, then port 1, ...
  uint32_t records = 0;
  std::string_view bytes;  // shuffle: exactly one batch, checked; files: formatted bytes. Borrowed.
};

enum class TaskEnd : uint8_t {
  kDone,         // the operator came to its end and all output has been delivered
  kUserError,    // it failed, threw, crashed, exited early or broke the protocol
  kEnvironment,  // disk full, no memory for the arena, helper gone: not the user's fault
  kKilled,       // by Kill()
  kLeaseOver,    // it has side effects, and the lease of these has run out (RenewLease)
  kUserFinal,  // as kUserError, where another attempt would fail alike: its input is damaged, or no use to the operator
};

struct TaskResult {
  TaskEnd end = TaskEnd::kDone;
  std::string message;      // for people: what, signal name, exit code
  std::string record;       // where in the input: "file:///a.txt, byte 1234" or "" where not known
  std::string stderr_tail;  // last lines, at most 2 KiB
  uint64_t records_in = 0, records_out = 0;
  Duration ran, waited;  // computing; waiting for segments
  struct Counter {
    std::string group, name;
    int64_t value;
  };
  std::vector<Counter> counters;
  std::vector<std::string> bad_records;  // the first few that were skipped: where, and why
  std::vector<HotKey> hot_keys;          // of shuffle ports, if any key is: no part of the output
};

struct TaskProgress {
  uint8_t phase = 0;         // 0 read/map, 1 shuffle, 2 merge, 3 reduce, 4 write
  uint64_t taken_bytes = 0;  // by the operator from its batches
  uint64_t total_bytes = 0;  // 0 where not known
  uint64_t records = 0;
  uint64_t pulse = 0;  // rises with any progress
};

class TaskObserver {
 public:
  virtual ~TaskObserver() = default;
  // `done` is called (any thread) when the bytes may be overwritten; until then the child's ring
  // slot is taken, which is how a slow store slows the operator. A bad status fails the attempt as
  // kEnvironment.
  virtual void OnOutput(const OutputChunk& chunk, std::function<void(Status)> done) = 0;
  // Bytes [offset, offset + length) of split number `split`, fewer only at the input's end.
  virtual void ReadMore(uint32_t split, uint64_t offset, uint32_t length,
                        std::function<void(Result<std::string>)> reply) = 0;
  // The last call. The child, and all that it started, is gone; or was killed 1.5 s ago and is held by the kernel or a
  // debugger: it runs no code any more.
  virtual void OnEnd(TaskResult result) = 0;
};

class RunningTask {
 public:
  virtual ~RunningTask() = default;
  // One chunk (one batch, uncompressed) of the segment (input, upstream_task, partition); chunks of
  // one segment in order, segments in any order. last: the segment is complete (an empty segment is
  // one call with no bytes). `taken` is called when the bytes are in the child's hands: the caller's
  // window. No more than a few MiB should be untaken.
  virtual void Feed(uint32_t input, uint32_t upstream_task, uint32_t partition, std::string bytes, bool last,
                    std::function<void()> taken) = 0;
  // Ends the child and all its descendants within 2 s; OnEnd says kKilled. Repeating is fine. SIGKILL at once, or,
  // where the operator has asked whether it is cancelled, after kKillGrace (running.cc), should it still be there.
  virtual void Kill() = 0;
  virtual TaskProgress Progress() const = 0;
  virtual int pid() const = 0;  // 0 before the child exists
};

struct TaskHostOptions {
  std::string mrtask_path;  // the binary
  std::string scratch_directory;
  // Of the daemon: what its tasks have started is marked with it, for EndLeftovers(). May be empty.
  std::string data_directory;
  // An operator library of our own, or "": loaded once, in the helper, for all children (loading
  // takes 0.3 ms, measured). Never a user's, whose code has no place in the helper.
  std::string preload;
  uint32_t arena_bytes = 16u << 20;
  // Of each attempt; 0 = no limit. Processes and threads together are counted by the host, some times a second: a limit
  // of the kernel's own (RLIMIT_NPROC) counts a user's, not an attempt's, and does not bind root.
  uint32_t processes = 1024;
  uint64_t open_files = 4096;        // RLIMIT_NOFILE: few for who closes them all one by one
  uint64_t file_bytes = 1ull << 40;  // RLIMIT_FSIZE, of each file
  // The clock of `TaskSpec.timeout`; tests have their own. On the io thread, and once at the start.
  std::function<Instant()> now = Now;
  // The helper has died and no other could be started: no task will run any more. On the io thread; the
  // process had better end. May be empty.
  std::function<void(const Status&)> on_fatal;
  // A process that a task has started was killed and does not end; once for each, in words. On the io thread. May be
  // empty.
  std::function<void(const std::string&)> on_stuck;
};

class TaskHost {
 public:
  // Starts the helper; errors as Helper::Start's (processes.h). REQUIRES: on the main thread, before
  // there is another: children die with it. A helper that dies is replaced when a child is wanted.
  static Result<std::unique_ptr<TaskHost>> Start(const TaskHostOptions& options);
  virtual ~TaskHost() = default;  // kills what still runs, and the helper

  // Never fails at once: what goes wrong arrives by OnEnd. The observer lives until OnEnd returned.
  virtual std::shared_ptr<RunningTask> Run(TaskSpec spec, std::shared_ptr<TaskObserver> observer) = 0;
  // Ends the idle children and arenas kept for this job.
  virtual void EndJob(JobId job) = 0;
  // Ends what tasks of an earlier host of this data directory have started and what outlived it (its helper was killed,
  // too); returns how many processes. Blocks for at most 1.5 s. REQUIRES: no other host uses the directory.
  virtual size_t EndLeftovers() = 0;
  // Tasks with side effects (MR_SIDE_EFFECTS) may run until then, or until the latest time said before. Past it the
  // helper ends them, also while this process stands still, and none begins. Before the first call they may run for
  // ever.
  virtual void RenewLease(Instant until) = 0;
};

}  // namespace mr::worker
