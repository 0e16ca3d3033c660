// Runs operators in child processes (mrtask) for the worker daemon: one child per attempt, or a reused one for
// operators that allow it. The daemon never loads user code.
//
// The helper, a clean process that is started before the daemon has any thread, makes a child by
// clone(CLONE_PARENT | CLONE_PIDFD). The daemon is the child's parent and waits on its pidfd. Bytes travel through one
// memfd arena per (job, slot), messages over a socketpair. The child itself reads split inputs, from the given
// descriptor. The host trusts no child: it checks every message and every batch. A child that breaks the protocol is
// killed, and its attempt fails.
//
// Thread: Start() on the main thread, before any other thread; everything else from any thread. Observers are called on
// the host's io thread, one call at a time per task. They must not block it for long: copying a chunk is fine, writing
// it to disk belongs on the pool.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/hot_keys.h"
#include "common/base/ids.h"
#include "common/base/shared_bytes.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/model/output.h"
#include "common/model/report.h"
#include "worker/host/room_report.h"
#include "worker/host/task_users.h"
#include "worker/task/room_options.h"

namespace mr::worker {

// A part of a file, which the child cuts into records: bytes [offset, offset + length) of the input. `fd` holds the
// input's bytes [fd_offset, fd_offset + fd_length): a whole local file, or one block of a stored file. The child
// requests bytes after these for the last record (TaskObserver::ReadMore).
struct SplitInput {
  uint32_t input = 0;  // index of the stage input
  std::string name;    // URI, for messages and MR_INPUT_FILE
  std::string format;  // text | kv | csv | jsonl | fixed:N | record | raw
  uint64_t offset = 0, length = 0;
  uint64_t file_bytes = 0;    // length of the whole input
  uint64_t sample_bytes = 0;  // not 0: stop after about this many bytes, at a record's end
  UniqueFd fd;
  uint64_t fd_offset = 0, fd_length = 0;
  // Not empty: CRC-32C of each chunk_bytes of the descriptor, up to fd_length. The child checks what it reads with
  // them, and requests what differs, as it requests what the descriptor does not have.
  std::vector<uint32_t> crcs;
  uint32_t chunk_bytes = 0;
  bool cached = true;  // what is read enters the page cache
};

// An edge as an input. The daemon feeds its segments, one per (upstream task, partition).
struct EdgeInput {
  uint32_t input = 0;
  bool grouped = false;    // merged in key order with the other grouped inputs; segments are sorted
  bool broadcast = false;  // delivered to the operator before everything else
  bool quotes = false;     // quote states of the csv files: kept by the host, no input of the operator
  uint64_t segments = 0;   // number of segments that will be fed
  // If not empty, each segment is delivered as a file `file`/NNNNN of this format. NNNNN is the upstream task. The file
  // has the records in the format `written` (text, raw, fixed:N). sample_bytes: as for a split.
  std::string format, written, file;
  uint64_t sample_bytes = 0;
};

struct OutputPort {
  bool files = false;
  std::string format;       // files: text | fixed:N | raw | record
  std::string name;         // files: name of the parts; empty: part
  uint32_t partitions = 1;  // shuffle
  bool sorted = false, combine = false, custom_partition = false;
};

struct TaskSpec {
  AttemptId attempt;
  TaskLetter letter = TaskLetter::kMap;
  std::string stage_name, job_name;
  uint64_t submitted_unix_ms = 0;  // when the job was submitted
  std::string owner;               // of the job: its user depends on it, in rooms of tier 2 and above
  uint32_t tasks = 0;              // of the stage
  std::string library_path;
  std::string operator_name;
  uint32_t operator_flags = 0;  // as submitted; must equal the library's
  std::string config;
  std::vector<SplitInput> splits;
  std::vector<EdgeInput> edges;
  uint32_t inputs = 0;  // number of stage inputs
  std::vector<OutputPort> ports;
  std::vector<std::pair<std::string, std::string>> env;  // in addition to MR_*, which the host sets
  // Guess: the records of a block of 64 MiB, with their index, need no spill run if they have 40 bytes or more.
  uint64_t sort_buffer_bytes = 160ull << 20;
  uint64_t memory_bytes = 0;  // the job's limit of memory: RLIMIT_DATA of the child; 0 = the host's default
  uint64_t partition_seed = 0;
  // For spill runs (O_TMPFILE) and TMPDIR. The child makes it, in a directory that exists.
  std::string scratch_directory;
  std::string log_path;          // the child's stdout and stderr, at most 64 MiB
  std::string files_directory;   // of the job's side files, or ""
  uint64_t max_bad_records = 0;  // records that may be skipped; one more is a user error
  bool network = false;          // it may make sockets of the internet families
  // Longest time without progress (input taken, output, counters); more is a user error. 0 = no limit. Waits do not
  // count, nor does time in which the machine slept or this process stood still.
  Duration timeout;
};

// Bytes of memory in front of a shuffle chunk, for a header.
inline constexpr uint32_t kOutputFront = 24;

// One piece of output, in its final order within its partition.
struct OutputChunk {
  uint32_t port = 0;
  uint32_t partition = 0;  // over all ports: those of port 0 first, then port 1, ...
  uint32_t records = 0;
  std::string_view bytes;  // shuffle: exactly one batch, checked; files: formatted bytes. Borrowed.
  // Holds `bytes` and, for the shuffle, kOutputFront bytes before them. The receiver may move it away. May be null.
  std::shared_ptr<std::string> memory;
};

enum class TaskEnd : uint8_t {
  kDone,         // the operator came to its end and all output has been delivered
  kUserError,    // it failed, threw, crashed, exited early or broke the protocol
  kEnvironment,  // disk full, no memory for the arena, helper gone: not the user's fault
  kKilled,       // by Kill()
  kLeaseOver,    // it has side effects, and the lease for these has run out (RenewLease)
  kUserFinal,  // like kUserError, but another attempt would fail in the same way: its input is damaged, or useless for
               // it
};

struct TaskResult {
  TaskEnd end = TaskEnd::kDone;
  std::string message;      // for people: the cause, signal name, exit code
  std::string record;       // place in the input: "file:///a.txt, byte 1234" or "" where not known
  std::string stderr_tail;  // last lines, at most 2 KiB
  std::string log;          // the end of its log, at most kKeptLogBytes
  uint64_t log_bytes = 0;   // of its whole log
  uint64_t records_in = 0, records_out = 0;
  Duration ran, waited;  // computing; waiting for segments
  std::vector<CounterValue> counters;
  std::vector<std::string> bad_records;  // the first few skipped records: where, and why
  std::vector<HotKey> hot_keys;          // of shuffle ports, if there are any: no part of the output
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
  // Takes a chunk. Call `done` (any thread) when its bytes may be overwritten. Until then the child's ring slot is in
  // use, so a slow store slows the operator. A bad status fails the attempt as kEnvironment.
  virtual void OnOutput(const OutputChunk& chunk, std::function<void(Status)> done) = 0;
  // Reads bytes [offset, offset + length) of split number `split`, fewer only at the input's end.
  virtual void ReadMore(uint32_t split, uint64_t offset, uint32_t length,
                        std::function<void(Result<std::string>)> reply) = 0;
  // The last call. The child and all that it started are gone; or they were killed 1.5 s ago, and the kernel or a
  // debugger holds them. Then they run no code any more.
  virtual void OnEnd(TaskResult result) = 0;
};

class RunningTask {
 public:
  virtual ~RunningTask() = default;
  // Feeds one chunk (one batch, uncompressed) of the segment (input, upstream_task, partition). Chunks of one segment
  // come in order, segments in any order. last: the segment is complete; an empty segment is one call without bytes.
  // The bytes are copied into memory that the child shares; then they are released, and `taken` is called when the
  // child has them, for the caller's window. At most a few MiB should be untaken.
  virtual void Feed(uint32_t input, uint32_t upstream_task, uint32_t partition, SharedBytes bytes, bool last,
                    std::function<void()> taken) = 0;
  // Ends the child and all its descendants within 2 s; OnEnd reports kKilled. May be repeated. SIGKILL comes at once.
  // If the operator has polled whether it is cancelled, SIGKILL comes after kKillGrace (running.cc).
  virtual void Kill() = 0;
  virtual TaskProgress Progress() const = 0;
  virtual int pid() const = 0;  // 0 before the child exists
};

struct TaskHostOptions {
  std::string mrtask_path;  // path of the binary
  std::string scratch_directory;
  // The daemon's data directory. Processes that tasks start are marked with it, for EndLeftovers(). May be empty.
  std::string data_directory;
  // An operator library of the engine, or "". Loaded once, in the helper, for all children (loading takes 0.3 ms,
  // measured). Never a user's library, because the helper must not run user code.
  std::string preload;
  // The rooms of tasks: with less of the machine than the daemon has (task/room.h). The default is the filter of system
  // calls and no more, so that a caller says which files tasks may reach.
  task::RoomOptions rooms = {.tier = 0};
  // For rooms of tier 2 and above. Without users there are none. cgroup_root: as in FindCgroups (cgroup_place.h).
  // slots: control groups made at the start. memory_bytes: of all attempts together, in their control group; 0: no
  // limit.
  UserRange task_users;
  std::string cgroup_root;
  uint32_t slots = 1;
  uint64_t memory_bytes = 0;
  // Returns the limit of memory of an attempt whose job has none; 0: no limit. Empty: none has one. Called on the io
  // thread, for each attempt.
  std::function<uint64_t()> default_memory;
  // Children that wait for a first task (ready_children.h), below tier 2; at most 16.
  uint32_t ready_children = 0;
  uint32_t arena_bytes = 16u << 20;
  // Limits of each attempt; 0 = no limit. The host counts processes and threads together, several times per second. The
  // kernel's own limit (RLIMIT_NPROC) counts those of a user, not of an attempt, and does not bind root.
  uint32_t processes = 1024;
  uint64_t open_files = 4096;        // RLIMIT_NOFILE: low, for code that closes them all one by one
  uint64_t file_bytes = 1ull << 40;  // RLIMIT_FSIZE, of each file
  // Bytes of a job's files in its scratch directory, with those that an attempt has open there without a name; 0: no
  // limit. Without a value: from tier 2 on half of the space that is free at the start, else no limit.
  std::optional<uint64_t> scratch_bytes;
  // The clock of `TaskSpec.timeout`; tests replace it. Called on the io thread, and once at the start.
  std::function<Instant()> now = Now;
  // Called when the helper has died and no other one could be started: no task can run any more, and the process should
  // exit. On the io thread. May be empty.
  std::function<void(const Status&)> on_fatal;
  // Called once for each process that a task has started and that was killed and does not end, with its description. On
  // the io thread. May be empty.
  std::function<void(const std::string&)> on_stuck;
};

class TaskHost {
 public:
  // Starts the helper. A helper that dies is replaced when a child is needed. Errors: as for Helper::Start
  // (processes.h). Requires: on the main thread, before there is another one; children die with it.
  static Result<std::unique_ptr<TaskHost>> Start(const TaskHostOptions& options);
  virtual ~TaskHost() = default;  // kills running tasks and the helper

  // Runs a task. Returns no errors: they arrive by OnEnd. The observer lives until OnEnd has returned.
  virtual std::shared_ptr<RunningTask> Run(TaskSpec spec, std::shared_ptr<TaskObserver> observer) = 0;
  // Ends the idle children and frees the arenas that are kept for this job.
  virtual void EndJob(JobId job) = 0;
  // Kills processes that tasks of an earlier host of this data directory have started, and that outlived it because its
  // helper was killed, too. Returns how many. Blocks for at most 1.5 s. Requires: no other host uses the directory.
  virtual size_t EndLeftovers() = 0;
  // Returns the rooms that tasks get.
  virtual const RoomReport& room() const = 0;
  // Lets tasks with side effects (MR_SIDE_EFFECTS) run until this time; an earlier time has no effect. After it the
  // helper ends them, even while this process stands still, and none begins. Before the first call there is no limit.
  virtual void RenewLease(Instant until) = 0;
};

}  // namespace mr::worker
