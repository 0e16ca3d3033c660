#include "tests/master/sched/random_order/random_order.h"

#include <utility>
#include <vector>

#include "master/sched/reason_text.h"

namespace mr::sched {

namespace {

constexpr ReasonText kTexts[] = {{RandomOrderReason::kDrawn, "drawn", [](const Reason& r) -> std::string {
                                    return "drawn from " + text::Count(r, 0, "ready task", "ready tasks");
                                  }}};

class RandomOrder final : public Policy {
 public:
  explicit RandomOrder(size_t stages) : stages_(stages) {}
  std::string_view name() const override { return "random_order"; }

  void Refine(const Trigger& trigger, const View& view, Rng& rng, Plan& plan) const override {
    const auto* offer = std::get_if<SlotOffer>(&trigger);
    if (offer == nullptr || offer->local_only) return;
    const State& state = view.state();
    std::vector<TaskId> ready;
    for (const SlotKind kind : kSlotKinds) {
      size_t seen = 0;
      for (const StageKey& key : state.ready(kind)) {
        if (seen++ == stages_) break;
        const Stage& stage = *state.FindStage(key.stage);
        for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
          if (stage.tasks[t].state == TaskState::kPending) ready.push_back({key.stage.job, key.stage.stage, t});
        }
      }
    }
    const double n = static_cast<double>(ready.size());
    // A task may be refused here (memory, back-off): the next draw takes another one.
    while (!ready.empty()) {
      std::swap(ready[rng.Below(ready.size())], ready.back());
      const Cause cause = state.FindTask(ready.back())->next_number > 1 ? Cause::kRetry : Cause::kFirst;
      if (plan.Launch(ready.back(), offer->worker, cause, {RandomOrderReason::kDrawn, "", {n}})) return;
      ready.pop_back();
    }
  }

 private:
  const size_t stages_;
};

}  // namespace

std::span<const ReasonText> RandomOrderReasons() { return kTexts; }

Result<std::unique_ptr<Policy>> MakeRandomOrder(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const double stages, params->Number("stages", 64, 1, 1e6));
  return std::unique_ptr<Policy>(std::make_unique<RandomOrder>(static_cast<size_t>(stages)));
}

}  // namespace mr::sched
