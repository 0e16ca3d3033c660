#include "master/sched/policy_lists.h"

#include <algorithm>
#include <optional>

#include "common/base/check.h"
#include "common/base/digest.h"
#include "master/sched/policies/list.h"

namespace mr::sched {

namespace {

// Returns the trigger as the policies of this list see it; nullopt if it does not concern them. Attempts of forgotten
// jobs go to the jobs without a list.
std::optional<Trigger> PartOf(const Trigger& trigger, const State& state, const JobList& list) {
  const auto* changed = std::get_if<AttemptsChanged>(&trigger);
  if (changed == nullptr) return trigger;
  AttemptsChanged part;
  for (const AttemptId& id : changed->attempts) {
    const Job* job = state.FindJob(id.task.job);
    if (job == nullptr ? list.text.empty() : job->list == &list) part.attempts.push_back(id);
  }
  if (part.attempts.empty()) return std::nullopt;
  return part;
}

}  // namespace

void PolicyLists::TakeCluster(State* state) {
  auto parsed = Pipeline::Parse(state->config().policies);
  MR_CHECK(parsed.ok(), "ConfigChanged with a bad list: " + parsed.status().ToString());
  cluster_ = *std::move(parsed);
  const auto& members = cluster_.members();
  end_ = members.size();
  while (end_ > 0 && members[end_ - 1].cluster) --end_;
  for (first_ = 0; first_ < end_ && members[first_].cluster;) ++first_;
  if (end_ == 0) first_ = end_ = members.size();
  common_ = &state->lists().at("");
  state->KeepStatistics(*common_, cluster_.needs().statistics);
  Sharing sharing = cluster_.needs().sharing;
  for (const auto& [suffix, own] : own_) sharing.by_rack = sharing.by_rack || own.pipeline.needs().sharing.by_rack;
  state->SetSharing(sharing);
}

void PolicyLists::TakeJobs(State* state) {
  if (seen_ == state->lists_count()) return;
  seen_ = state->lists_count();
  Sharing sharing = cluster_.needs().sharing;
  std::map<std::string, Own> own;
  for (const auto& [text, list] : state->lists()) {
    if (text.empty()) continue;
    Own& kept = own[list.suffix];
    if (const auto it = own_.find(list.suffix); it != own_.end()) {
      kept.pipeline = std::move(it->second.pipeline);
    } else if (auto parsed = Pipeline::ParseOfJob(text); parsed.ok()) {
      kept.pipeline = *std::move(parsed);
    }
    kept.list = &list;
    state->KeepStatistics(list, kept.pipeline.needs().statistics);
    sharing.by_rack = sharing.by_rack || kept.pipeline.needs().sharing.by_rack;
  }
  state->SetSharing(sharing);
  own_ = std::move(own);
}

void PolicyLists::Run(const Pipeline::Member& member, const JobList* list, const Trigger& trigger, const State& state,
                      Instant now, Plan* plan) const {
  const bool offer = std::holds_alternative<SlotOffer>(trigger);
  if (offer && !member.answers_offers) return;
  const Policy& policy = *member.policy;
  const View view(state, now, policy.name(), list);
  // The random stream of this policy at this offer is a function of the state, so that a replay from a snapshot draws
  // the same. Other triggers do not use it.
  static const Rng kUnused(0);
  Rng rng = kUnused;
  if (offer) {
    const uint64_t name = list == nullptr || list->suffix.empty() ? member.name_hash : Hash64(view.owner());
    rng = Rng(MixHash(MixHash(state.config().seed, name), state.offers()));
  }
  plan->Enter(policy.name(), list);
  const ProbedCall call(probe_, policy.name());
  policy.Refine(trigger, view, rng, *plan);
}

void PolicyLists::RunList(const JobList& list, const Trigger& trigger, const State& state, Instant now,
                          Plan* plan) const {
  const auto it = own_.find(list.suffix);
  if (it == own_.end() || it->second.pipeline.members().empty()) return;
  const auto part = PartOf(trigger, state, list);
  if (!part) return;
  for (const auto& member : it->second.pipeline.members()) Run(member, &list, *part, state, now, plan);
}

std::vector<const JobList*> PolicyLists::Concerned(const Trigger& trigger, const State& state, const Plan& plan,
                                                   bool after) const {
  std::vector<const JobList*> lists;
  const auto add = [&](const JobList* list) {
    if (list == common_ || std::find(lists.begin(), lists.end(), list) != lists.end()) return;
    lists.push_back(list);
  };
  if (std::holds_alternative<SlotOffer>(trigger)) {
    for (const Edit& edit : plan.edits()) {
      const auto* launch = std::get_if<Launch>(&edit);
      if (launch != nullptr && !after) add(state.FindJob(launch->attempt.task.job)->list);
    }
    // Jobs speculate in the jobs' order, whatever their lists.
    for (const SlotKind kind : kSlotKinds) {
      bool behind = false;
      for (const auto& [key, list] : state.speculating(kind)) {
        if (list == common_)
          behind = true;
        else if (behind == after)
          add(list);
      }
    }
  } else if (after) {
    return lists;
  } else if (const auto* wanted = std::get_if<SlotsWanted>(&trigger)) {
    add(state.FindJob(wanted->stage.stage.job)->list);
  } else if (const auto* ended = std::get_if<JobsEnded>(&trigger)) {
    for (const JobId id : ended->jobs) {
      if (const Job* job = state.FindJob(id); job != nullptr) add(job->list);
    }
  } else if (const auto* changed = std::get_if<AttemptsChanged>(&trigger)) {
    for (const AttemptId& id : changed->attempts) {
      if (const Job* job = state.FindJob(id.task.job); job != nullptr) add(job->list);
    }
  } else {
    for (const auto& [suffix, own] : own_) add(own.list);
  }
  return lists;
}

void PolicyLists::Refine(const Trigger& trigger, const State& state, Instant now, Plan* plan) const {
  const auto& members = cluster_.members();
  const auto ask_own = [&](bool after) {
    if (own_.empty()) return;
    for (const JobList* list : Concerned(trigger, state, *plan, after)) RunList(*list, trigger, state, now, plan);
  };
  std::optional<Trigger> common;  // copied only if there are own lists
  if (!own_.empty()) common = PartOf(trigger, state, *common_);
  const Trigger* part = own_.empty() ? &trigger : common ? &*common : nullptr;
  for (size_t i = 0; i <= members.size(); ++i) {
    if (i == first_) ask_own(false);
    if (i == end_) ask_own(true);
    if (i == members.size()) break;
    if (members[i].cluster)
      Run(members[i], nullptr, trigger, state, now, plan);
    else if (part != nullptr)
      Run(members[i], common_, *part, state, now, plan);
  }
}

void PolicyLists::RefineTimer(const std::string& owner, uint64_t id, const State& state, Instant now,
                              Plan* plan) const {
  const size_t mark = owner.find('@');
  const Trigger trigger = TimersDue{{id}};
  const auto own = mark == std::string::npos ? own_.end() : own_.find(owner.substr(mark));
  if (mark != std::string::npos && own == own_.end()) return;  // its last job is forgotten
  const Pipeline& pipeline = mark == std::string::npos ? cluster_ : own->second.pipeline;
  for (const auto& member : pipeline.members()) {
    if (member.policy->name() != std::string_view(owner).substr(0, mark)) continue;
    const JobList* list = member.cluster ? nullptr : mark == std::string::npos ? common_ : own->second.list;
    Run(member, list, trigger, state, now, plan);
  }
}

bool PolicyLists::Refuses(std::string_view asker, const State& state, Instant now, const TaskId& task,
                          WorkerId worker) const {
  const auto& members = cluster_.members();
  size_t i = 0;
  while (i < members.size() && members[i].policy->name() != asker) ++i;
  for (++i; i < members.size(); ++i) {
    if (!own_.empty() && (i == first_ || i == end_)) return false;  // these may have lists that answer it
    const Policy& policy = *members[i].policy;
    if (!policy.AnswersOffers()) continue;
    const ProbedCall call(probe_, policy.name());
    return members[i].cluster && policy.Refuses(View(state, now, policy.name()), task, worker);
  }
  return false;
}

bool PolicyLists::Seeks(const State& state, Instant now, SlotKind kind) const {
  const auto any = [&](const Pipeline& pipeline, const JobList* list) {
    return std::any_of(pipeline.members().begin(), pipeline.members().end(), [&](const auto& member) {
      const JobList* served = member.cluster ? nullptr : list;
      const ProbedCall call(probe_, member.policy->name());
      return member.policy->Seeks(View(state, now, member.policy->name(), served), kind);
    });
  };
  if (any(cluster_, common_)) return true;
  if (own_.empty()) return false;
  for (const auto& [key, list] : state.speculating(kind)) {
    const auto it = own_.find(list->suffix);
    if (list != common_ && it != own_.end() && any(it->second.pipeline, list)) return true;
  }
  return false;
}

void PolicyLists::Drop(const State& state, Instant now, const std::function<void(const Plan&)>& each) const {
  const auto all = AllPolicies();
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry) {
    if (entry->on_dropped == nullptr || cluster_.Has(entry->name)) continue;
    const JobList* list = entry->Is(kServesAll) ? nullptr : common_;
    const View view(state, now, entry->name, list);
    Plan plan(view);
    plan.EnterDropped(entry->name, list);
    {
      const ProbedCall call(probe_, entry->name);
      entry->on_dropped(view, &plan);
    }
    each(plan);
  }
}

void PolicyLists::OnConfig(const State& state, Instant now, std::vector<JobId>* anew) const {
  for (const auto& member : cluster_.members()) {
    const std::string_view name = member.policy->name();
    const ProbedCall call(probe_, name);
    member.policy->OnConfig(View(state, now, name, member.cluster ? nullptr : common_), anew);
  }
}

void PolicyLists::GiveBack(const State& state, Instant now, const std::function<void(const Plan&, bool)>& each) const {
  for (const PolicyEntry& entry : AllPolicies()) {
    if (entry.give_back == nullptr) continue;
    const View view(state, now, entry.name);
    Plan plan(view);
    plan.Enter(entry.name);
    bool all_seen = false;
    {
      const ProbedCall call(probe_, entry.name);
      all_seen = entry.give_back(view, &plan);
    }
    each(plan, all_seen);
  }
}

std::vector<Reason> PolicyLists::WhyAlone(const AttemptId& id, const State& state, Instant now) const {
  std::vector<Reason> reasons;
  const Job* job = state.FindJob(id.task.job);
  const Attempt* a = state.FindAttempt(id);
  if (job == nullptr || !job->running() || a == nullptr || a->state != AttemptState::kRunning) return reasons;
  if (CanDoWithout(*state.FindTask(id.task), *a)) return reasons;  // it is a clone itself
  const auto own = own_.find(job->list->suffix);
  const Pipeline& pipeline = own == own_.end() ? cluster_ : own->second.pipeline;
  for (const auto& member : pipeline.members()) {
    const ProbedCall call(probe_, member.policy->name());
    auto reason = member.policy->WhyAlone(View(state, now, member.policy->name(), job->list), id);
    if (!reason) continue;
    const auto said = [&](const Reason& r) { return r.code == reason->code && r.numbers == reason->numbers; };
    if (std::any_of(reasons.begin(), reasons.end(), said)) continue;
    reason->policy = member.policy->name();
    reasons.push_back(*std::move(reason));
  }
  return reasons;
}

std::vector<Figure> PolicyLists::Figures(JobId id, const State& state, Instant now) const {
  const Job* job = state.FindJob(id);
  const JobList* list = job == nullptr ? common_ : job->list;
  const auto own = own_.find(list->suffix);
  const Pipeline& pipeline = own == own_.end() ? cluster_ : own->second.pipeline;
  std::vector<Figure> figures;
  for (const auto& member : pipeline.members()) {
    const View view(state, now, member.policy->name(), member.cluster ? nullptr : list);
    const ProbedCall call(probe_, member.policy->name());
    for (Figure& figure : member.policy->Figures(view)) figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Reason> PolicyLists::WhyShuns(WorkerId worker, const State& state, Instant now) const {
  std::vector<Reason> reasons;
  const auto ask = [&](const Pipeline& pipeline, const JobList* list) {
    for (const auto& member : pipeline.members()) {
      const View view(state, now, member.policy->name(), member.cluster ? nullptr : list);
      const ProbedCall call(probe_, member.policy->name());
      for (Reason& reason : member.policy->WhyShuns(view, worker)) {
        reason.policy = member.policy->name();
        reasons.push_back(std::move(reason));
      }
    }
  };
  ask(cluster_, common_);
  for (const auto& [suffix, own] : own_) ask(own.pipeline, own.list);
  return reasons;
}

}  // namespace mr::sched
