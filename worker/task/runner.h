// Runs one task: opens the operator, delivers its inputs in order, passes its output to the daemon, and returns how it
// ended.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "worker/task/csv_quotes.h"
#include "worker/task/inputs.h"
#include "worker/task/link.h"
#include "worker/task/operator_calls.h"
#include "worker/task/output.h"
#include "worker/task/split_reader.h"

namespace mr::task {

class Runner {
 public:
  Runner(const WireTask& task, std::vector<UniqueFd> split_fds, Link* link);
  ~Runner();
  WireResult Run();

 private:
  Status Open();
  Status OpenPorts();
  Status OpenOperator();
  Status Deliver();
  // Reads the quote states of the csv files.
  Status ReadQuotes(uint32_t input);
  Status DeliverEdge(uint32_t input);
  Status DeliverSegment(const SegmentKey& key, Segment* segment);
  // Delivers a segment of an edge that is read as files.
  Status DeliverFile(const WireEdge& edge, const SegmentKey& key, Segment* segment);
  // Waits for chunk number `index`, which is valid until it is dropped. Returns false at the segment's end.
  Result<bool> NextChunk(Segment* segment, size_t index, std::string_view* chunk);
  Status DeliverSplit(size_t split);
  // Delivers all that the reader finds in a split, or in an upstream task's output.
  Status DeliverBatches(const WireSplit& split, uint32_t upstream, SplitReader* reader);
  // Returns the place of a record of the current batch, for messages.
  std::string PlaceOf(uint64_t record) const;
  // Completes the place of a failure in the current batch: the record's number, and the beginnings of its key and
  // value.
  void NoteFailedRecord();
  // Counts skipped records. Returns not 0 if there are too many: then the attempt has failed.
  int SkipBad(uint64_t records, uint64_t bytes, const std::string& what, const std::string& who);
  Status DeliverGrouped(const std::vector<uint32_t>& grouped);
  Status CallBatch(const mr_batch& batch);
  Status EndInput(uint32_t input);
  Status Finish();
  void CountBatch(const mr_batch& batch);
  void SetPhase(uint32_t phase) { link_->page()->phase.store(phase, std::memory_order_relaxed); }

  // Callbacks of mr_host. context is the Runner. They do not throw.
  static int HostEmit(void* context, uint32_t port, mr_bytes batch);
  static int HostNextBatch(void* context, mr_batch* out);
  static void HostCount(void* context, mr_bytes group, mr_bytes name, int64_t n);
  static void HostFail(void* context, mr_bytes message);
  static void HostLog(void* context, mr_bytes line);
  static void HostFailAs(void* context, uint32_t failure, mr_bytes message);
  static int HostBadRecord(void* context, mr_bytes what);
  static int HostBadRecords(void* context, uint64_t records, uint64_t bytes, mr_bytes what);
  static void HostRecordPlace(void* context, uint64_t record, mr_sink out);
  static void HostFailedIn(void* context, mr_bytes place);
  static int HostCancelled(void* context);
  static void HostProgress(void* context);

  const WireTask& task_;
  std::vector<UniqueFd> split_fds_;
  Link* link_;
  Operator oper_;
  mr_host host_{};
  std::vector<uint32_t> partitions_;
  std::vector<std::unique_ptr<Port>> ports_;
  Inputs inputs_;
  CsvQuotes quotes_;
  GroupedStream* stream_ = nullptr;  // while a grouped batch is with the operator
  std::string_view batch_;           // of a file
  std::string where_;
  const SplitReader* reader_ = nullptr;  // of the current batch, if a file is read
  std::string failed_in_;                // the place of its failure, as the operator reported it
  bool user_failed_ = false;             // oper_.failure came by fail()
  bool loaded_ = false;                  // the library
  bool damaged_ = false;                 // an input cannot be read as its format: every attempt would find this
  uint64_t bad_records_ = 0, bad_logged_ = 0;
  std::vector<std::string> bad_samples_;
  uint64_t records_in_ = 0, records_out_ = 0;
  std::map<std::pair<std::string, std::string>, int64_t> counters_;
};

}  // namespace mr::task
