#include "master/sched/policies/baselines/fifo.h"

#include "master/sched/policies/common/place.h"

namespace mr::sched {

namespace {

class Fifo final : public Policy {
 public:
  std::string_view name() const override { return "fifo"; }

  void Refine(const Trigger& trigger, const View& view, Rng&, Plan& plan) const override {
    if (const auto* offer = std::get_if<SlotOffer>(&trigger)) Offer(*offer, view.state(), &plan);
    if (const auto* wanted = std::get_if<SlotsWanted>(&trigger)) {
      TakeBackFor(wanted->stage.stage, view.state(), &plan);
    }
  }

 private:
  void Offer(const SlotOffer& offer, const State& state, Plan* plan) const {
    if (LaunchInOrder(state, offer, true, true, offer.local_only ? &ChooseLocal : &ChooseReady, plan, &walks_)) return;
    if (!offer.local_only) LaunchInOrder(state, offer, false, true, &ChooseEarly, plan, &walks_);
  }

  mutable Walks walks_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeFifo(PolicyParams*) { return std::unique_ptr<Policy>(std::make_unique<Fifo>()); }

}  // namespace mr::sched
