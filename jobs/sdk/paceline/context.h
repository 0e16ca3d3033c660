// What an operator knows about where it runs, and its counters. One per operator instance; valid
// from Open() on. Used from the operator's one thread.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/config.h"
#include "paceline/error.h"

namespace mr {

// A job counter, kept here and given to the host at the end of the input. The counters of a
// task's winning attempt are added up over the job; those of other attempts are not.
class Counter {
 public:
  Counter(std::string group, std::string name) : group_(std::move(group)), name_(std::move(name)) {}
  Counter& operator+=(int64_t n) {
    value_ += n;
    return *this;
  }
  Counter& operator++() { return *this += 1; }
  int64_t value() const { return value_; }

 private:
  friend class Context;
  std::string group_, name_;
  int64_t value_ = 0;
};

class Context {
 public:
  Context(const mr_open_args& args, const mr_host* host)
      : host_(host),
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
        files_directory_(MR_HAS(&args, files_directory) ? sdk::View(args.files_directory) : std::string_view()) {}

  uint32_t stage() const { return stage_; }
  uint32_t task() const { return task_; }
  uint32_t tasks() const { return tasks_; }  // of this stage
  uint32_t attempt() const { return attempt_; }
  uint32_t inputs() const { return inputs_; }
  uint32_t ports() const { return static_cast<uint32_t>(partitions_.size()); }
  // How many partitions the port has: the number of tasks that read it; 1 for files.
  uint32_t partitions(uint32_t port = 0) const { return partitions_.at(port); }
  const std::string& job_id() const { return job_id_; }
  const std::string& attempt_id() const { return attempt_id_; }
  const std::string& stage_name() const { return stage_name_; }
  // Of the split of the batch at hand: a task may read several files, one after the other (FileEnd tells). Empty
  // unless it reads splits.
  const std::string& input_file() const { return input_file_; }

  const std::string& config_bytes() const { return config_bytes_; }
  // The settings that the plan gave by Config. Throws if the bytes are of another making.
  Config config() const { return Config::Decode(config_bytes_); }

  // The input, and for a split the byte offset in its file, of the batch at hand.
  uint32_t input() const { return input_; }
  uint32_t upstream_task() const { return upstream_task_; }
  uint64_t offset() const { return offset_; }

  // Lives as long as the operator. The group defaults to the stage's name. An attempt has at most MR_MAX_COUNTERS (256)
  // counters, with groups and names of at most MR_MAX_COUNTER_NAME (256) bytes; one more throws FinalError, which fails
  // the job: count totals, and emit what varies with the data.
  Counter& counter(std::string_view name) { return counter(stage_name_, name); }
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
  // The operator is at work, with neither input taken, output nor counters to show for it for long: the time of
  // submit's
  // --task-timeout begins anew.
  void Progress() {
    if (MR_HAS(host_, progress) && host_->progress != nullptr) host_->progress(host_->context);
  }
  void Log(std::string_view line) { host_->log(host_->context, sdk::Bytes(line)); }

  // For operators that take blocks or batches apart themselves: a record of them cannot be used, `what` says where it
  // is and why; go on with the next one. Does not return where these are too many (BadRecord in error.h).
  void SkipRecord(std::string_view what) { SkipRecords(1, 0, what); }
  // As SkipRecord, for `records` records (as the lines of a row) of `bytes` bytes together.
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

  // For operators that take blocks or batches apart themselves: the place of the record, line or group that fails,
  // before the exception leaves. The first call per batch counts. Other operators need not: the base classes do it.
  void FailedIn(std::string_view place) {
    if (MR_HAS(host_, failed_in) && host_->failed_in != nullptr) host_->failed_in(host_->context, sdk::Bytes(place));
  }
  // The place of record number `record` of the batch at hand; empty where the host does not know it.
  std::string RecordPlace(uint64_t record) const {
    std::string place;
    if (!MR_HAS(host_, record_place) || host_->record_place == nullptr) return place;
    const mr_sink sink{&place,
                       [](void* out, mr_bytes text) { static_cast<std::string*>(out)->append(sdk::View(text)); }};
    host_->record_place(host_->context, record, sink);
    return place;
  }

  // The attempt was told to end (its job was killed, or another attempt of its task was faster), and nothing of it will
  // be used: return or throw, as you like. For what computes for long between two records; one who emits need not ask.
  // Cheap enough for each of a thousand steps a second. An operator that has asked gets half a second between the kill
  // and SIGKILL, which comes in any case; one that never asks is killed at once.
  bool cancelled() const { return MR_HAS(host_, cancelled) && host_->cancelled(host_->context) != 0; }

  // Bytes of memory that the attempt may have (--memory, or its stage's); 0 where nobody has set a limit. The engine's
  // own buffers take up to half of it. The same for all attempts of the task.
  static uint64_t memory_limit() {
    rlimit data;
    return getrlimit(RLIMIT_DATA, &data) == 0 && data.rlim_cur != RLIM_INFINITY ? data.rlim_cur : 0;
  }

  // The path of a side file (submit --files PATH#NAME): read-only, the same for all attempts on a worker, there until
  // its job ends. Commands find it as $MR_FILES_DIR/NAME. Throws where the job has none of this name; a job that was
  // submitted without side files fails at once (FinalError).
  std::string side_file(std::string_view name) const {
    const std::string path = files_directory_ + "/" + std::string(name);
    const std::string wanted(name);
    const std::string why = "the job has no side file '" + wanted + "'; submit it with --files PATH#" + wanted;
    // Submitted without any: no other attempt will have one. One that is not where it should be may be elsewhere.
    if (files_directory_.empty()) throw FinalError(why);
    if (name.find('/') != name.npos || access(path.c_str(), R_OK) != 0) throw JobError(why);
    return path;
  }

  // Progress: `bytes` of keys and values were taken from the batch. The base classes do it.
  void Taken(uint64_t bytes) {
    taken_ += bytes;
    __atomic_store_n(host_->taken, taken_, __ATOMIC_RELAXED);
  }

  const mr_host* host() const { return host_; }
  void SetBatch(const mr_batch& in) {
    input_ = in.input;
    upstream_task_ = in.upstream_task;
    offset_ = in.offset;
    if (in.input_file.size != 0 && sdk::View(in.input_file) != input_file_) input_file_ = sdk::View(in.input_file);
  }
  void FlushCounters() {
    for (Counter& c : counters_) {
      if (c.value_ == 0) continue;
      host_->count(host_->context, sdk::Bytes(c.group_), sdk::Bytes(c.name_), c.value_);
      c.value_ = 0;
    }
  }

 private:
  const mr_host* host_;
  uint32_t stage_, task_, tasks_, attempt_, inputs_;
  std::vector<uint32_t> partitions_;
  std::string config_bytes_, job_id_, attempt_id_, stage_name_, input_file_, files_directory_;
  uint32_t input_ = 0, upstream_task_ = 0;
  uint64_t offset_ = 0, taken_ = 0;
  std::deque<Counter> counters_;  // stable addresses
};

}  // namespace mr
