#include "master/sched/policies/baselines/dryad_speculation.h"

#include <algorithm>
#include <cmath>

#include "master/sched/policies/baselines/reasons.h"
#include "master/sched/policies/common/speculation.h"

namespace mr::sched {

namespace {

class DryadSpeculation final : public Speculation {
 public:
  DryadSpeculation(Options options, double done) : Speculation(options), done_(done) {}
  std::string_view name() const override { return "dryad_speculation"; }

 private:
  std::optional<Choice> Pick(const View& view, StageId id, const Worker* worker) const override {
    const Stage& stage = *view.state().FindStage(id);
    const double tasks = static_cast<double>(stage.tasks.size());
    if (stage.committed < std::max(1.0, std::floor(done_ * tasks))) return std::nullopt;
    std::optional<Choice> choice;
    stage.statistics.by_start.Walk(kCandidatesSeen, [&](const auto& entry) {
      if (!Eligible(view, id, entry.second, worker)) return true;
      choice = Choice{entry.second, {BaselineReason::kEndOfPhase, "", {double(stage.committed), tasks}}};
      return false;
    });
    return choice;
  }

  double done_;
};

}  // namespace

Result<std::unique_ptr<Policy>> MakeDryadSpeculation(PolicyParams* params) {
  MR_ASSIGN_OR_RETURN(const auto options, Speculation::ReadOptions(params, {}));
  MR_ASSIGN_OR_RETURN(const double done, params->Number("done", 0.95, 0, 1));
  return std::unique_ptr<Policy>(std::make_unique<DryadSpeculation>(options, done));
}

}  // namespace mr::sched
