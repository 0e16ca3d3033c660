// Simulates progress reports: one frame per worker and period, which may be lost or late.
#include <algorithm>
#include <cmath>

#include "common/base/digest.h"
#include "master/sim/engine/simulation.h"

namespace mr::sim {

// Sends one frame for all attempts of the worker that moved by report_share of their work, or at all and were silent
// for ten periods.
void Simulation::Report(uint32_t w) {
  Worker& worker = workers_[w];
  worker.reporting = worker.up && !worker.attempts.empty();
  if (!worker.reporting) return;
  queue_.Push(now_ + experiment_.tasks.report_period, Kind::kReport, w);
  sched::AttemptProgress frame{{w + 1}, worker.incarnation, {}};
  for (const uint32_t index : worker.attempts) {
    Attempt& a = attempts_[index];
    if (a.at != At::kRunning || ModelOf(a.id.task).silent) continue;
    const double before = a.phase == Phase::kRead ? 0 : (static_cast<int>(a.phase) - 1) * a.bytes;
    const double total = a.phase == Phase::kRead ? a.bytes : 3 * a.bytes;
    double moved = MovedBy(a);
    if (a.shape != 1) moved = before + a.bytes * std::pow(std::clamp((moved - before) / a.bytes, 0.0, 1.0), a.shape);
    if (moved <= a.reported) continue;
    if (moved - a.reported < experiment_.tasks.report_share * total &&
        now_ - a.reported_at < experiment_.tasks.report_period * 10) {
      continue;
    }
    a.reported = moved;
    a.reported_at = now_;
    // Scores count in thirds, one per phase of a reduce: report what it has done of its phase.
    const double counted = a.phase == Phase::kReduce ? ModelOf(a.id.task).taken : 1;
    frame.reports.push_back(
        {a.id, static_cast<uint8_t>(a.phase), static_cast<uint64_t>(std::max(0.0, moved - before) * counted),
         static_cast<uint64_t>(a.bytes), static_cast<uint64_t>(moved / kRecordBytes), a.phase != Phase::kCopy});
  }
  if (!frame.reports.empty()) SendFrame(w, std::move(frame));
}

// Frames of a worker keep their order, as on a connection.
void Simulation::SendFrame(uint32_t w, sched::AttemptProgress frame) {
  const TaskModel& m = experiment_.tasks;
  Worker& worker = workers_[w];
  Instant at = now_;
  if (m.report_lost > 0 || m.report_late > 0) {
    Rng rng(MixHash(MixHash(experiment_.seed, kFrameLuck), uint64_t{w} << 32 | worker.frames++));
    if (rng.Uniform() < m.report_lost) return;
    if (rng.Uniform() < m.report_late) at = now_ + FromSeconds(rng.Uniform() * m.report_late_by.seconds());
    at = worker.frame_at = std::max(at, worker.frame_at);
  }
  if (at <= now_) return Step(std::move(frame));
  uint32_t slot = static_cast<uint32_t>(frames_.size());
  if (free_frames_.empty()) {
    frames_.emplace_back();
  } else {
    slot = free_frames_.back();
    free_frames_.pop_back();
  }
  frames_[slot] = std::move(frame);
  queue_.Push(at, Kind::kFrame, slot);
}

void Simulation::DeliverFrame(uint32_t slot) {
  sched::AttemptProgress frame = std::move(frames_[slot]);
  free_frames_.push_back(slot);
  Step(std::move(frame));
}

}  // namespace mr::sim
