// A host in memory. It keeps the records, counters, log lines and failures of an operator, and serves batches of a
// grouped stream from a queue.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "paceline/error.h"
#include "paceline/testing/operator_call.h"

namespace mr {

// A record as encoded bytes.
struct TestRecord {
  std::string key, value;
  bool operator==(const TestRecord&) const = default;
};
using TestRecords = std::vector<TestRecord>;
using TestCounters = std::map<std::pair<std::string, std::string>, int64_t>;

namespace sdk {

// One batch for an operator.
struct TestBatch {
  std::string bytes;
  uint32_t input = 0, grouped = 0, upstream_task = 0;
  uint64_t offset = 0;
  std::string file = {};              // of a split; else empty
  std::vector<uint64_t> places = {};  // byte of each record in the file; empty: not known

  mr_batch Get() const {
    mr_batch b{};
    b.struct_size = sizeof b;
    b.input = input;
    b.grouped = grouped;
    b.upstream_task = upstream_task;
    b.offset = offset;
    b.data = Bytes(bytes);
    b.input_file = Bytes(file);
    return b;
  }
};

class TestHost {
 public:
  // op: the name of the operator.
  explicit TestHost(uint32_t ports, const char* op = "operator", std::string_view stage = "stage")
      : emitted_(ports), stage_(stage) {
    call_ = {op, stage_.c_str(), nullptr, nullptr, &record_, &at_};
    host_.struct_size = sizeof host_;
    host_.context = this;
    host_.taken = &taken_;
    host_.record = &record_;
    host_.at = &at_;
    host_.emit = [](void* self, uint32_t port, mr_bytes batch) {
      return static_cast<TestHost*>(self)->Emit(port, batch);
    };
    host_.next_batch = [](void* self, mr_batch* out) { return static_cast<TestHost*>(self)->NextBatch(out); };
    host_.count = [](void* self, mr_bytes group, mr_bytes name, int64_t n) {
      static_cast<TestHost*>(self)->counters_[{std::string(View(group)), std::string(View(name))}] += n;
    };
    host_.fail = [](void* self, mr_bytes message) { static_cast<TestHost*>(self)->failure_ = View(message); };
    host_.log = [](void* self, mr_bytes line) { static_cast<TestHost*>(self)->log_.append(View(line)).append("\n"); };
    host_.fail_as = [](void* self, uint32_t failure, mr_bytes message) {
      static_cast<TestHost*>(self)->failure_ = View(message);
      static_cast<TestHost*>(self)->failed_as_ = static_cast<mr_failure>(failure);
    };
    host_.bad_record = [](void* self, mr_bytes what) {
      return static_cast<TestHost*>(self)->BadRecords(1, 0, View(what));
    };
    host_.bad_records = [](void* self, uint64_t records, uint64_t bytes, mr_bytes what) {
      return static_cast<TestHost*>(self)->BadRecords(records, bytes, View(what));
    };
    // Like a worker: the first place counts, until its record is skipped.
    host_.failed_in = [](void* self, mr_bytes place) {
      auto* host = static_cast<TestHost*>(self);
      if (host->failed_in_.empty()) host->failed_in_ = View(place);
    };
    host_.record_place = [](void* self, uint64_t record, mr_sink out) {
      const OperatorCall& call = static_cast<TestHost*>(self)->call_;
      if (call.batch == nullptr || call.places == nullptr || record >= call.places->size()) return;
      const std::string place =
          std::string(View(call.batch->input_file)) + ", byte " + std::to_string((*call.places)[record]);
      out.write(out.context, Bytes(place));
    };
    host_.cancelled = [](void* self) { return static_cast<TestHost*>(self)->cancelled ? 1 : 0; };
  }
  TestHost(const TestHost&) = delete;

  const mr_host* host() const { return &host_; }
  void Queue(TestBatch batch) { queue_.push_back(std::move(batch)); }
  bool queue_empty() const { return queue_.empty(); }
  // Removes and returns the front of the queue. Its bytes stay valid until the next call.
  mr_batch PopFront() {
    current_ = std::move(queue_.front());
    queue_.pop_front();
    return Begin(current_);
  }
  // Makes the batch the one that the operator works on, until EndBatch. The bytes are borrowed.
  mr_batch Begin(const TestBatch& batch) {
    call_.batch = nullptr;  // a signal handler may read them in between
    record_ = kNoRecord;
    batch_ = batch.Get();
    call_.places = &batch.places;
    call_.batch = &batch_;
    return batch_;
  }
  void EndBatch() { call_.batch = nullptr; }
  // Ends a batch, if there is one, at which the operator failed.
  void EndFailedBatch() {
    ShortText place;
    std::string_view bytes;
    if (failed_in_.empty()) call_.AddPlace(&place, &bytes);
    failed_in_ += place.view();
    EndBatch();
  }
  const OperatorCall* call() const { return &call_; }

  TestRecords& emitted(uint32_t port) { return emitted_.at(port); }
  const TestCounters& counters() const { return counters_; }
  const std::string& failure() const { return failure_; }
  mr_failure failed_as() const { return failed_as_; }
  const std::vector<std::string>& bad_records() const { return bad_records_; }
  // Number of bad records. One bad row of a table may count as several lines.
  uint64_t bad_record_count() const { return bad_count_; }
  // The place of the failure: from the operator, or else the record that it had begun.
  const std::string& failed_in() const { return failed_in_; }
  const std::string& log() const { return log_; }
  uint64_t taken() const { return taken_; }

  uint64_t max_bad_records = 0;
  bool cancelled = false;

 private:
  int BadRecords(uint64_t records, uint64_t bytes, std::string_view what) {
    bad_records_.emplace_back(what);
    bad_count_ += records;
    if (bad_count_ <= max_bad_records) {
      counters_[{"mr", "bad_records"}] += static_cast<int64_t>(records);
      if (bytes > 0) counters_[{"mr", "bad_bytes"}] += static_cast<int64_t>(bytes);
      failed_in_.clear();
      return 0;
    }
    failed_as_ = MR_FAILURE_FINAL;
    failure_ = max_bad_records == 0 ? std::string(what)
                                    : std::to_string(bad_count_) + " bad records, the last one " + std::string(what);
    return 1;
  }
  int Emit(uint32_t port, mr_bytes batch) {
    BatchView view;
    const char* wrong = BatchView::Parse(batch.data, batch.size, &view);
    if (wrong != nullptr || port >= emitted_.size()) {
      failure_ = wrong != nullptr ? wrong : "emitted to a port that the stage does not have";
      return 1;
    }
    for (uint32_t i = 0; i < view.size(); ++i) {
      emitted_[port].push_back({std::string(view.key(i)), std::string(view.value(i))});
    }
    return 0;
  }
  int NextBatch(mr_batch* out) {
    if (queue_.empty()) return 0;
    *out = PopFront();
    return 1;
  }

  static constexpr uint32_t kNoRecord = 0xffffffff;

  mr_host host_{};
  uint64_t taken_ = 0;
  uint32_t record_ = kNoRecord;
  mr_bytes at_{};
  std::vector<TestRecords> emitted_;
  const std::string stage_;
  OperatorCall call_;
  mr_batch batch_{};
  std::deque<TestBatch> queue_;
  TestBatch current_;
  TestCounters counters_;
  std::string failure_, failed_in_, log_;
  uint64_t bad_count_ = 0;
  mr_failure failed_as_ = MR_FAILURE_USER;
  std::vector<std::string> bad_records_;  // in the order of their reports
};

// Runs one operator of a table from open to close. Errors: JobError with the operator's message.
class TestTask {
 public:
  TestTask(const mr_operator& table, const mr_open_args& args, uint64_t max_bad_records = 0)
      : table_(table), host_(args.ports, table.name, View(args.stage_name)) {
    host_.max_bad_records = max_bad_records;
    const CallScope scope(host_.call());
    op_ = table.open(&args, host_.host());
    if (op_ == nullptr) Complain("open");
  }
  ~TestTask() {
    const CallScope scope(host_.call());
    if (op_ != nullptr) table_.close(op_);
  }
  TestTask(const TestTask&) = delete;

  void Batch(const TestBatch& batch) {
    const mr_batch in = host_.Begin(batch);
    Call("batch", [&] { return table_.batch(op_, &in); });
    host_.EndBatch();
  }
  // Delivers a grouped stream: the first batch, and the others when the operator asks for them.
  void Grouped(std::vector<TestBatch> batches) {
    for (auto& b : batches) host_.Queue(std::move(b));
    while (!host_.queue_empty()) {
      const mr_batch in = host_.PopFront();
      Call("batch", [&] { return table_.batch(op_, &in); });
    }
    host_.EndBatch();
  }
  void InputEnd(uint32_t input) {
    if (table_.input_end != nullptr) Call("input_end", [&] { return table_.input_end(op_, input); });
  }
  void End() {
    Call("end", [&] { return table_.end(op_); });
  }

  // Reports bad records that the host found in the input itself.
  void SkipBad(uint64_t records, uint64_t bytes, const std::string& what) {
    const mr_host* host = host_.host();
    if (host->bad_records(host->context, records, bytes, Bytes(what)) != 0) Complain("bad_records");
  }

  TestRecords Combine(uint32_t port, const TestRecords& sorted) {
    const std::string bytes = Pack(sorted, kSorted);
    TestRecords out;
    const auto emit = [](void* context, mr_bytes batch) {
      BatchView view;
      if (BatchView::Parse(batch.data, batch.size, &view) != nullptr || !view.sorted()) return 1;
      for (uint32_t i = 0; i < view.size(); ++i) {
        static_cast<TestRecords*>(context)->push_back({std::string(view.key(i)), std::string(view.value(i))});
      }
      return 0;
    };
    Call("combine", [&] { return table_.combine(op_, port, Bytes(bytes), emit, &out); });
    return out;
  }
  std::vector<uint32_t> Partition(uint32_t port, const TestRecords& records, uint32_t partitions) {
    std::vector<uint32_t> out(records.size(), 0);
    const std::string bytes = Pack(records, 0);
    Call("partition", [&] { return table_.partition(op_, port, Bytes(bytes), partitions, out.data()); });
    return out;
  }

  // Compares two keys by the operator's order, or by bytes if it has none.
  int Compare(const std::string& a, const std::string& b) {
    const CallScope scope(host_.call());
    return table_.compare != nullptr ? table_.compare(op_, Bytes(a), Bytes(b)) : a.compare(b);
  }

  static std::string Pack(const TestRecords& records, uint16_t flags) {
    BatchBuilder builder;
    for (const auto& r : records) builder.Add(r.key, r.value);
    std::string bytes;
    builder.Finish(flags, &bytes);
    return bytes;
  }
  TestHost& host() { return host_; }

 private:
  template <class F>
  void Call(const char* what, F&& f) {
    const CallScope scope(host_.call());
    if (f() != 0) Complain(what);
  }
  [[noreturn]] void Complain(const char* where) {
    host_.EndFailedBatch();
    std::string why = host_.failure();
    if (why.empty()) why = std::string(where) + "() failed and gave no reason";
    if (host_.failed_as() == MR_FAILURE_RETRYABLE) throw RetryableError(why);
    if (host_.failed_as() == MR_FAILURE_FINAL) throw FinalError(why);
    throw JobError(why);
  }

  const CrashHandlers handlers_;
  const mr_operator& table_;
  TestHost host_;
  void* op_ = nullptr;
};

}  // namespace sdk
}  // namespace mr
