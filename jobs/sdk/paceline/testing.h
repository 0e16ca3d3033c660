// Tests of operators and jobs, with any test framework:
//
//   mr::OperatorTest<CountWords> test;            one operator
//   test.Feed({{"", "a b a"}}).End();
//   test.Emitted<std::string, int64_t>();         {("a", 1), ("b", 1), ("a", 1)}
//
//   mr::LocalJob job(mr_library_table());         a whole plan (testing/local_job.h)
//   job.Input("in.txt", "a b a\n").Run("words").Output();   "a\t2\nb\t1\n" over its parts
//
//   mr::ExpectDeterministic(job, "words").ok;      many seeds (testing/determinism.h); .text names the operator
//
// Errors: OperatorTest throws JobError, or RetryableError or FinalError if the operator threw that. LocalJob returns
// the failure in its result.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "paceline/adapter.h"
#include "paceline/testing/determinism.h"
#include "paceline/testing/local_job.h"
#include "paceline/testing/test_host.h"

namespace mr {

// Runs one operator on records that the test gives.
template <class Op>
class OperatorTest {
 public:
  // partitions: their number, per output port.
  explicit OperatorTest(std::string config = "", std::vector<uint32_t> partitions = {1}, uint32_t inputs = 1)
      : table_(sdk::Adapter<Op>::Table("operator", 0)), config_(std::move(config)), partitions_(std::move(partitions)) {
    mr_open_args args{};
    args.struct_size = sizeof args;
    args.config = sdk::Bytes(config_);
    args.tasks = 1;
    args.inputs = inputs;
    args.ports = static_cast<uint32_t>(partitions_.size());
    args.partitions = partitions_.data();
    args.stage_name = sdk::Bytes("stage");
    task_ = std::make_unique<sdk::TestTask>(table_, args);
  }

  // Sets submit's --max-bad-records. Default: 0, the first bad record is thrown.
  OperatorTest& MaxBadRecords(uint64_t n) {
    task_->host().max_bad_records = n;
    return *this;
  }
  // Makes context().cancelled() true from here on.
  OperatorTest& Cancel() {
    task_->host().cancelled = true;
    return *this;
  }

  // Delivers one batch of encoded records that are not grouped.
  OperatorTest& Feed(const TestRecords& records, uint32_t input = 0, uint64_t offset = 0) {
    task_->Batch({sdk::TestTask::Pack(records, 0), input, 0, 0, offset});
    return *this;
  }
  // Delivers one grouped stream in these batches. Requires: records sorted by key.
  OperatorTest& FeedGroups(const std::vector<TestRecords>& batches) {
    std::vector<sdk::TestBatch> packed;
    for (const auto& b : batches) packed.push_back({sdk::TestTask::Pack(b, kSorted), 0, 1, 0, 0});
    task_->Grouped(std::move(packed));
    return *this;
  }
  // Ends the input.
  OperatorTest& End() {
    task_->End();
    return *this;
  }

  // Returns the emitted records as encoded bytes.
  const TestRecords& Raw(uint32_t port = 0) { return task_->host().emitted(port); }

  // Returns the emitted records.
  template <class K, class V>
  std::vector<std::pair<K, V>> Emitted(uint32_t port = 0) {
    std::vector<std::pair<K, V>> out;
    for (const auto& r : Raw(port)) {
      out.emplace_back(K(KeyCodec<K>::Decode(r.key)), V(ValueCodec<V>::Decode(r.value)));
    }
    return out;
  }
  // Returns the counters, by group and name.
  const TestCounters& counters() { return task_->host().counters(); }
  // Returns place and reason of each bad record.
  const std::vector<std::string>& bad_records() { return task_->host().bad_records(); }
  // Returns the bytes of keys and values that were taken from the batches.
  uint64_t taken() { return task_->host().taken(); }
  // Returns what the combiner makes of sorted records.
  TestRecords Combine(const TestRecords& sorted) { return task_->Combine(0, sorted); }

  // Returns an encoded record for Feed and FeedGroups.
  template <class K, class V>
  static TestRecord Record(const K& key, const V& value) {
    TestRecord r;
    KeyCodec<K>::Append(key, &r.key);
    ValueCodec<V>::Append(value, &r.value);
    return r;
  }

 private:
  mr_operator table_;
  std::string config_;
  std::vector<uint32_t> partitions_;
  std::unique_ptr<sdk::TestTask> task_;
};

}  // namespace mr
