#include "worker/task/sort_buffer.h"

#include <algorithm>

#include "common/base/digest.h"

namespace mr::task {

SortBuffer::SortBuffer(Options options, Operator* oper)
    : options_(std::move(options)), oper_(oper), spill_(options_.scratch_directory) {
  if (oper_->table->compare != nullptr) order_ = {oper_->table, oper_->op};
}

Status SortBuffer::Add(std::string_view batch) {
  auto copy = std::make_unique<std::string>(batch);
  BatchView view;
  if (const char* wrong = BatchView::Parse(copy->data(), copy->size(), &view)) {
    return InvalidArgument("operator " + oper_->name() + " emitted a bad batch: " + wrong);
  }
  if (view.size() == 0) return {};
  MR_RETURN_IF_ERROR(Partition(*copy, view));
  for (uint32_t i = 0; i < view.size(); ++i) {
    const std::string_view key = view.key(i), value = view.value(i);
    entries_.push_back({options_.sorted ? order_.Prefix(key) : 0, key.data(), value.data(),
                        static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())});
  }
  used_ += batch.size() + view.size() * (sizeof(Entry) + sizeof(Item) + sizeof(uint32_t));
  batches_.push_back(std::move(copy));
  return used_ >= options_.budget ? Spill() : Status();
}

Status SortBuffer::Partition(std::string_view bytes, const BatchView& view) {
  const uint32_t n = view.size(), partitions = options_.partitions;
  places_.assign(n, 0);
  if (options_.custom_partition) {
    MR_RETURN_IF_ERROR(CallOperator(*oper_, "partition", [&] {
      return oper_->table->partition(oper_->op, options_.port, {bytes.data(), bytes.size()}, partitions,
                                     places_.data());
    }));
    for (uint32_t p : places_) {
      if (p < partitions) continue;
      return InvalidArgument("PARTITION_OUT_OF_RANGE: operator " + oper_->name() + " partition() gave " +
                             std::to_string(p) + " for port " + std::to_string(options_.port) +
                             ", which has " + std::to_string(partitions) + " partitions");
    }
  } else if (partitions > 1) {
    for (uint32_t i = 0; i < n; ++i) {
      places_[i] = static_cast<uint32_t>(Hash64(view.key(i), options_.seed) % partitions);
    }
  }
  partition_of_.insert(partition_of_.end(), places_.begin(), places_.end());
  return {};
}

ChunkWriter::Options SortBuffer::WriterOptions(bool final_pass) const {
  ChunkWriter::Options o;
  o.sorted = options_.sorted;
  o.port = options_.port;
  o.order = order_;
  o.any_subset = (oper_->table->flags & MR_ASSOCIATIVE) != 0;
  // Only an associative combine may see a part of a group, which is all that a spill knows.
  o.combine = options_.combine && (final_pass || o.any_subset);
  return o;
}

Status SortBuffer::Drain(ChunkWriter* writer) {
  // By partition first: a counting sort that keeps the order of emission.
  std::vector<uint32_t> begin(options_.partitions + 1, 0);
  for (uint32_t p : partition_of_) ++begin[p + 1];
  for (uint32_t p = 0; p < options_.partitions; ++p) begin[p + 1] += begin[p];
  std::vector<Item> items(entries_.size());
  std::vector<uint32_t> at(begin.begin(), begin.end() - 1);
  for (uint32_t i = 0; i < entries_.size(); ++i) items[at[partition_of_[i]]++] = {entries_[i].prefix, i};

  const auto less = [this](const Item& a, const Item& b) {
    if (a.prefix != b.prefix) return a.prefix < b.prefix;
    const int c = order_.Compare(entries_[a.entry].Key(), entries_[b.entry].Key());
    return c != 0 ? c < 0 : a.entry < b.entry;
  };
  for (uint32_t p = 0; p < options_.partitions; ++p) {
    if (options_.sorted) std::sort(items.begin() + begin[p], items.begin() + begin[p + 1], less);
    writer->Begin(p);
    for (uint32_t i = begin[p]; i < begin[p + 1]; ++i) {
      const Entry& e = entries_[items[i].entry];
      MR_RETURN_IF_ERROR(writer->Add(e.Key(), e.Value()));
    }
    MR_RETURN_IF_ERROR(writer->End());
  }
  entries_.clear();
  partition_of_.clear();
  batches_.clear();
  used_ = 0;
  return {};
}

Status SortBuffer::Spill() {
  SpilledRun& run = runs_.emplace_back();
  run.partitions.resize(options_.partitions);
  ChunkWriter writer(WriterOptions(false), oper_,
                     [&](uint32_t partition, uint32_t, std::string_view batch) -> Status {
                       MR_ASSIGN_OR_RETURN(const uint64_t at, spill_.Append(batch));
                       run.partitions[partition].chunks.push_back({nullptr, batch.size(), at});
                       return {};
                     });
  return Drain(&writer);
}

Status SortBuffer::Finish(const ChunkOut& out) {
  ChunkWriter writer(WriterOptions(true), oper_, out);
  if (runs_.empty()) return Drain(&writer);
  if (!entries_.empty()) MR_RETURN_IF_ERROR(Spill());
  for (uint32_t p = 0; p < options_.partitions; ++p) {
    writer.Begin(p);
    if (options_.sorted) {
      std::vector<const Run*> sources;
      for (const SpilledRun& run : runs_) sources.push_back(&run.partitions[p]);
      Merger merger(sources, &spill_, order_);
      MR_RETURN_IF_ERROR(merger.Start());
      while (!merger.done()) {
        MR_RETURN_IF_ERROR(writer.Add(merger.key(), merger.value()));
        MR_RETURN_IF_ERROR(merger.Next());
      }
    } else {
      for (const SpilledRun& run : runs_) {
        RunCursor cursor(&run.partitions[p], &spill_, order_);
        MR_RETURN_IF_ERROR(cursor.NextChunk());
        while (!cursor.at_end()) {
          MR_RETURN_IF_ERROR(writer.Add(cursor.key(), cursor.value()));
          MR_RETURN_IF_ERROR(cursor.Advance());
        }
      }
    }
    MR_RETURN_IF_ERROR(writer.End());
  }
  return {};
}

}  // namespace mr::task
