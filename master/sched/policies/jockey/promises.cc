#include "master/sched/policies/jockey/promises.h"

#include <algorithm>
#include <cmath>

#include "master/sched/plan.h"

namespace mr::sched {

namespace {

constexpr double kOneSlot = .05;  // of a slot: less counts as none

const FactValue* FactOf(const State& state, JobId id, const char* name) {
  return state.FindFact({kJockey, kJockeyScope, FactId(id), name});
}

}  // namespace

uint32_t WholeSlots(double slots) { return static_cast<uint32_t>(std::ceil(slots - kOneSlot)); }

uint32_t MostFor(const State& state, const Job& job) {
  uint64_t owed = 0;
  for (const auto& [number, q] : state.busy_queues()) owed += q == job.in_queue ? 0 : q->min_share;
  return state.slots().total - static_cast<uint32_t>(std::min<uint64_t>(state.slots().total, owed));
}

std::vector<std::pair<Instant, JobId>> SteeredJobs(const State& state) {
  std::vector<std::pair<Instant, JobId>> jobs;
  const auto& facts = state.facts();
  for (auto it = facts.lower_bound({kJockey, kJockeyScope, 0, ""}); it != facts.end(); ++it) {
    const FactKey& key = it->first;
    if (key.policy != kJockey || key.scope != kJockeyScope) break;
    if (key.name != kJockeySlots) continue;
    const Job* job = state.FindJob(JobOfFact(key.id));
    if (job != nullptr && job->running()) jobs.emplace_back(job->due(), job->id);
  }
  std::sort(jobs.begin(), jobs.end());
  return jobs;
}

uint32_t GuaranteeOf(const State& state, const Job& job) {
  const FactValue* slots = FactOf(state, job.id, kJockeySlots);
  if (slots == nullptr) return job.share;
  return std::max(job.share, std::min(WholeSlots(std::get<double>(*slots)), MostFor(state, job)));
}

bool IsPromised(const State& state, const Job& job, Instant now) {
  const FactValue* promised = FactOf(state, job.id, kJockeyPromised);
  return promised != nullptr && std::get<int64_t>(*promised) != 0 && job.due() >= now;
}

Guarantees::Guarantees(const State& state, Instant now) : state_(state) {
  for (const auto& key : SteeredJobs(state)) {
    const Job& job = *state.FindJob(key.second);
    jobs_[key] = {job.share, GuaranteeOf(state, job), IsPromised(state, job, now)};
  }
}

uint32_t Guarantees::Room(const Job& job, bool promised) const {
  uint64_t taken = 0;
  for (const auto& [key, other] : jobs_) {
    if (key.second == job.id || (promised && !other.promised)) continue;
    const bool first = other.promised && (!promised || key < std::pair(job.due(), job.id));
    taken += first ? std::max(other.slots, other.wished) : other.slots;
  }
  const uint32_t most = MostFor(state_, job);
  return most - static_cast<uint32_t>(std::min<uint64_t>(most, taken));
}

void Guarantees::Set(const Job& job, uint32_t slots, uint32_t wished, bool promised) {
  jobs_[{job.due(), job.id}] = {slots, wished, promised};
}

std::vector<JobId> Guarantees::Unpromised() const {
  std::vector<JobId> jobs;
  for (auto it = jobs_.rbegin(); it != jobs_.rend(); ++it) {
    if (!it->second.promised && it->second.slots > 0) jobs.push_back(it->first.second);
  }
  return jobs;
}

uint32_t Guarantees::SlotsOf(const Job& job) const {
  const auto it = jobs_.find({job.due(), job.id});
  return it == jobs_.end() ? 0 : it->second.slots;
}

}  // namespace mr::sched
