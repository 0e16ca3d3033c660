// What policies may see: the state as it is before their own plan, and the instant of the event. A
// policy of job scope sees it for the jobs that its list serves.
#pragma once

#include <string>
#include <string_view>

#include "common/base/time.h"
#include "master/sched/state.h"

namespace mr::sched {

class View {
 public:
  // list null: all jobs.
  View(const State& state, Instant now, std::string_view policy = {}, const JobList* list = nullptr)
      : state_(state), now_(now), policy_(policy), list_(list) {}
  const State& state() const { return state_; }
  Instant now() const { return now_; }

  // The asked policy acts on this job.
  bool Serves(const Job& job) const { return list_ == nullptr || job.list == list_; }
  // State::speculable, of the jobs that it serves.
  const std::set<StageKey>& speculable(SlotKind kind) const {
    return list_ == nullptr ? state_.speculable(kind) : list_->speculable[KindIndex(kind)];
  }
  // What this policy wrote by Plan::Remember: each list of jobs has facts and timers of its own. Null
  // where there is none.
  const FactValue* FindFact(std::string_view scope, uint64_t id, std::string_view name) const {
    if (list_ == nullptr || list_->suffix.empty()) return state_.FindFact({policy_, scope, id, name});
    return state_.FindFact({owner(), scope, id, name});
  }
  // Each fact of this scope and id, by name: visit(name, value).
  template <class Visit>
  void EachFact(const std::string& scope, uint64_t id, Visit&& visit) const {
    const std::string mine = owner();
    for (auto it = state_.facts().lower_bound({mine, scope, id, ""}); it != state_.facts().end(); ++it) {
      const FactKey& key = it->first;
      if (key.policy != mine || key.scope != scope || key.id != id) return;
      visit(key.name, it->second);
    }
  }
  // 0 where there is none.
  int64_t Number(std::string_view scope, uint64_t id, std::string_view name) const {
    const FactValue* fact = FindFact(scope, id, name);
    return fact == nullptr ? 0 : std::get<int64_t>(*fact);
  }
  // When it is to be woken for this id.
  const Instant* FindTimer(uint64_t id) const { return state_.FindTimer(owner(), id); }
  // Under which its facts and timers stand: the policy's name, and for a job's own list its mark.
  std::string owner() const { return std::string(policy_) + (list_ == nullptr ? "" : list_->suffix); }

 private:
  const State& state_;
  Instant now_;
  std::string_view policy_;
  const JobList* list_;
};

}  // namespace mr::sched
