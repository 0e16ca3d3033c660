#include "worker/task/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>

#include "common/io/clock.h"
#include "common/io/ledger.h"
#include "worker/task/crash.h"
#include "worker/task/crash_place.h"
#include "worker/task/edge_file.h"
#include "worker/task/library.h"
#include "worker/task/record_store.h"

namespace mr::task {
namespace {

enum Phase : uint32_t { kPhaseRead = 0, kPhaseShuffle = 1, kPhaseMerge = 2, kPhaseReduce = 3, kPhaseWrite = 4 };

// Most bad records in an attempt's log and in its report: enough to identify the problem (guesses).
constexpr uint64_t kBadRecordsLogged = 20;
constexpr size_t kBadRecordsReported = 3, kBadRecordBytes = 300;
// Built-in jobs run with the library of their worker, which may be of another release than that of the submit.
constexpr char kOtherLibrary[] =
    "the library is not the version that planned the job; after an upgrade, submit the job again";
// Most bytes of an operator's failure message; a report has less of it.
constexpr size_t kFailureBytes = 64 << 10;
// Number of hot keys after which further ports add none, so a result may have some more. Operators with tens of ports
// are rare (guess).
constexpr size_t kMostHotKeys = 32;
constexpr const char* kBadCsv =
    "the csv record that begins here is broken: text follows the quote that ends a field, or a quote is never closed";

mr_bytes Bytes(const std::string& s) { return {s.data(), s.size()}; }
std::string Text(mr_bytes b) { return std::string(b.data, b.size); }

}  // namespace

Runner::Runner(const WireTask& task, std::vector<UniqueFd> split_fds, Link* link)
    : task_(task),
      split_fds_(std::move(split_fds)),
      link_(link),
      inputs_(task.edges, task.scratch_directory, task.sort_buffer_bytes) {
  host_.struct_size = sizeof host_;
  host_.context = this;
  host_.taken = &link->page()->taken;
  host_.emit = &HostEmit;
  host_.next_batch = &HostNextBatch;
  host_.count = &HostCount;
  host_.fail = &HostFail;
  host_.log = &HostLog;
  host_.fail_as = &HostFailAs;
  host_.bad_record = &HostBadRecord;
  host_.cancelled = &HostCancelled;
  host_.progress = &HostProgress;
  host_.bad_records = &HostBadRecords;
  host_.record_place = &HostRecordPlace;
  host_.failed_in = &HostFailedIn;
  host_.record = &link->page()->record;
  host_.at = CrashAt();
  *host_.at = {};
  link_->SetInput([this](uint32_t input, uint32_t upstream, uint32_t partition, std::string chunk, bool last) {
    return inputs_.Add({input, upstream, partition}, std::move(chunk), last);
  });
}

Runner::~Runner() { link_->SetInput(nullptr); }

WireResult Runner::Run() {
  Ledger::Enable(task_.ledger);
  Ledger::Clear();
  const Instant begin = Now();
  Status status = Open();
  // An operator or settings that one attempt cannot use are the same for every other attempt. A library that does not
  // load here may load on another worker, which has what it needs.
  const bool unfit = loaded_ && !status.ok();
  if (status.ok()) status = Deliver();
  if (status.ok()) status = Finish();
  if (oper_.op != nullptr) {
    const Status closed = CallOperator(oper_, "close", [this] {
      oper_.table->close(oper_.op);
      return 0;
    });
    if (status.ok()) status = closed;
  }
  // An operator that has nearly all counters keeps them.
  const bool room = counters_.size() + Ledger::kPlaces <= MR_MAX_COUNTERS;
  for (int place = 0; room && place < Ledger::kPlaces; ++place) {
    const uint64_t bytes = Ledger::count(Ledger::Place(place));
    if (bytes > 0) counters_[{"ledger", Ledger::Name(Ledger::Place(place))}] += static_cast<int64_t>(bytes);
  }
  WireResult result;
  if (!status.ok()) {
    // The first cause, from the operator or a callback, explains what followed.
    if (!oper_.failure.ok()) status = oper_.failure;
    const bool user = status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound;
    const bool final = unfit || (oper_.failure.ok() ? damaged_ : oper_.final);
    result.outcome = !user ? Outcome::kEnvironment : final ? Outcome::kUserFinal : Outcome::kUser;
    result.message = status.message();
    result.record = !oper_.place.empty() ? oper_.place : failed_in_.empty() ? where_ : failed_in_;
  }
  for (size_t i = 0; status.ok() && i < ports_.size() && result.hot_keys.size() < kMostHotKeys; ++i) {
    for (HotKey& key : ports_[i]->Hottest()) result.hot_keys.push_back(std::move(key));
  }
  result.records_in = records_in_;
  result.records_out = records_out_;
  result.waited = link_->waited();
  result.ran = Now() - begin - result.waited;
  result.bad_records = bad_samples_;
  // The counter that the master uses goes first.
  const auto bad = counters_.find({"mr", "bad_records"});
  if (bad != counters_.end()) result.counters.push_back({"mr", "bad_records", bad->second});
  for (auto it = counters_.begin(); it != counters_.end(); ++it) {
    if (it != bad) result.counters.push_back({it->first.first, it->first.second, it->second});
  }
  return result;
}

Status Runner::Open() {
  MR_ASSIGN_OR_RETURN(const mr_library* library, LoadLibrary(task_.library_path));
  loaded_ = true;
  const auto found = FindOperator(library, task_.operator_name);
  if (!found.ok()) return found.status().With(kOtherLibrary);
  oper_.table = *found;
  if (oper_.table->flags != task_.operator_flags) {
    return InvalidArgument("operator " + task_.operator_name + " has flags " + std::to_string(oper_.table->flags) +
                           " in " + task_.library_path + ", but " + std::to_string(task_.operator_flags) +
                           " in the plan")
        .With(kOtherLibrary);
  }
  if (split_fds_.size() != task_.splits.size()) return Internal("descriptors of splits are missing");
  MR_RETURN_IF_ERROR(OpenOperator());
  return OpenPorts();
}

Status Runner::OpenOperator() {
  for (const WirePort& p : task_.ports) partitions_.push_back(p.files ? 1 : p.partitions);
  const std::string job = Name(task_.attempt.task.job), attempt = Name(task_.attempt, task_.letter);
  const std::string file = task_.splits.empty() ? "" : task_.splits[0].name;
  mr_open_args args{};
  args.struct_size = sizeof args;
  args.config = Bytes(task_.config);
  args.stage = task_.attempt.task.stage;
  args.task = task_.attempt.task.task;
  args.tasks = task_.tasks;
  args.attempt = task_.attempt.number;
  args.inputs = task_.inputs - static_cast<uint32_t>(std::count_if(task_.edges.begin(), task_.edges.end(),
                                                                   [](const WireEdge& e) { return e.quotes; }));
  args.ports = static_cast<uint32_t>(partitions_.size());
  args.partitions = partitions_.data();
  args.job_id = Bytes(job);
  args.attempt_id = Bytes(attempt);
  args.stage_name = Bytes(task_.stage_name);
  args.input_file = Bytes(file);
  args.files_directory = Bytes(task_.files_directory);
  args.submitted_unix_ms = static_cast<int64_t>(task_.submitted_unix_ms);
  MR_RETURN_IF_ERROR(CallOperator(oper_, "open", [&] {
    oper_.op = oper_.table->open(&args, &host_);
    return 0;
  }));
  if (oper_.op == nullptr) return InvalidArgument("operator " + oper_.name() + " open() failed without a reason");
  return {};
}

Status Runner::OpenPorts() {
  const auto collected =
      std::count_if(task_.ports.begin(), task_.ports.end(), [](const WirePort& p) { return !p.files; });
  const uint64_t share = task_.sort_buffer_bytes / std::max<uint64_t>(1, collected);
  if (std::none_of(task_.ports.begin(), task_.ports.end(), [](const WirePort& p) { return p.sorted; })) {
    RecordStore::FreeKept();
  }
  uint32_t first = 0;
  for (uint32_t i = 0; i < task_.ports.size(); ++i) {
    const ChunkSink sink = {[this](uint32_t port, uint32_t partition, uint32_t records, std::string_view bytes) {
                              records_out_ += records;
                              return link_->SendOutput(port, partition, records, bytes);
                            },
                            [this](uint64_t bytes) { return link_->OutputRoom(bytes); }};
    MR_ASSIGN_OR_RETURN(auto port, MakePort(task_, i, first, share, &oper_, sink));
    ports_.push_back(std::move(port));
    first += partitions_[i];
  }
  return {};
}

Status Runner::Deliver() {
  uint64_t total = 0;
  for (const WireSplit& s : task_.splits) total += s.length;
  link_->page()->total.store(total, std::memory_order_relaxed);
  for (uint32_t input = 0; input < task_.inputs; ++input) {
    const WireEdge* edge = inputs_.edge(input);
    if (edge != nullptr && edge->quotes) {
      MR_RETURN_IF_ERROR(ReadQuotes(input));
    } else if (edge != nullptr && edge->broadcast) {
      MR_RETURN_IF_ERROR(DeliverEdge(input));
    }
  }
  std::vector<uint32_t> grouped;
  for (uint32_t input = 0; input < task_.inputs; ++input) {
    const WireEdge* edge = inputs_.edge(input);
    if (edge != nullptr && edge->broadcast) continue;
    if (edge != nullptr && edge->grouped) {
      grouped.push_back(input);
    } else if (edge != nullptr) {
      MR_RETURN_IF_ERROR(DeliverEdge(input));
    } else {
      SetPhase(kPhaseRead);
      for (size_t i = 0; i < task_.splits.size(); ++i) {
        if (task_.splits[i].input == input) MR_RETURN_IF_ERROR(DeliverSplit(i));
      }
      MR_RETURN_IF_ERROR(EndInput(input));
    }
  }
  return grouped.empty() ? Status() : DeliverGrouped(grouped);
}

Status Runner::EndInput(uint32_t input) {
  where_.clear();
  failed_in_.clear();
  if (oper_.table->input_end == nullptr) return {};
  return CallOperator(oper_, "input_end", [&] { return oper_.table->input_end(oper_.op, input); });
}

Status Runner::ReadQuotes(uint32_t input) {
  SetPhase(kPhaseShuffle);
  MR_RETURN_IF_ERROR(link_->WaitUntil([&] { return inputs_.Complete(input); }));
  for (auto& [key, segment] : inputs_.Of(input)) {
    for (size_t i = 0; i < segment->run.chunks.size(); ++i) {
      const Chunk chunk = segment->run.chunks[i];
      MR_ASSIGN_OR_RETURN(const char* data, inputs_.Bytes(chunk));
      MR_RETURN_IF_ERROR(quotes_.Add({data, chunk.size}));
      inputs_.Drop(segment, i);
    }
  }
  return {};
}

Status Runner::DeliverEdge(uint32_t input) {
  SetPhase(kPhaseShuffle);
  // When every segment has begun, their order is known. Then they stream in that order, one after the other.
  MR_RETURN_IF_ERROR(link_->WaitUntil([&] { return inputs_.Known(input); }));
  SetPhase(kPhaseReduce);
  const WireEdge& edge = *inputs_.edge(input);
  for (auto& [key, segment] : inputs_.Of(input)) {
    MR_RETURN_IF_ERROR(edge.format.empty() ? DeliverSegment(key, segment) : DeliverFile(edge, key, segment));
  }
  return EndInput(input);
}

// Waits for a chunk: for an edge that is read as files, and for the rest of a file after its sample.
Result<bool> Runner::NextChunk(Segment* segment, size_t index, std::string_view* chunk) {
  MR_RETURN_IF_ERROR(link_->WaitUntil([&] { return segment->complete || index < segment->run.chunks.size(); }));
  if (index >= segment->run.chunks.size()) return false;
  const Chunk found = segment->run.chunks[index];
  MR_ASSIGN_OR_RETURN(const char* data, inputs_.Bytes(found));
  *chunk = {data, found.size};
  return true;
}

Status Runner::DeliverFile(const WireEdge& edge, const SegmentKey& key, Segment* segment) {
  MR_ASSIGN_OR_RETURN(const FileFormat format, ParseInputFormat(edge.format));
  MR_ASSIGN_OR_RETURN(const FileFormat written, ParseOutputFormat(edge.written));
  char number[16];
  snprintf(number, sizeof number, "/%05u", key.upstream);
  WireSplit split;
  split.input = key.input;
  split.name = edge.file + number;
  split.format = edge.format;
  split.sample_bytes = edge.sample_bytes;
  where_ = split.name;
  size_t next = 0;
  const auto chunk = [&](std::string_view* batch) -> Result<bool> {
    if (next > 0 && next <= segment->run.chunks.size()) inputs_.Drop(segment, next - 1);
    return NextChunk(segment, next++, batch);
  };
  SplitReader reader(split, format, (oper_.table->flags & MR_RAW_BLOCKS) != 0,
                     std::make_unique<EdgeFile>(written, split.name, chunk));
  MR_RETURN_IF_ERROR(DeliverBatches(split, key.upstream, &reader));
  // Drops the rest after the sample, because the daemon keeps sending it.
  for (std::string_view rest;;) {
    MR_ASSIGN_OR_RETURN(const bool more, chunk(&rest));
    if (!more) return {};
  }
}

Status Runner::DeliverSegment(const SegmentKey& key, Segment* segment) {
  for (size_t i = 0;; ++i) {
    MR_RETURN_IF_ERROR(link_->WaitUntil([&] { return segment->complete || i < segment->run.chunks.size(); }));
    if (i >= segment->run.chunks.size()) return {};
    const Chunk chunk = segment->run.chunks[i];
    MR_ASSIGN_OR_RETURN(const char* data, inputs_.Bytes(chunk));
    mr_batch batch{};
    batch.struct_size = sizeof batch;
    batch.input = key.input;
    batch.upstream_task = key.upstream;
    batch.data = {data, chunk.size};
    where_ = "stage input " + std::to_string(key.input) + ", upstream task " + std::to_string(key.upstream) +
             ", chunk " + std::to_string(i);
    failed_in_.clear();
    CountBatch(batch);
    MR_RETURN_IF_ERROR(CallBatch(batch));
    inputs_.Drop(segment, i);
    MR_RETURN_IF_ERROR(link_->Poll());
  }
}

Status Runner::DeliverSplit(size_t index) {
  const WireSplit& split = task_.splits[index];
  where_ = split.name;
  MR_ASSIGN_OR_RETURN(const FileFormat format, ParseInputFormat(split.format));
  const bool raw = (oper_.table->flags & MR_RAW_BLOCKS) != 0;
  SplitReader reader(split, format, raw, split_fds_[index].get(), [&](uint64_t offset, uint32_t length) {
    return link_->ReadMore(static_cast<uint32_t>(index), offset, length);
  });
  const auto counted = [](const WireEdge& e) { return e.quotes; };
  if (std::any_of(task_.edges.begin(), task_.edges.end(), counted)) reader.SetQuotes(&quotes_);
  return DeliverBatches(split, 0, &reader);
}

Status Runner::DeliverBatches(const WireSplit& split, uint32_t upstream, SplitReader* reader) {
  // The size of a compressed file is estimated better with each batch.
  uint64_t expected = split.length;
  struct Leave {
    const SplitReader** reader;
    ~Leave() { *reader = nullptr; }
  } leave{&reader_};
  reader_ = reader;
  reader->SetBadCsv([&](const CsvRecord& record, uint64_t offset) -> Status {
    const std::string place = reader->Where(offset);
    if (SkipBad(CsvLines(record.with_end), record.with_end.size(), place + ": " + kBadCsv, "") == 0) return {};
    failed_in_ = place;
    return oper_.failure;
  });
  for (;;) {
    mr_batch batch{};
    failed_in_.clear();
    const Result<bool> next = reader->Next(&batch_, &batch.offset);
    if (!next.ok()) {
      damaged_ = next.status().code() == Code::kInvalidArgument;
      return next.status();
    }
    link_->page()->total.fetch_add(reader->expected() - expected, std::memory_order_relaxed);
    expected = reader->expected();
    if (!*next) return {};
    batch.struct_size = sizeof batch;
    batch.input = split.input;
    batch.upstream_task = upstream;
    batch.data = {batch_.data(), batch_.size()};
    batch.input_file = Bytes(split.name);
    where_ = reader->Where(batch.offset);
    CountBatch(batch);
    MR_RETURN_IF_ERROR(CallBatch(batch));
    if (!task_.edges.empty()) MR_RETURN_IF_ERROR(link_->Poll());
  }
}

Status Runner::DeliverGrouped(const std::vector<uint32_t>& grouped) {
  SetPhase(kPhaseShuffle);
  MR_RETURN_IF_ERROR(link_->WaitUntil(
      [&] { return std::all_of(grouped.begin(), grouped.end(), [&](uint32_t i) { return inputs_.Complete(i); }); }));
  SetPhase(kPhaseMerge);
  link_->page()->total.fetch_add(inputs_.record_bytes(), std::memory_order_release);  // after the phase
  KeyOrder order;
  if (oper_.table->compare != nullptr) order = {oper_.table, oper_.op};
  GroupedStream stream(&inputs_, grouped, order);
  MR_RETURN_IF_ERROR(stream.Start());
  SetPhase(kPhaseReduce);
  where_ = "grouped input";
  const bool identity = (oper_.table->flags & MR_IDENTITY) != 0 && ports_.size() == 1 && ports_[0]->TakesMerged();
  if (identity) MR_RETURN_IF_ERROR(PassOn(stream.merger()));
  while (!identity) {
    mr_batch batch;
    failed_in_.clear();
    MR_ASSIGN_OR_RETURN(const bool got, stream.Next(&batch));
    if (!got) break;
    CountBatch(batch);
    stream_ = &stream;
    const Status status = CallBatch(batch);
    stream_ = nullptr;
    MR_RETURN_IF_ERROR(status);
  }
  for (uint32_t input : grouped) MR_RETURN_IF_ERROR(EndInput(input));
  return {};
}

Status Runner::PassOn(Merger* merger) {
  ProgressPage* page = link_->page();
  const uint64_t before = __atomic_load_n(&page->taken, __ATOMIC_RELAXED);
  for (uint64_t taken = 0; !merger->done();) {
    MR_RETURN_IF_ERROR(ports_[0]->EmitMerged(merger, kBatchTargetBytes, &records_in_, &taken));
    page->records.store(records_in_, std::memory_order_relaxed);
    __atomic_store_n(&page->taken, before + taken, __ATOMIC_RELAXED);
    HostProgress(this);
    MR_RETURN_IF_ERROR(link_->Poll());
  }
  return {};
}

void Runner::CountBatch(const mr_batch& batch) {
  BatchHeader h;
  memcpy(&h, batch.data.data, sizeof h);
  records_in_ += h.n;
  ProgressPage* page = link_->page();
  page->records.store(records_in_, std::memory_order_relaxed);
  __atomic_store_n(&page->record, kNoRecord, __ATOMIC_RELAXED);
  SetCrashBatch(&batch, batch.grouped ? nullptr : &where_, reader_);  // a merged batch has no place
  page->batch_records.store(h.n, std::memory_order_relaxed);
}

Status Runner::CallBatch(const mr_batch& batch) {
  Status status = CallOperator(oper_, "batch", [&] { return oper_.table->batch(oper_.op, &batch); });
  if (mr_bytes* const at = CrashAt(); at->size > 0)
    *at = {};  // a key of a call that an exception ended: it may be gone
  if (status.code() == Code::kInvalidArgument) NoteFailedRecord();
  link_->page()->batch_records.store(0, std::memory_order_relaxed);
  SetCrashBatch(nullptr);
  return status;
}

void Runner::NoteFailedRecord() {
  // The record of a block operator is a block. Such an operator knows the line.
  const bool named = !failed_in_.empty(), blocks = (oper_.table->flags & MR_RAW_BLOCKS) != 0;
  records_in_ = RecordsBegun(*link_->page());
  if (named && (blocks || stream_ != nullptr)) return;  // in a stream, the group's key is its place
  NoteCrashRecord();
  const uint32_t record = link_->page()->record;
  if (!named && reader_ != nullptr && record != kNoRecord) failed_in_ = PlaceOf(record);
  failed_in_ = CrashPlace(*link_->page(), failed_in_);
}

Status Runner::Finish() {
  where_.clear();
  failed_in_.clear();
  MR_RETURN_IF_ERROR(CallOperator(oper_, "end", [this] { return oper_.table->end(oper_.op); }));
  SetPhase(kPhaseWrite);
  for (const auto& port : ports_) MR_RETURN_IF_ERROR(port->Finish());
  return {};
}

int Runner::HostEmit(void* context, uint32_t port, mr_bytes batch) {
  auto* self = static_cast<Runner*>(context);
  HostProgress(context);
  Ledger::Count(Ledger::emit, 2 * batch.size);
  Operator& oper = self->oper_;
  if (!oper.failure.ok()) return -1;
  if (port >= self->ports_.size()) {
    oper.final = true;  // the plan is the same for every attempt
    oper.failure = InvalidArgument("operator " + oper.name() + " emitted to port " + std::to_string(port) +
                                   ", but its stage has " + std::to_string(self->ports_.size()) +
                                   " (ports open after open() returns)");
    return -1;
  }
  try {
    oper.failure = self->ports_[port]->Emit({batch.data, batch.size});
  } catch (const std::bad_alloc&) {
    oper.failure = InvalidArgument("the task ran out of memory while it collected output");
  }
  return oper.failure.ok() ? 0 : -1;
}

int Runner::HostNextBatch(void* context, mr_batch* out) {
  auto* self = static_cast<Runner*>(context);
  if (!self->oper_.failure.ok()) return -1;
  if (self->stream_ == nullptr) {
    self->oper_.failure =
        InvalidArgument("operator " + self->oper_.name() + " called next_batch() outside of a grouped batch()");
    return -1;
  }
  SetCrashBatch(nullptr);  // its bytes are about to change
  try {
    const Result<bool> got = self->stream_->Next(out);
    if (!got.ok()) {
      self->oper_.failure = got.status();
      return -1;
    }
    if (!*got) return 0;
    self->CountBatch(*out);
    return 1;
  } catch (const std::bad_alloc&) {
    self->oper_.failure = InvalidArgument("the task ran out of memory in its merge");
    return -1;
  }
}

void Runner::HostCount(void* context, mr_bytes group, mr_bytes name, int64_t n) {
  HostProgress(context);
  auto* self = static_cast<Runner*>(context);
  Operator& oper = self->oper_;
  if (!oper.failure.ok()) return;
  const auto refuse = [&oper](const std::string& what) {
    oper.final = true;  // another attempt would have the same counters
    oper.failure = InvalidArgument("operator " + oper.name() + " failed: " + what);
  };
  if (group.size > MR_MAX_COUNTER_NAME || name.size > MR_MAX_COUNTER_NAME) {
    return refuse("a counter with a group of " + std::to_string(group.size) + " and a name of " +
                  std::to_string(name.size) + " bytes; at most " + std::to_string(MR_MAX_COUNTER_NAME) +
                  " are possible");
  }
  const std::pair<std::string, std::string> key(Text(group), Text(name));
  auto counter = self->counters_.find(key);
  if (counter == self->counters_.end()) {
    // The host's own counters do not count against the limit.
    const size_t own = self->counters_.count({"mr", "bad_records"}) + self->counters_.count({"mr", "bad_bytes"});
    if (self->counters_.size() - own >= MR_MAX_COUNTERS) {
      return refuse("more than " + std::to_string(MR_MAX_COUNTERS) + " counters: '" + key.second.substr(0, 64) +
                    "' is one more; count totals, and emit what varies with the data");
    }
    counter = self->counters_.emplace(key, 0).first;
  }
  (void)__builtin_add_overflow(counter->second, n, &counter->second);  // it wraps
}

void Runner::HostFail(void* context, mr_bytes message) { HostFailAs(context, MR_FAILURE_USER, message); }

void Runner::HostFailAs(void* context, uint32_t failure, mr_bytes message) {
  auto* self = static_cast<Runner*>(context);
  // A cause that the host found (a bad partition, a full disk) takes precedence over its consequences.
  if (self->oper_.failure.ok() || self->user_failed_) {
    const std::string who = "operator " + self->oper_.name();
    const std::string text = Text({message.data, std::min<uint64_t>(message.size, kFailureBytes)});
    self->oper_.failure = failure == MR_FAILURE_RETRYABLE
                              ? Unavailable(who + " failed and asks to be tried again: " + text)
                              : InvalidArgument(who + " failed: " + text);
    self->oper_.final = failure == MR_FAILURE_FINAL;
    self->user_failed_ = true;
  }
}

int Runner::SkipBad(uint64_t records, uint64_t bytes, const std::string& what, const std::string& who) {
  if (!oper_.failure.ok()) return -1;
  const uint64_t limit = task_.max_bad_records, n = bad_records_ += records;
  if (n > limit) {
    oper_.final = true;
    oper_.failure =
        InvalidArgument(limit == 0 ? who + what + " (--max-bad-records N would skip up to N such records)"
                                   : who + "it met " + std::to_string(n) + " bad records, and --max-bad-records is " +
                                         std::to_string(limit) + "; the last one: " + what);
    return -1;
  }
  if (++bad_logged_ <= kBadRecordsLogged) {
    const std::string lines = records > 1 ? " (" + std::to_string(records) + " lines)" : "";
    const std::string line = "bad record, skipped" + lines + ": " + what;
    HostLog(this, Bytes(line));
  } else if (bad_logged_ == kBadRecordsLogged + 1) {
    HostLog(this, Bytes("further bad records are counted and not shown"));
  }
  if (bad_samples_.size() < kBadRecordsReported) bad_samples_.push_back(what.substr(0, kBadRecordBytes));
  counters_[{"mr", "bad_records"}] += static_cast<int64_t>(records);
  if (bytes > 0) counters_[{"mr", "bad_bytes"}] += static_cast<int64_t>(bytes);
  failed_in_.clear();  // it was the place of this record; a later failure has its own
  return 0;
}

void Runner::HostProgress(void* context) {
  static_cast<Runner*>(context)->link_->page()->pulse.fetch_add(1, std::memory_order_relaxed);
}

int Runner::HostBadRecord(void* context, mr_bytes what) { return HostBadRecords(context, 1, 0, what); }

int Runner::HostBadRecords(void* context, uint64_t records, uint64_t bytes, mr_bytes what) {
  auto* self = static_cast<Runner*>(context);
  return self->SkipBad(records, bytes, Text(what), "operator " + self->oper_.name() + " failed: ");
}

std::string Runner::PlaceOf(uint64_t record) const {
  if (reader_ == nullptr) return where_ + ", record " + std::to_string(record);
  BatchView view;
  if (BatchView::Parse(batch_.data(), batch_.size(), &view) != nullptr) return where_;
  return reader_->PlaceOf(view, record);
}

void Runner::HostRecordPlace(void* context, uint64_t record, mr_sink out) {
  const std::string place = static_cast<Runner*>(context)->PlaceOf(record);
  out.write(out.context, Bytes(place));
}

void Runner::HostFailedIn(void* context, mr_bytes place) {
  auto* self = static_cast<Runner*>(context);
  if (self->failed_in_.empty()) self->failed_in_ = Text(place);
}

int Runner::HostCancelled(void* context) {
  auto* self = static_cast<Runner*>(context);
  ProgressPage* page = self->link_->page();
  page->asks.store(1, std::memory_order_relaxed);
  return !self->oper_.failure.ok() || page->cancelled.load(std::memory_order_relaxed) != 0;
}

void Runner::HostLog(void*, mr_bytes line) {
  fwrite(line.data, 1, line.size, stdout);
  fputc('\n', stdout);
}

}  // namespace mr::task
