#include "worker/task/inputs.h"

#include <algorithm>
#include <cstring>

#include "common/abi/batch.h"
#include "common/io/ledger.h"

namespace mr::task {

namespace {

// Returns the bytes of keys and values that the chunk's header announces; it is checked where the chunk is merged.
uint64_t RecordBytes(const std::string& chunk) {
  BatchHeader header;
  if (chunk.size() < sizeof header) return 0;
  std::memcpy(&header, chunk.data(), sizeof header);
  return std::min<uint64_t>(chunk.size(), uint64_t{header.key_bytes} + header.value_bytes);
}

}  // namespace

Inputs::Inputs(const std::vector<WireEdge>& edges, std::string scratch_directory, uint64_t budget)
    : edges_(edges), budget_(budget), spill_(std::move(scratch_directory)) {
  for (const WireEdge& e : edges_) begun_[e.input] = complete_[e.input] = 0;
}

const WireEdge* Inputs::edge(uint32_t input) const {
  for (const WireEdge& e : edges_) {
    if (e.input == input) return &e;
  }
  return nullptr;
}

Status Inputs::Add(const SegmentKey& key, std::string chunk, bool last) {
  if (edge(key.input) == nullptr)
    return Internal("a segment came for input " + std::to_string(key.input) + ", which is no edge");
  auto [it, fresh] = segments_.try_emplace(key);
  Segment& segment = it->second;
  if (fresh) {
    segment.run.tag = static_cast<uint8_t>(key.input);
    ++begun_[key.input];
  }
  if (segment.complete) return Internal("a segment got bytes after its end");
  if (!chunk.empty()) {
    record_bytes_ += RecordBytes(chunk);
    Chunk c{nullptr, chunk.size(), 0};
    if (in_memory_ + chunk.size() <= budget_) {
      in_memory_ += chunk.size();
      segment.memory.push_back(std::make_unique<std::string>(std::move(chunk)));
      c.data = segment.memory.back()->data();
    } else {
      MR_ASSIGN_OR_RETURN(c.offset, spill_.Append(chunk));
      segment.memory.push_back(nullptr);
    }
    segment.run.chunks.push_back(c);
  }
  if (last) {
    segment.complete = true;
    ++complete_[key.input];
  }
  return {};
}

std::vector<std::pair<SegmentKey, Segment*>> Inputs::Of(uint32_t input) {
  std::vector<std::pair<SegmentKey, Segment*>> all;
  for (auto it = segments_.lower_bound({input, 0, 0}); it != segments_.end() && it->first.input == input; ++it) {
    all.emplace_back(it->first, &it->second);
  }
  return all;
}

Result<const char*> Inputs::Bytes(const Chunk& chunk) {
  if (chunk.data != nullptr) return chunk.data;
  return spill_.At(chunk.offset, chunk.size);
}

void Inputs::Drop(Segment* segment, size_t chunk) {
  if (segment->memory[chunk] == nullptr) return;
  in_memory_ -= segment->memory[chunk]->size();
  segment->memory[chunk] = nullptr;
  segment->run.chunks[chunk].data = nullptr;
}

std::vector<const Run*> GroupedStream::Runs(Inputs* inputs, const std::vector<uint32_t>& grouped) {
  std::vector<const Run*> runs;
  for (uint32_t input : grouped) {
    for (auto& [key, segment] : inputs->Of(input)) {
      if (!segment->run.chunks.empty()) runs.push_back(&segment->run);
    }
  }
  return runs;
}

GroupedStream::GroupedStream(Inputs* inputs, const std::vector<uint32_t>& grouped, KeyOrder order)
    : order_(order),
      tagged_(grouped.size() > 1),
      input_(grouped.front()),
      merger_(Runs(inputs, grouped), inputs->spill(), order) {}

Result<bool> GroupedStream::Next(mr_batch* out) {
  if (merger_.done()) return false;
  uint16_t flags = order_.custom() ? 0 : kSorted;
  if (any_ && order_.Equal(merger_.key(), last_key_)) flags |= kContinuation;
  records_.clear();
  BatchShape shape;
  while (!merger_.done() && shape.bound(tagged_) < kBatchTargetBytes) {
    // Views of the merger stay valid, because chunks of grouped inputs are kept.
    const Record record{{merger_.key(), merger_.value()}, merger_.tag()};
    const uint64_t bytes = record.ref.key.size() + record.ref.value.size();
    // A record that would make the batch much larger than its target begins the next one.
    if (shape.n() > 0 && shape.bound(tagged_) + bytes > 2ull * kBatchTargetBytes) break;
    shape.Add(record.ref.key.size(), record.ref.value.size());
    records_.push_back(record);
    MR_RETURN_IF_ERROR(merger_.Next());
  }
  last_key_.assign(records_.back().ref.key);
  any_ = true;
  bytes_.Clear();
  char* const to = bytes_.Extend(shape.size(tagged_));
  const auto record_at = [this](uint32_t i) { return records_[i].ref; };
  if (tagged_) {
    WriteBatch(
        shape, flags, record_at, [this](uint32_t i) { return records_[i].tag; }, to);
  } else {
    WriteBatch(shape, flags, record_at, nullptr, to);
  }
  Ledger::Count(Ledger::merge, bytes_.size());
  *out = {};
  out->struct_size = sizeof *out;
  out->input = input_;
  out->grouped = 1;
  out->data = {bytes_.data(), bytes_.size()};
  return true;
}

}  // namespace mr::task
