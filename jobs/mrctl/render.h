// Formats answers as tables for people and as JSON for scripts (render_json.cc). Pure.
#pragma once

#include <string>
#include <vector>

#include "jobs/mrctl/config.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/model.h"
#include "jobs/mrctl/plan.h"

namespace mr::ctl {

// Rows under a heading, with columns as wide as their widest cell.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }
  void Add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string Text() const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// Returns "2026-01-31 12:00:00" in the local time zone, or "-" for 0.
std::string DateTime(uint64_t unix_ms);

// One file or directory of the block store.
struct FileRow {
  std::string path;  // without a scheme
  bool directory = false;
  bool summed = false;  // a directory: bytes, blocks and missing_blocks are those of all files below it
  uint64_t bytes = 0, block_bytes = 0, modified_unix_ms = 0;
  uint32_t replication = 0, blocks = 0, missing_blocks = 0;
  uint32_t least_replicas = 0;  // good ones of the block that has the fewest
  std::string owner;
  bool read_by_all = false;
};

// XXH3-128 of a file's bytes.
struct FileSum {
  std::string path, digest;
  uint64_t bytes = 0;
};

// The effect of a command on one object: a line on stderr for people, an element of "done" for scripts.
struct Done {
  std::string id;      // job, worker, queue, path
  std::string action;  // the verb
  std::string to;      // path of mv, cp, put, get; empty: none
  std::string note;    // for the user; may be empty
};

// Bytes of a file, printed by a command.
struct FileText {
  std::string path, text;
};

// Returns a line per cause of extra attempts: "2 speculative attempts launched, 1 won, 4.1 s of their slot time
// wasted". The last line has the slot time that first attempts and retries wasted. Empty without extra attempts.
std::vector<std::string> ExtraAttempts(const JobStatus& job);
// Returns a line that names the hot key of a job that succeeded, if one made a task much larger than others; else "".
// prefix: "mrctl ", for the commands in the text; empty if no cluster is left.
std::string SkewHint(const JobStatus& job, const std::string& prefix);

// Returns why a job runs nothing, or no more, although it could; empty if there is no reason.
std::string WhyItWaits(const JobStatus& job);
// Returns that of each such job in a line of its own, after an empty line; empty if there are none.
std::string WaitLines(const std::vector<JobStatus>& jobs);
std::string RenderJobs(const std::vector<JobStatus>& jobs, OutputForm form);
// spec: its inputs and options are shown, too; null: not known.
std::string RenderJob(const JobStatus& job, OutputForm form, const JobSpec* spec = nullptr);
// Returns a chart of guaranteed slots and of the expected end over time, 80 columns wide; "" without points.
std::string RenderSteering(const SteeringStatus& steering, double elapsed_s, bool ended);
// Returns the tasks of the stage that have no attempt: those that could run and wait for a slot, and those whose input
// is not there yet. While tasks have several attempts, at least so many.
uint32_t PendingTasks(const StageStatus& stage);
std::string RenderStages(const JobStatus& job, OutputForm form);
std::string RenderTasks(const std::vector<TaskStatus>& tasks, OutputForm form);
std::string RenderAttempts(const std::vector<AttemptStatus>& attempts, OutputForm form);
std::string RenderCounters(const std::vector<CounterValue>& counters, OutputForm form);
std::string RenderWorkers(const std::vector<WorkerStatus>& workers, OutputForm form);
std::string RenderQueues(const std::vector<QueueStatus>& queues, OutputForm form);
// Returns a line per stage: median, 90th percentile and maximum of task times, and their histogram.
std::string RenderProfiles(const std::vector<ProfileStatus>& profiles, OutputForm form);
// Returns the number of sorted samples in each of `cells` equal parts from 0 to the largest sample, as one character
// each: ' ' (none), '.' to '@' (most).
std::string Histogram(const std::vector<float>& sorted, size_t cells);
// Returns each log after a line with attempt, worker and state.
std::string RenderLogs(const std::vector<AttemptLog>& logs, OutputForm form);
std::string RenderFiles(const std::vector<FileRow>& files, OutputForm form);
// Returns "bytes  path" lines, as du prints them. human: bytes as "1.5 GiB".
std::string RenderUse(const std::vector<FileRow>& rows, bool human);
// Returns the number of workers that take new replicas of blocks now.
size_t TakingBlocks(const std::vector<WorkerStatus>& workers);
// Returns "digest  path" lines, like sha256sum.
std::string RenderSums(const std::vector<FileSum>& sums, OutputForm form);
// Returns the free space of the block store on each worker, and the sum.
// The space of the block store over all workers that are there.
struct StoreSpace {
  uint64_t capacity_bytes = 0;      // free bytes, those of a disk that several workers share only once, and used ones
  uint64_t used_bytes = 0;          // by blocks
  std::vector<std::string> shared;  // workers that share a disk: "w1, w2", one entry per disk
};
StoreSpace SpaceOfStore(const std::vector<WorkerStatus>& workers);
std::string RenderSpace(const std::vector<WorkerStatus>& workers, OutputForm form);
std::string RenderVersion(const std::string& own, const MasterInfo* master, const std::string& error, OutputForm form);
// explained: the master's answer, or null if none was asked. deadline_us: 0 = none.
std::string RenderPlan(const std::string& job, const Plan& plan, const std::vector<std::string>& inputs,
                       const std::string& output, const Explained* explained, uint64_t deadline_us, OutputForm form);
// Returns splits, their workers, and predicted times by slots with a bar for each. A refusal is printed by the caller.
std::string ExplainText(const Explained& explained, uint64_t deadline_us);
// Returns a line about a running job that is steered by its deadline: its predicted end, the deadline, guaranteed slots
// and those that would be enough. Also says that a deadline was or will probably be missed. Empty for other jobs.
// Times of day are local.
std::string DeadlineLine(const JobStatus& job);
// Returns that of each such job in a line of its own, after an empty line; empty if there are none.
std::string DeadlineLines(const std::vector<JobStatus>& jobs);
// Returns the deadline and its guarantees: lines of `mrctl job show`.
std::string DeadlineText(const JobStatus& job);

// Returns the JSON of a job that ended or that mrctl detached from: {"version":1,"job":{...}}, with "error" if it
// failed or was killed.
std::string SubmitJson(const JobStatus& job, OutputForm form, const Failure* failure);

// The JSON documents, one per verb. `form` is kJson or kNdjson.
std::string JsonJobs(const std::vector<JobStatus>& jobs, OutputForm form);
std::string JsonJob(const JobStatus& job, OutputForm form, const JobSpec* spec = nullptr);
std::string JsonStages(const JobStatus& job, OutputForm form);
std::string JsonTasks(const std::vector<TaskStatus>& tasks, OutputForm form);
std::string JsonAttempts(const std::vector<AttemptStatus>& attempts, OutputForm form);
std::string JsonCounters(const std::vector<CounterValue>& counters, OutputForm form);
std::string JsonWorkers(const std::vector<WorkerStatus>& workers, OutputForm form);
std::string JsonQueues(const std::vector<QueueStatus>& queues, OutputForm form);
std::string JsonProfiles(const std::vector<ProfileStatus>& profiles, OutputForm form);
std::string JsonLogs(const std::vector<AttemptLog>& logs, OutputForm form);
std::string JsonFiles(const std::vector<FileRow>& files, OutputForm form);
std::string JsonVersion(const std::string& own, const MasterInfo* master, OutputForm form);
std::string JsonPlan(const std::string& job, const Plan& plan, const std::vector<std::string>& inputs,
                     const std::string& output, const Explained* explained, OutputForm form);
std::string JsonSpace(const std::vector<WorkerStatus>& workers, OutputForm form);
std::string JsonSums(const std::vector<FileSum>& sums, OutputForm form);
std::string JsonDone(const std::vector<Done>& done, OutputForm form);
// "exact" is false if the bytes are no UTF-8 and some were replaced.
std::string JsonContents(const std::vector<FileText>& contents, OutputForm form);
// The scheduler's reasons about one subject.
struct Reasons {
  std::string id;
  std::vector<std::string> summary;  // of a job: five lines; else empty
  std::vector<std::string> lines;
};
std::string JsonWhy(const std::vector<Reasons>& why, OutputForm form);
// Several jobs that were waited for. failure: of the first one that did not succeed, or null.
std::string JsonWaited(const std::vector<JobStatus>& jobs, OutputForm form, const Failure* failure);
// For `mrtask replay`: the file on this machine with a split's bytes, and the range of the input in it.
struct ReplayFile {
  std::string path;
  uint64_t offset = 0, length = 0;
};
// The file with the chunks of one segment: what task `upstream` of an input's stage wrote for a partition. A missing
// file is an empty segment.
struct ReplaySegment {
  uint32_t input = 0, upstream = 0, partition = 0;
  std::string path;
};
// Where a replay finds its files.
struct ReplayPlaces {
  std::string library;
  std::vector<ReplayFile> splits;  // those of the launch, in order
  std::vector<ReplaySegment> segments;
  std::string side_files, scratch;             // directories; side_files: or empty
  std::string keep_directory;                  // gets the chunks of the partitions below; empty: all output is dropped
  std::vector<uint32_t> keep_partitions = {};  // over all ports
};
std::string ReplayDocument(const std::string& attempt, const ReplayTask& task, const ReplayPlaces& places);
// Parses the output of `mrtask replay`.
Result<ReplayResult> ParseReplay(const std::string& json);
std::string RenderReplay(const std::string& attempt, const ReplayTask& task, const ReplayResult& result,
                         OutputForm form);
// A library with problems has an "error" member.
std::string JsonLibrary(const struct LibraryReport& report, OutputForm form);
std::string JsonCompletion(const std::string& shell, const std::string& script, OutputForm form);
std::string JsonProject(const std::string& name, const std::string& directory,
                        const std::vector<struct ProjectFile>& files, OutputForm form);

}  // namespace mr::ctl
