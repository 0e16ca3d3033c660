#include "master/sched/policies/dolly/dolly_facts.h"

namespace mr::sched {

void ForgetCharges(const View& view, Plan* plan) {
  const std::string owner = view.owner();
  const auto& facts = view.state().facts();
  for (auto it = facts.lower_bound({owner, kOfJob, 0, ""}); it != facts.end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != owner || key.scope != kOfJob) break;
    plan->Forget(kOfJob, key.id, key.name);
  }
  if (view.FindFact(kOfAll, 0, kUsed) != nullptr) plan->Forget(kOfAll, 0, kUsed);
}

}  // namespace mr::sched
