// The view of policies: the state before their own plan, and the instant of the event. A policy of job scope has it
// for the jobs that its list serves.
#pragma once

#include <string>
#include <string_view>

#include "common/base/time.h"
#include "master/sched/state/state.h"

namespace mr::sched {

class View {
 public:
  // list null: all jobs.
  View(const State& state, Instant now, std::string_view policy = {}, const JobList* list = nullptr)
      : state_(state), now_(now), policy_(policy), list_(list) {}
  const State& state() const { return state_; }
  Instant now() const { return now_; }
  const JobList* list() const { return list_; }

  // Returns true if the policy acts on this job.
  bool Serves(const Job& job) const { return list_ == nullptr || job.list == list_; }
  // Returns State::speculable for the jobs that the policy serves.
  const std::set<StageKey>& speculable(SlotKind kind) const {
    return list_ == nullptr ? state_.speculable(kind) : list_->speculable[KindIndex(kind)];
  }
  // Returns what this policy wrote by Plan::Remember, or null. Each list of jobs has its own facts and timers.
  const FactValue* FindFact(std::string_view scope, uint64_t id, std::string_view name) const {
    if (list_ == nullptr || list_->suffix.empty()) return state_.FindFact({policy_, scope, id, name});
    return state_.FindFact({owner(), scope, id, name});
  }
  // Visits each fact of this scope and id, by name: visit(name, value).
  template <class Visit>
  void EachFact(const std::string& scope, uint64_t id, Visit&& visit) const {
    const std::string mine = owner();
    for (auto it = state_.facts().lower_bound({mine, scope, id, ""}); it != state_.facts().end(); ++it) {
      const FactKey& key = it->first;
      if (key.policy != mine || key.scope != scope || key.id != id) return;
      visit(key.name, it->second);
    }
  }
  // Return the fact's number; 0 if there is none.
  int64_t Number(std::string_view scope, uint64_t id, std::string_view name) const {
    const FactValue* fact = FindFact(scope, id, name);
    return fact == nullptr ? 0 : std::get<int64_t>(*fact);
  }
  double Real(std::string_view scope, uint64_t id, std::string_view name) const {
    const FactValue* fact = FindFact(scope, id, name);
    return fact == nullptr ? 0 : std::get<double>(*fact);
  }
  // Returns the time of the policy's timer with this id, or null.
  const Instant* FindTimer(uint64_t id) const { return state_.FindTimer(owner(), id); }
  // Returns the owner of its facts and timers: the policy's name, and for a job's own list the list's mark.
  std::string owner() const { return std::string(policy_) + (list_ == nullptr ? "" : list_->suffix); }

 private:
  const State& state_;
  Instant now_;
  std::string_view policy_;
  const JobList* list_;
};

}  // namespace mr::sched
