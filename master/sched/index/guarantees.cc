// The part of QueueIndex about guaranteed slots.
#include <algorithm>

#include "master/sched/index/queues.h"

namespace mr::sched {

void QueueIndex::CountGuarantee(Job& job) {
  using Place = GuaranteeCount::Place;
  if (job.share == 0 && !job.guarantee.listed) return;
  GuaranteeCount now;
  if (job.running() && job.share > 0) {
    now.listed = true;
    now.due = job.due();
    now.held = sharing_.by_kind ? job.held[KindIndex(SlotKind::kMap)] : job.holding;
    now.within = std::min(job.share, now.held);
    now.outside = sharing_.spare_last ? now.held : now.within;
    const bool ready = job.ready_stages[0] + job.ready_stages[1] > 0;
    if (ready) now.place = BelowGuarantee(job) ? Place::kWanting : Place::kSpare;
  }
  GuaranteeCount& was = job.guarantee;
  if (now == was) return;
  const auto move = [&](bool in, bool is, ByDeadline* index) {
    if (in && is && was.due == now.due) return;
    if (in) index->erase({was.due, job.id});
    if (is) index->insert({now.due, job.id});
  };
  move(was.listed, now.listed, &guaranteed_);
  move(was.place == Place::kWanting, now.place == Place::kWanting, &wanting_);
  if (was.place != Place::kWanting && now.place == Place::kWanting) ++wants_count_;
  move(was.place == Place::kSpare, now.place == Place::kSpare, &spare_);
  within_guarantees_ += now.within - was.within;
  job.in_queue->guaranteed += now.outside - was.outside;
  was = now;
}

std::string QueueIndex::CheckGuarantees() const {
  ByDeadline guaranteed, wanting, spare;
  std::map<const Queue*, uint32_t> outside;
  uint32_t within = 0;
  for (const auto& [id, job] : jobs_) {
    if (!job.running() || job.share == 0) continue;
    const std::pair entry(job.due(), id);
    guaranteed.insert(entry);
    const bool ready =
        std::any_of(job.stages.begin(), job.stages.end(), [](const Stage& stage) { return stage.in_ready; });
    if (ready) (BelowGuarantee(job) ? wanting : spare).insert(entry);
    const uint32_t slots = sharing_.by_kind ? job.held[KindIndex(SlotKind::kMap)] : job.holding;
    outside[job.in_queue] += sharing_.spare_last ? slots : std::min(job.share, slots);
    within += std::min(job.share, slots);
  }
  bool right = guaranteed == guaranteed_ && wanting == wanting_ && spare == spare_ && within == within_guarantees_;
  for (const auto& [name, queue] : queues_) right = right && queue.guaranteed == outside[&queue];
  return right ? "" : "jobs with guaranteed slots are indexed wrong";
}

}  // namespace mr::sched
