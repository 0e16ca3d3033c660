// The context of an operator: its task and attempt, settings, counters and services. One per operator instance; valid
// from Open() on. Thread: the operator's only thread.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/config.h"
#include "paceline/error.h"
#include "paceline/text.h"

namespace mr {

// A job counter, reported to the host at the end of the input. The job's value is the sum over the winning attempts;
// other attempts do not count.
class Counter {
 public:
  // Made by Context::counter.
  Counter(std::string group, std::string name) : group_(std::move(group)), name_(std::move(name)) {}
  // Adds n, which may be negative.
  Counter& operator+=(int64_t n) {
    value_ += n;
    return *this;
  }
  // Adds one.
  Counter& operator++() { return *this += 1; }

  // Returns what has been added since the last report.
  int64_t value() const { return value_; }

 private:
  friend class Context;
  std::string group_, name_;
  int64_t value_ = 0;
};

// Identity, settings, counters and services of the attempt that runs the operator.
class Context {
 public:
  // Made by the adapter of the operator.
  Context(const mr_open_args& args, const mr_host* host)
      : host_(host),
        record_(MR_HAS(host, record) && host->record != nullptr ? host->record : &own_record_),
        at_(MR_HAS(host, at) && host->at != nullptr ? host->at : &own_at_),
        stage_(args.stage),
        task_(args.task),
        tasks_(args.tasks),
        attempt_(args.attempt),
        inputs_(args.inputs),
        partitions_(args.partitions, args.partitions + args.ports),
        config_bytes_(sdk::View(args.config)),
        job_id_(sdk::View(args.job_id)),
        attempt_id_(sdk::View(args.attempt_id)),
        stage_name_(sdk::View(args.stage_name)),
        input_file_(sdk::View(args.input_file)),
        files_directory_(MR_HAS(&args, files_directory) ? sdk::View(args.files_directory) : std::string_view()),
        submitted_unix_ms_(MR_HAS(&args, submitted_unix_ms) ? args.submitted_unix_ms : 0) {
    // Another host's may be gone by the time of the next line.
    sdk::line_at = at_ == &own_at_ ? nullptr : &at_->data;
  }
  ~Context() {
    if (sdk::line_at == &at_->data) sdk::line_at = nullptr;
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // Indices of stage, task and attempt from 0, and the number of tasks, inputs and output ports of the stage.
  uint32_t stage() const { return stage_; }
  uint32_t task() const { return task_; }
  uint32_t tasks() const { return tasks_; }
  uint32_t attempt() const { return attempt_; }
  uint32_t inputs() const { return inputs_; }
  uint32_t ports() const { return static_cast<uint32_t>(partitions_.size()); }
  // Returns the number of partitions of a port: the number of tasks that read it; 1 for files.
  uint32_t partitions(uint32_t port = 0) const { return partitions_.at(port); }

  // Ids of the job and of the attempt, and the name of the stage, as in logs.
  const std::string& job_id() const { return job_id_; }
  const std::string& attempt_id() const { return attempt_id_; }
  // Returns when the job was submitted, in milliseconds since 1970. The same for all attempts, so output may use it in
  // place of the current time. 0 if the host does not say it.
  int64_t submitted_unix_ms() const { return submitted_unix_ms_; }
  const std::string& stage_name() const { return stage_name_; }
  // File of the current batch; empty unless the task reads splits. A task may read several files, one after the other
  // (FileEnd marks the end of each).
  const std::string& input_file() const { return input_file_; }

  // Bytes of Stage::ConfigureRaw or Stage::Configure.
  const std::string& config_bytes() const { return config_bytes_; }
  // Returns the settings that the plan gave by Config. Errors: JobError if the bytes were not made by Config.
  Config config() const { return Config::Decode(config_bytes_); }

  // Input, upstream task, and byte offset in the file (for splits) of the current batch.
  uint32_t input() const { return input_; }
  uint32_t upstream_task() const { return upstream_task_; }
  uint64_t offset() const { return offset_; }

  // Returns a counter, valid as long as the operator. The group defaults to the stage's name. An attempt has at most
  // MR_MAX_COUNTERS (256) counters; groups and names have at most MR_MAX_COUNTER_NAME (256) bytes. Errors: FinalError
  // beyond these, which fails the job. Count totals, and emit what varies with the data.
  Counter& counter(std::string_view name) { return counter(stage_name_, name); }

  // Returns a counter of the given group.
  Counter& counter(std::string_view group, std::string_view name) {
    for (Counter& c : counters_) {
      if (c.group_ == group && c.name_ == name) return c;
    }
    if (counters_.size() >= MR_MAX_COUNTERS) {
      throw FinalError("more than " + std::to_string(MR_MAX_COUNTERS) + " counters: '" +
                       std::string(name.substr(0, 64)) +
                       "' is one more; count totals, and emit what varies with the data");
    }
    if (group.size() > MR_MAX_COUNTER_NAME || name.size() > MR_MAX_COUNTER_NAME) {
      throw FinalError("a counter with a group of " + std::to_string(group.size()) + " and a name of " +
                       std::to_string(name.size()) + " bytes; at most " + std::to_string(MR_MAX_COUNTER_NAME) +
                       " are possible: '" + std::string(name.substr(0, 64)) + "'");
    }
    return counters_.emplace_back(std::string(group), std::string(name));
  }
  // Restarts the time of --task-timeout. For an operator that works for long without taking input, emitting or
  // counting.
  void Progress() {
    if (MR_HAS(host_, progress) && host_->progress != nullptr) host_->progress(host_->context);
  }
  // Writes a line to the attempt's log.
  void Log(std::string_view line) { host_->log(host_->context, sdk::Bytes(line)); }

  // Skips a record, for operators that parse blocks or batches themselves. `what`: place and reason. Does not return if
  // there are too many bad records (BadRecord in error.h).
  void SkipRecord(std::string_view what) { SkipRecords(1, 0, what); }
  // Like SkipRecord, for `records` records at once (such as the lines of a row) of `bytes` bytes together.
  void SkipRecords(uint64_t records, uint64_t bytes, std::string_view what) {
    if (MR_HAS(host_, bad_records)) {
      if (host_->bad_records(host_->context, records, bytes, sdk::Bytes(what)) != 0) throw sdk::AttemptOver{};
      return;
    }
    if (!MR_HAS(host_, bad_record)) throw JobError(std::string(what));
    for (; records > 0; --records) {
      if (host_->bad_record(host_->context, sdk::Bytes(what)) != 0) throw sdk::AttemptOver{};
    }
  }

  // Sets the place of the failure, for operators that parse blocks or batches themselves. Call it before the exception
  // leaves; the first call per batch counts. The other base classes do it themselves.
  void FailedIn(std::string_view place) {
    if (MR_HAS(host_, failed_in) && host_->failed_in != nullptr) host_->failed_in(host_->context, sdk::Bytes(place));
  }
  // Returns the place of record `record` of the current batch, or "" if the host does not know it.
  std::string RecordPlace(uint64_t record) const {
    std::string place;
    if (!MR_HAS(host_, record_place) || host_->record_place == nullptr) return place;
    const mr_sink sink{&place,
                       [](void* out, mr_bytes text) { static_cast<std::string*>(out)->append(sdk::View(text)); }};
    host_->record_place(host_->context, record, sink);
    return place;
  }

  // Returns whether the attempt must end, because its job was killed or another attempt of its task was faster. Its
  // output is no longer used: return or throw. For code that computes for long between two records; emitting checks it,
  // too. Cost: cheap enough for a thousand calls per second. An operator that calls it gets half a second between the
  // kill and SIGKILL; one that never does is killed at once.
  bool cancelled() const { return MR_HAS(host_, cancelled) && host_->cancelled(host_->context) != 0; }

  // Returns the memory limit that the job set in bytes (--memory, or its stage's), or 0 for none. The engine's own
  // buffers use up to half of it. The same for all attempts of the task.
  static uint64_t memory_limit() {
    // From the host: without a limit of the job, that of the process is the worker's default.
    const char* const given = std::getenv("MR_MEMORY_LIMIT");
    return given != nullptr ? std::strtoull(given, nullptr, 10) : process_memory_limit();
  }
  // Returns the memory limit of this process in bytes: that of the job, else the default of its worker; 0 for none.
  // Attempts of one task may have different ones, so their output must not depend on it.
  static uint64_t process_memory_limit() {
    rlimit data;
    return getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY ? data.rlim_cur : 0;
  }

  // Returns the path of a side file (submit --files PATH#NAME). It is read-only, the same for all attempts on a worker,
  // and exists until the job ends. Commands find it at $MR_FILES_DIR/NAME. Errors: JobError if the job has no such
  // file; FinalError if the job has no side files at all.
  std::string side_file(std::string_view name) const {
    std::string path = files_directory_ + "/" + std::string(name);
    const std::string wanted(name);
    const std::string why = "the job has no side file '" + wanted + "'; submit it with --files PATH#" + wanted;
    // A job without side files has none on any worker. A missing file may exist on another worker.
    if (files_directory_.empty()) throw FinalError(why);
    if (name.find('/') != name.npos || access(path.c_str(), R_OK) != 0) throw JobError(why);
    return path;
  }

  // Reports the index of the record of the batch that follows. After a crash, the host names it. The base classes call
  // it; operators that parse batches themselves may.
  void AtRecord(uint32_t record) { __atomic_store_n(record_, record, __ATOMIC_RELAXED); }

  // Reports the key of the group that End() or a combiner works on; without data: none. After a crash, the host names
  // it. The base classes call it.
  void AtKey(std::string_view key) {
    // A signal handler may read them in between.
    __atomic_store_n(&at_->data, nullptr, __ATOMIC_RELEASE);
    __atomic_store_n(&at_->size, key.size(), __ATOMIC_RELEASE);
    __atomic_store_n(&at_->data, key.data(), __ATOMIC_RELEASE);
  }

  // Ends the group of AtKey when the scope ends, by an exception, too: the key's bytes may be gone then.
  class KeyScope {
   public:
    // The context is borrowed.
    explicit KeyScope(Context* context) : context_(context) {}
    ~KeyScope() { context_->AtKey({}); }
    KeyScope(const KeyScope&) = delete;
    KeyScope& operator=(const KeyScope&) = delete;

   private:
    Context* context_;
  };

  // Reports progress: `bytes` of keys and values were taken from the batch. The base classes call it.
  void Taken(uint64_t bytes) {
    taken_ += bytes;
    __atomic_store_n(host_->taken, taken_, __ATOMIC_RELAXED);
  }

  // The host's functions, for RawOperators.
  const mr_host* host() const { return host_; }

  // Called by the adapter: sets the place of a batch.
  void SetBatch(const mr_batch& in) {
    input_ = in.input;
    upstream_task_ = in.upstream_task;
    offset_ = in.offset;
    if (in.input_file.size != 0 && sdk::View(in.input_file) != input_file_) input_file_ = sdk::View(in.input_file);
  }
  // Called by the adapter: reports the counters.
  void FlushCounters() {
    for (Counter& c : counters_) {
      if (c.value_ == 0) continue;
      host_->count(host_->context, sdk::Bytes(c.group_), sdk::Bytes(c.name_), c.value_);
      c.value_ = 0;
    }
  }

 private:
  const mr_host* host_;
  uint32_t own_record_ = 0;  // in place of the host's, if it has none
  uint32_t* record_;
  mr_bytes own_at_{};  // likewise
  mr_bytes* at_;
  uint32_t stage_, task_, tasks_, attempt_, inputs_;
  std::vector<uint32_t> partitions_;
  std::string config_bytes_, job_id_, attempt_id_, stage_name_, input_file_, files_directory_;
  int64_t submitted_unix_ms_ = 0;
  uint32_t input_ = 0, upstream_task_ = 0;
  uint64_t offset_ = 0, taken_ = 0;
  std::deque<Counter> counters_;  // stable addresses
};

}  // namespace mr
