#include "master/host/job_reader.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/base/text.h"
#include "master/core/failure_text.h"
#include "master/host/pending.h"
#include "master/host/standing_still.h"
#include "master/sched/job_bins.h"
#include "master/sched/policies/common/figures.h"
#include "master/sched/policies/jockey/jockey.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

uint64_t MicrosOf(Duration duration) { return duration.ns > 0 ? static_cast<uint64_t>(duration.ns) / 1000 : 0; }

uint64_t MicrosOfSeconds(double seconds) { return seconds > 0 ? static_cast<uint64_t>(seconds * 1e6) : 0; }

uint64_t StageBytes(const JobView& job, uint32_t s) {
  if (job.spec.stages[s].reads_files()) return job.plan.stages[s].input_bytes;
  uint64_t bytes = 0;
  for (const InputSpec& input : job.spec.stages[s].inputs) bytes += job.stages[input.stage].output_bytes;
  return bytes;
}

StageStatus StageStatusOf(const JobView& job, uint32_t s, const StageCounts& counts, Instant now) {
  const StageView& stage = job.stages[s];
  const StageNotes& notes = job.notes.stages[s];
  StageStatus out{.name = job.spec.stages[s].name,
                  .planned = stage.planned,
                  .tasks = job.plan.stages[s].tasks,
                  .done = counts.done,
                  .running = counts.running,
                  .waiting = counts.waiting,
                  .failed = notes.failed,
                  .input_bytes = StageBytes(job, s),
                  .taken_bytes = notes.taken_bytes,
                  .output_bytes = stage.output_bytes,
                  .output_records = stage.output_records};
  if (notes.started) {
    const bool all_done = stage.planned && counts.done == job.plan.stages[s].tasks;
    const Instant end = all_done ? notes.last_commit : Ended(job.state) ? job.ended : now;
    out.elapsed_us = MicrosOf(end - notes.first_launch);
  }
  return out;
}

SkewStatus SkewStatusOf(const JobView& job, const Skew& skew) {
  return {.stage = skew.stage,
          .partition = skew.key.partition,
          .key = PrintableBytes(skew.key.prefix),
          .cut = skew.key.cut,
          .partitions_known = skew.partitions_known,
          .records = skew.key.records,
          .bytes = skew.key.bytes,
          .stage_records = skew.stage_records,
          .stage_bytes = skew.stage_bytes,
          .partition_bytes = skew.partition_bytes,
          .median_bytes = skew.median_bytes,
          .text = SkewText(skew, job.spec.stages[skew.stage].name)};
}

}  // namespace

JobReader::JobReader(const MasterCore& core, const HostClock& clock, const InputWaits& inputs, std::string policies)
    : core_(core), clock_(clock), inputs_(inputs), policies_(std::move(policies)) {}

JobStatus JobReader::StatusOf(const JobView& job) const {
  JobStatus out;
  out.id = job.id;
  out.name = job.spec.name;
  out.state = ShownState(job);
  out.queue = job.spec.queue;
  out.priority = job.spec.priority;
  out.output_uri = job.spec.output_uri;
  out.error = job.error.c_str();  // to its first NUL: it may have what an operator wrote
  if (!Ended(ShownState(job))) out.last_failure = job.notes.last_failure.c_str();
  out.submitted_unix_ms = job.wall_ms;
  out.submission_id = job.submission_id;
  out.owner = job.owner;
  const Instant now = clock_.last_stamp();
  out.elapsed_us = MicrosOf((Ended(job.state) ? job.ended : now) - job.submitted);
  for (uint32_t s = 0; s < job.stages.size(); ++s)
    out.stages.push_back(StageStatusOf(job, s, core_.attempts().Counts(job, s), now));
  const UnneededTime unneeded = core_.attempts().Unneeded(job, now);
  for (size_t i = 0; i < kCauses; ++i) {
    const sched::CauseCount& count = job.notes.causes[i];
    // Only those that occurred: a list of many jobs is one message.
    if (count.launched == 0) continue;
    out.causes.push_back({CauseName(static_cast<Cause>(i + 1)), count.launched, count.won,
                          MicrosOf(count.wasted + unneeded.by_cause[i])});
  }
  out.clones = ClonesOf(job);
  if (out.clones) {
    out.clones->extra_us += MicrosOf(unneeded.cloned);
    out.clones->lent_extra_us += MicrosOf(unneeded.lent);
  }
  out.steering = SteeringOf(job);
  out.deadline = DeadlineOf(job);
  if (!Ended(job.state) && core_.workers().NoneToCome()) {
    out.warnings.push_back("no worker is registered; the job waits until one is (see mrctl doctor)");
  }
  for (const auto& [stage, text] : job.notes.warnings) out.warnings.push_back(text);
  for (const std::string& uri : job.notes.grown) out.warnings.push_back(GrownText(uri));
  for (const Skew& skew : job.notes.skew) out.skew.push_back(SkewStatusOf(job, skew));
  for (auto& [attempt, text] : Hung(core_, job, clock_.Present())) out.hung.push_back(std::move(text));
  out.waits = WhyWaits(core_, clock_, job);
  for (std::string& line : inputs_.Why(job.id)) out.waits.push_back(std::move(line));
  if (job.state != JobState::kCommitting && job.state != JobState::kSucceeded) return out;
  const OutputTotals totals = job.brief ? job.totals : TotalsOf(job.Outputs());
  out.output_bytes = totals.bytes;
  out.output_records = totals.records;
  out.output_parts = totals.parts;
  out.output_digest = totals.digest;
  return out;
}

std::optional<SteeringStatus> JobReader::SteeringOf(const JobView& job) const {
  if (!job.notes.steering.any()) return std::nullopt;
  SteeringStatus out;
  out.held_slot_s = job.notes.steering.HeldUntil(clock_.last_stamp()).seconds();
  for (const SteeringPoint& p : job.notes.steering.points) {
    out.points.push_back({p.at.seconds(), p.progress, p.slots, p.asked, p.left.seconds(), p.deadline.seconds()});
  }
  return out;
}

std::optional<CloneStatus> JobReader::ClonesOf(const JobView& job) const {
  const sched::CauseCount& clones = job.notes.causes[CauseIndex(Cause::kClone)];
  const sched::CauseCount& lent = job.notes.causes[CauseIndex(Cause::kOpportunistic)];
  if (clones.launched + lent.launched == 0 && job.notes.clones.exclusive + job.notes.clones.contended == 0)
    return std::nullopt;
  CloneStatus out{.launched = clones.launched,
                  .won = clones.won,
                  .killed = job.notes.clones.killed,
                  .extra_us = MicrosOf(job.notes.clones.extra),
                  .exclusive = job.notes.clones.exclusive,
                  .contended = job.notes.clones.contended,
                  .rebound = job.notes.clones.rebound,
                  .lent_launched = lent.launched,
                  .lent_won = lent.won,
                  .lent_killed = job.notes.lent.killed,
                  .lent_extra_us = MicrosOf(job.notes.lent.extra)};
  size_t tasks = 0;
  for (const StagePlan& stage : job.plan.stages) tasks += stage.tasks;
  const std::string bin = std::to_string(sched::BinOfTasks(tasks));
  for (const sched::Figure& figure : core_.scheduler().Figures(job.id, clock_.last_stamp())) {
    if (figure.name == sched::kBudgetFigure) out.budget = static_cast<uint64_t>(figure.value);
    if (figure.name == sched::kUsedFigure) out.budget_used = static_cast<uint64_t>(figure.value);
    if (figure.name != sched::kOmegaFigure || figure.label != bin) continue;
    out.omega_known = true;
    out.omega_us = std::isinf(figure.value) ? UINT64_MAX : static_cast<uint64_t>(figure.value * 1e6);
  }
  return out;
}

std::optional<DeadlineStatus> JobReader::DeadlineOf(const JobView& job) const {
  if (job.spec.deadline.ns <= 0 && job.spec.utility.empty()) return std::nullopt;
  DeadlineStatus out{.deadline_us = MicrosOfSeconds(job.spec.deadline.seconds()),
                     .steered = sched::Scheduler::Steers(policies_),
                     .best_effort = job.spec.best_effort};
  out.scale = 0;  // unless the scheduler knows it
  if (const sched::Job* known = core_.scheduler().state().FindJob(job.id)) {
    out.predicted = known->prediction.known();
    out.runs = known->prediction.runs;
    out.scale = known->prediction.scale;
    if (known->running()) out.guaranteed = known->share;
    out.held = known->holding;
    const bool steered = known->running() && out.steered && job.notes.steering.any();
    if (steered) {
      const SteeringPoint& step = job.notes.steering.points.back();
      out.asked = step.asked;
      if (out.predicted && out.runs > 0) {
        // A step's estimate is for the guaranteed slots and stands until the next one. A job that holds more ends
        // sooner.
        const Duration elapsed = clock_.last_stamp() - job.submitted;
        out.promised_ends_us = std::max(MicrosOf(step.at + step.left), MicrosOf(elapsed));
        const sched::JobLeft left = sched::LeftWith(*known, std::max(out.guaranteed, out.held));
        const uint64_t ends_us = MicrosOf(elapsed) + MicrosOfSeconds(left.median);
        out.ends_us = out.held > out.guaranteed ? std::min(ends_us, out.promised_ends_us) : out.promised_ends_us;
        out.spread_us = MicrosOfSeconds(left.spread);
      }
    }
  }
  return out;
}

}  // namespace mr::master
