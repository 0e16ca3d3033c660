#include "worker/host/packet_checks.h"

#include <algorithm>

#include "common/abi/batch.h"
#include "common/abi/operator_table.h"
#include "common/base/fields.h"
#include "common/io/ledger.h"
#include "common/model/report.h"
#include "worker/host/task_host.h"

namespace mr::worker {

using task::Header;
using task::Kind;

namespace {
// Most bytes of a result: more than any valid one with all its counters. A child that sends more is broken.
constexpr size_t kMaxResultBytes = 16u << 20;
constexpr uint32_t kMaxReadMore = 1u << 20;
// Most counters in a result: those of the operator and of the host. A child that sends more is broken. report.h has the
// limits of bad records and hot keys.
constexpr size_t kMaxCounters = MR_MAX_COUNTERS + MR_HOST_COUNTERS;
// Most bytes of a chunk: one record of 16 MiB, plus headers.
constexpr size_t kMaxChunkBytes = kMaxRecordBytes + (4u << 20);
}  // namespace

PacketChecks::PacketChecks(const std::vector<Port>& ports, size_t splits, const task::ArenaLayout& slots)
    : splits_(splits), input_slots_(slots.input_slots), output_slots_(slots.output_slots) {
  for (uint32_t port = 0; port < ports.size(); ++port) {
    port_of_.insert(port_of_.end(), ports[port].files ? 1 : ports[port].partitions, port);
    files_.push_back(ports[port].files);
  }
}

const char* PacketChecks::Take(const task::Packet& packet, uint64_t sent, const char* output_slots,
                               PacketEffect* effect) {
  effect->kind = PacketEffect::kNothing;
  if (done_) return "it sent a packet after its result";
  if (!packet.fds.empty()) return "a packet with descriptors";
  const Header& h = packet.header;
  switch (h.kind) {
    case Kind::kOutput: return Output(h, sent, output_slots, effect);
    case Kind::kTaken: effect->kind = PacketEffect::kTaken; return Taken(h, sent);
    case Kind::kReadMore: effect->kind = PacketEffect::kReadMore; return ReadMore(h, sent);
    case Kind::kDone: return Done(packet, effect);
    default: return "a packet of an unknown kind";
  }
}

std::optional<uint32_t> PacketChecks::FreeInputSlot() const {
  const auto free = std::find_if(input_slots_.begin(), input_slots_.end(), [](const Use& u) { return !u.busy; });
  if (free == input_slots_.end()) return std::nullopt;
  return static_cast<uint32_t>(free - input_slots_.begin());
}

const char* PacketChecks::Output(const Header& h, uint64_t sent, const char* output_slots, PacketEffect* effect) {
  if (h.d >= output_slots_.size() || output_slots_[h.d].busy || sent < output_slots_[h.d].known_from) {
    return "an output slot that is not free";
  }
  if (h.x == 0 || h.x > task::kSlotBytes) return "an output slot overrun";
  if (h.b >= port_of_.size() || port_of_[h.b] != h.a) return "output for a partition that is not its own";
  // Memory for a header in front of a shuffle chunk.
  const uint32_t front = files_[h.a] ? 0 : kOutputFront;
  if (partial_.empty()) {
    partial_of_ = h.b;
    partial_.reserve(front + h.x);
    partial_.resize(front);
  } else if (partial_of_ != h.b) {
    return "a chunk in fragments of two partitions";
  }
  if (partial_.size() + h.x > kMaxChunkBytes) return "a chunk of output that is too large";
  // Copied before any check, because the child can still write to the arena.
  partial_.append(output_slots + uint64_t{h.d} * task::kSlotBytes, h.x);
  Ledger::Count(Ledger::take_output, h.x);
  output_slots_[h.d].busy = true;
  if (h.y & task::kFragment) {
    effect->kind = PacketEffect::kFragment;
    return nullptr;
  }
  effect->kind = PacketEffect::kChunk;
  effect->chunk.clear();
  effect->chunk.swap(partial_);
  if (h.b < last_partition_ && !files_[h.a]) return "output for partitions out of order";
  if (!files_[h.a]) {
    BatchView view;
    const std::string_view batch = std::string_view(effect->chunk).substr(front);
    if (const char* wrong = BatchView::Parse(batch.data(), batch.size(), &view)) return wrong;
    if (view.size() != h.c) return "a batch with another number of records than announced";
  }
  last_partition_ = h.b;
  return nullptr;
}

const char* PacketChecks::Taken(const Header& h, uint64_t sent) {
  if (h.d >= input_slots_.size() || !input_slots_[h.d].busy || sent < input_slots_[h.d].known_from) {
    return "an input slot that it was not given";
  }
  input_slots_[h.d].busy = false;
  return nullptr;
}

const char* PacketChecks::ReadMore(const Header& h, uint64_t sent) {
  if (h.a >= splits_) return "a read of a split that does not exist";
  if (h.b == 0 || h.b > kMaxReadMore) return "a read of too many bytes";
  if (reading_.busy || sent < reading_.known_from) return "a read before the previous one was answered";
  reading_.busy = true;
  return nullptr;
}

const char* PacketChecks::Done(const task::Packet& packet, PacketEffect* effect) {
  done_blob_ += packet.payload;
  if (done_blob_.size() > kMaxResultBytes) return "a result that is too large";
  if (packet.header.more) return nullptr;
  task::WireResult& result = effect->result;
  result = {};
  if (!DecodeFields(done_blob_, &result) || result.outcome > task::Outcome::kUserFinal)
    return "a result that cannot be read";
  if (!partial_.empty() || reading_.busy) return "a result before its output or a read was complete";
  if (result.counters.size() > kMaxCounters) return "a result with too many counters";
  for (const task::WireCounter& c : result.counters) {
    if (c.group.size() > MR_MAX_COUNTER_NAME || c.name.size() > MR_MAX_COUNTER_NAME) {
      return "a result with a counter whose group or name is too long";
    }
  }
  if (result.bad_records.size() > kMaxBadRecords) return "a result with too many messages about bad records";
  if (result.hot_keys.size() > kMaxHotKeys) return "a result with too many hot keys";
  for (const HotKey& key : result.hot_keys) {
    if (key.partition >= port_of_.size() || port_of_[key.partition] != key.port || key.prefix.size() > kHotKeyPrefix) {
      return "a hot key of a partition that is not its own";
    }
  }
  done_ = true;
  effect->kind = PacketEffect::kTaskResult;
  return nullptr;
}

}  // namespace mr::worker
