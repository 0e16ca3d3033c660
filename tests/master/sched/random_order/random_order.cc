#include "tests/master/sched/random_order/random_order.h"

#include <algorithm>
#include <vector>

#include "tests/master/sched/random_order/reasons.h"

namespace mr::sched {

namespace {

class RandomOrder final : public Policy {
 public:
  explicit RandomOrder(size_t seen) : seen_(seen) {}

  std::string_view name() const override { return "random_order"; }

  void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const override {
    if (!std::holds_alternative<SlotOffer>(trigger)) return;
    const std::vector<Edit> edits = plan.edits();  // a copy, since Exchange changes the draft
    for (const Edit& edit : edits) {
      const auto* launch = std::get_if<Launch>(&edit);
      if (launch != nullptr && launch->cause == Cause::kFirst && !launch->by_bind) {
        Exchange(*launch, view.state(), rng, &plan);
      }
    }
  }

 private:
  static bool IsLocal(const Task& task, WorkerId worker) {
    const std::vector<WorkerId>& near = task.plan.preferred;
    return std::find(near.begin(), near.end(), worker) != near.end();
  }

  void Exchange(const Launch& drafted, const State& state, Rng& rng, Plan* plan) const {
    const TaskId& id = drafted.attempt.task;
    const Job& job = *state.FindJob(id.job);
    const Stage& stage = job.stages[id.stage];
    const Task& task = stage.tasks[id.task];
    const TaskClass& c = stage.classes[task.task_class];
    if (!c.ready.fresh.Contains(id.task) || !state.FullReady(job, id.stage, c)) return;  // it waits for inputs
    const bool local = IsLocal(task, drafted.worker);
    const IndexSet& fresh = c.ready.fresh;
    std::vector<uint32_t> equal = {id.task};
    auto t = static_cast<uint32_t>(rng.Below(stage.tasks.size()));
    for (size_t left = std::min<size_t>(seen_, fresh.size()); left > 0; --left, ++t) {
      t = fresh.Next(t);
      if (t == IndexSet::kNone) t = fresh.First();
      if (t != id.task && IsLocal(stage.tasks[t], drafted.worker) == local) equal.push_back(t);
    }
    const uint32_t drawn = equal[rng.Below(equal.size())];
    if (drawn == id.task) return;
    // Refused if the draft or the state does not allow it, or if the job has a list of its own. The draft then stays.
    plan->Replace(id, {id.job, id.stage, drawn}, drafted.worker, drafted.cause,
                  {RandomOrderReason::kDrawn, "", {double(equal.size())}});
  }

  const size_t seen_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeRandomOrder(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double seen, params->Number("seen", 64, 1, 1e6));
  return std::unique_ptr<Policy>(std::make_unique<RandomOrder>(static_cast<size_t>(seen)));
}

}  // namespace mr::sched
