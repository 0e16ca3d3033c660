#include "worker/daemon/progress.h"

#include <algorithm>

namespace mr::worker {
namespace {

bool Moved(const ProgressFrame& from, const ProgressFrame& to) {
  return from.progress.phase != to.progress.phase || from.progress.taken_bytes != to.progress.taken_bytes ||
         from.progress.records != to.progress.records || from.progress.pulse != to.progress.pulse ||
         from.inputs_done != to.inputs_done;
}

bool MovedFar(const ProgressFrame& from, const ProgressFrame& to) {
  if (from.progress.phase != to.progress.phase || from.inputs_done != to.inputs_done) return true;
  const uint64_t total = to.progress.total_bytes, before = from.progress.taken_bytes, taken = to.progress.taken_bytes;
  // It falls when a read fails.
  return total > 0 && (taken > before ? taken - before : before - taken) * ProgressGate::kSteps >= total;
}

constexpr double kMostBytes = 1e18;  // a larger estimate does not fit into 64 bits

}  // namespace

void CountFetched(std::span<const SliceProgress> slices, TaskProgress* progress) {
  if (progress->phase != kShufflePhase || progress->total_bytes > 0) return;
  uint64_t arrived = 0, total = 0;
  for (const auto& [fetched, reads] : slices) {
    if (reads == 0) continue;
    if (fetched.segments == 0) return;
    arrived += fetched.arrived_bytes;
    const double each = static_cast<double>(fetched.expected_bytes) / fetched.segments;
    total += std::max(fetched.expected_bytes, static_cast<uint64_t>(std::min(each * reads, kMostBytes)));
  }
  progress->taken_bytes = arrived;
  progress->total_bytes = total;
}

std::vector<ProgressFrame> ProgressGate::Due(Instant now, const std::vector<ProgressFrame>& present) {
  if (now - last_ < kPeriod) return {};
  std::map<AttemptId, Sent> next;
  std::vector<ProgressFrame> moved;
  bool due = false;
  for (const ProgressFrame& frame : present) {
    const auto it = sent_.find(frame.attempt);
    const Sent before = it != sent_.end() ? it->second : Sent{{frame.attempt, {}, false}, now};
    next.emplace(frame.attempt, before);
    if (!Moved(before.frame, frame)) continue;
    moved.push_back(frame);
    due |= MovedFar(before.frame, frame) || now - before.at >= kLongest;
  }
  sent_ = std::move(next);  // attempts that are gone are forgotten
  if (!due) return {};
  last_ = now;
  for (const ProgressFrame& frame : moved) sent_[frame.attempt] = {frame, now};
  return moved;
}

}  // namespace mr::worker
