#include "worker/task/sort_buffer.h"

#include <algorithm>

#include "common/base/digest.h"
#include "common/base/prefetch.h"
#include "common/io/ledger.h"
#include "worker/task/batch_writer.h"

namespace mr::task {
namespace {
// Ranges with at most one distinct key per this many items are sorted by key, then by counting. For the words of a text
// that is several times faster than comparing all items (measured).
constexpr size_t kFewShare = 4;
// After so many items it is decided whether keys repeat at all (guess).
constexpr size_t kFirstLook = 2048;
// Smaller ranges are sorted directly (guess).
constexpr size_t kFewItems = 4096;
// Prefetch distance in records. With it, passing on 64 MiB of 100-byte records takes two thirds of the time (measured;
// the distance is a guess).
constexpr uint32_t kAhead = 8;
// Least bytes that records are allocated in, where the budget is small (guess).
constexpr uint64_t kLeastBlockBytes = 64u << 10;
// Returns how many records of these lengths WriteSorted puts into a chunk.
uint64_t FullChunk(uint64_t key, uint64_t value) {
  if (key + value > kOwnChunkBytes) return 1;
  BatchShape shape;
  const uint64_t none = shape.bound();
  shape.Add(key, value);
  const uint64_t each = shape.bound() - none;
  return (kBatchTargetBytes - none + each - 1) / each;
}

}  // namespace

SortBuffer::SortBuffer(Options options, Operator* oper)
    : options_(std::move(options)),
      oper_(oper),
      records_(std::max(kLeastBlockBytes, options_.budget / 8)),
      spill_(options_.scratch_directory) {
  if (oper_->table->compare != nullptr) order_ = {oper_->table, oper_->op};
}

Status SortBuffer::Add(std::string_view batch) {
  BatchView view;
  if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) {
    return InvalidArgument("operator " + oper_->name() + " emitted a bad batch: " + wrong);
  }
  if (view.size() == 0) return {};
  MR_RETURN_IF_ERROR(FindPartitions(options_.how, oper_, batch, view, &places_));
  partition_of_.insert(partition_of_.end(), places_.begin(), places_.end());
  if (items_.empty()) {
    fixed_ = true;
    fixed_key_ = view.key(0).size();
    fixed_value_ = view.value(0).size();
  }
  for (uint32_t i = 0; i < view.size(); ++i) {
    const std::string_view key = view.key(i), value = view.value(i);
    fixed_ &= key.size() == fixed_key_ && value.size() == fixed_value_;
    items_.push_back({records_.Add(key, value), order_.Prefix(key)});
  }
  Ledger::Count(Ledger::collect, uint64_t{view.key_bytes()} + view.value_bytes());
  record_bytes_ += uint64_t{view.key_bytes()} + view.value_bytes();
  used_ += uint64_t{view.key_bytes()} + view.value_bytes() +
           view.size() * (RecordStore::kHeaderBytes + 2 * sizeof(Item) + sizeof(uint32_t));
  return used_ >= options_.budget ? Spill() : Status();
}

ChunkWriter::Options SortBuffer::WriterOptions(bool final_pass) const {
  ChunkWriter::Options o;
  o.sorted = true;
  o.port = options_.how.port;
  o.order = order_;
  o.any_subset = (oper_->table->flags & MR_ASSOCIATIVE) != 0;
  // A spill knows only a part of a group, and only an associative combine may see a part.
  o.combine = options_.combine && (final_pass || o.any_subset);
  return o;
}

bool SortBuffer::SortFew(std::span<Item> items) {
  // An open-addressing table from key to its number, in the order of first sight; at most half full.
  constexpr uint32_t kNone = 0xffffffff;
  const size_t most = items.size() / kFewShare;
  uint32_t bits = 10;
  while ((size_t{1} << bits) < 2 * most) ++bits;
  std::vector<uint32_t> table(size_t{1} << bits, kNone);
  std::vector<Item> keys;       // first item of each key
  std::vector<uint32_t> count;  // parallel to keys
  std::vector<uint32_t> number(items.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string_view key = Key(items[i]);
    size_t at = Hash64(key) >> (64 - bits);
    while (table[at] != kNone && Key(keys[table[at]]) != key) at = (at + 1) & (table.size() - 1);
    if (table[at] == kNone) {
      // After a quarter of the items at the earliest, or where most of the first ones differ: little is lost.
      if (keys.size() == most || (i == kFirstLook && keys.size() > i / 2)) return false;
      table[at] = static_cast<uint32_t>(keys.size());
      keys.push_back(items[i]);
      count.push_back(0);
    }
    number[i] = table[at];
    ++count[table[at]];
  }
  std::vector<uint32_t> rank(keys.size());
  for (uint32_t i = 0; i < rank.size(); ++i) rank[i] = i;
  std::sort(rank.begin(), rank.end(), [&](uint32_t a, uint32_t b) { return Less(keys[a], keys[b]); });
  std::vector<uint32_t> place(keys.size());
  uint32_t next = 0;
  for (uint32_t k : rank) {
    place[k] = next;
    next += count[k];
  }
  std::vector<Item> sorted(items.size());
  for (size_t i = 0; i < items.size(); ++i) sorted[place[number[i]]++] = items[i];
  std::copy(sorted.begin(), sorted.end(), items.begin());
  return true;
}

void SortBuffer::Sort(std::span<Item> items) {
  const auto less = [this](const Item& a, const Item& b) { return Less(a, b); };
  // Keys that a custom order calls equal need not have equal bytes.
  if (order_.custom()) return std::sort(items.begin(), items.end(), less);
  // Both ways give the same order, so the output does not show which one was taken.
  if (items.size() > kFewItems && SortFew(items)) return;
  SortByPrefix(items);
  for (size_t from = 0; from < items.size();) {
    size_t to = from + 1;
    while (to < items.size() && items[to].prefix == items[from].prefix) ++to;
    if (to - from > 1) std::sort(items.begin() + from, items.begin() + to, less);
    from = to;
  }
}

void SortBuffer::Prefetch(std::span<const Item> items, size_t at) const {
  if (at + kAhead >= items.size()) return;
  records_.Ask(items[at + kAhead].place, ask_bytes_);
}

Status SortBuffer::WriteFolded(uint32_t partition, std::span<const Item> items, ChunkWriter* writer) {
  writer->Begin(partition);
  for (size_t i = 0; i < items.size(); ++i) {
    Prefetch(items, i);
    const RecordRef record = records_.At(items[i].place);
    MR_RETURN_IF_ERROR(writer->Add(record.key, record.value));
  }
  return writer->End();
}

Status SortBuffer::WriteSorted(uint32_t partition, std::span<const Item> items, const ChunkOut& out) {
  for (size_t from = 0; from < items.size();) {
    BatchShape shape;
    size_t to = from;
    if (fixed_) {
      shape.AddEqual(static_cast<uint32_t>(std::min(items.size() - from, FullChunk(fixed_key_, fixed_value_))),
                     fixed_key_, fixed_value_);
      to += shape.n();
    }
    while (!fixed_ && to < items.size()) {
      Prefetch(items, to);
      const RecordRef record = records_.At(items[to].place);
      const bool alone = record.key.size() + record.value.size() > kOwnChunkBytes;
      if (shape.n() > 0 && (alone || shape.bound() >= kBatchTargetBytes)) break;
      shape.Add(record.key.size(), record.value.size());
      ++to;
      if (alone) break;
    }
    uint16_t flags = order_.custom() ? 0 : kSorted;
    if (from > 0 && Key(items[from]) == Key(items[from - 1])) flags |= kContinuation;
    const uint64_t size = shape.size();
    char* room = out.room ? out.room(size) : nullptr;
    if (room == nullptr) {
      if (chunk_.size() < size) chunk_.resize(size);
      room = chunk_.data();
    }
    const std::span<const Item> chosen = items.subspan(from);
    WriteBatch(
        shape, flags,
        [&](uint32_t i) {
          Prefetch(chosen, i);
          return records_.At(chosen[i].place);
        },
        nullptr, room);
    Ledger::Count(Ledger::gather, size);
    MR_RETURN_IF_ERROR(out(partition, shape.n(), {room, size}));
    from = to;
  }
  return {};
}

Status SortBuffer::Drain(const ChunkWriter::Options& options, const ChunkOut& out) {
  ask_bytes_ = std::min<uint64_t>(record_bytes_ / std::max<size_t>(1, items_.size()), kMostAskedBytes);
  // First by partition: a counting sort that keeps the order of emission.
  std::vector<uint32_t> begin(options_.how.partitions + 1, 0);
  for (uint32_t p : partition_of_) ++begin[p + 1];
  for (uint32_t p = 0; p < options_.how.partitions; ++p) begin[p + 1] += begin[p];
  ordered_.resize(items_.size());
  std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
  for (size_t i = 0; i < items_.size(); ++i) ordered_[at[partition_of_[i]]++] = items_[i];

  ChunkWriter folding(options, oper_, out);
  for (uint32_t p = 0; p < options_.how.partitions; ++p) {
    const std::span<Item> part{ordered_.data() + begin[p], ordered_.data() + begin[p + 1]};
    Sort(part);
    MR_RETURN_IF_ERROR(options.combine ? WriteFolded(p, part, &folding) : WriteSorted(p, part, out));
  }
  items_.clear();
  partition_of_.clear();
  records_.Clear();
  record_bytes_ = used_ = 0;
  return {};
}

Status SortBuffer::Spill() {
  SpilledRun& run = runs_.emplace_back();
  run.partitions.resize(options_.how.partitions);
  return Drain(WriterOptions(false), [&](uint32_t partition, uint32_t, std::string_view batch) -> Status {
    MR_ASSIGN_OR_RETURN(const uint64_t at, spill_.Append(batch));
    run.partitions[partition].chunks.push_back({nullptr, batch.size(), at});
    return {};
  });
}

Status SortBuffer::Finish(const ChunkOut& out) {
  if (runs_.empty()) return Drain(WriterOptions(true), out);
  ChunkWriter writer(WriterOptions(true), oper_, out);
  if (!items_.empty()) MR_RETURN_IF_ERROR(Spill());
  for (uint32_t p = 0; p < options_.how.partitions; ++p) {
    writer.Begin(p);
    std::vector<const Run*> sources;
    for (const SpilledRun& run : runs_) sources.push_back(&run.partitions[p]);
    Merger merger(sources, &spill_, order_);
    MR_RETURN_IF_ERROR(merger.Start());
    while (!merger.done()) {
      MR_RETURN_IF_ERROR(writer.Add(merger.key(), merger.value()));
      MR_RETURN_IF_ERROR(merger.Next());
    }
    MR_RETURN_IF_ERROR(writer.End());
  }
  return {};
}

}  // namespace mr::task
