// The part of RateIndex about lists of policies: their jobs, candidates for speculation, and totals of attempts.
#include <charconv>

#include "common/base/digest.h"
#include "master/sched/index/rates.h"

namespace mr::sched {

namespace {

// Made from the list's text alone, so that a restarted master finds its facts again. Two lists would share theirs
// only if their 64-bit hashes were equal.
std::string SuffixOf(const std::string& text) {
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, Hash64(text), 16).ptr;
  return "@" + std::string(digits, end);
}

}  // namespace

void RateIndex::JoinList(Job& job) {
  std::string text;
  for (const std::string& policy : job.policies) text += (text.empty() ? "" : ",") + policy;
  const auto [it, added] = lists_.try_emplace(text);
  JobList& list = it->second;
  if (added) {
    ++lists_count_;
    list.text = text;
    list.suffix = SuffixOf(text);
  }
  ++list.jobs;
  job.list = &list;
}

void RateIndex::LeaveList(const Job& job) {
  const auto it = lists_.find(job.list->text);
  if (--it->second.jobs > 0 || it->first.empty()) return;
  lists_.erase(it);
  ++lists_count_;
}

void RateIndex::KeepStatistics(const JobList& list, const StatisticsWanted& wanted) {
  if (wanted == list.statistics) return;
  lists_.at(list.text).statistics = wanted;
  for (auto& [id, job] : jobs_) {
    if (!job.running() || job.list != &list) continue;
    DropStatistics(job);
    if (!wanted.any) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      for (uint32_t t = 0; t < job.stages[s].tasks.size(); ++t) RerateTask({id, s, t});
    }
  }
}

void RateIndex::SetSpeculable(const Job& job, uint32_t stage, bool is) {
  const StageKey key{-int64_t{job.priority}, job.arrival, {job.id, stage}};
  const size_t kind = KindIndex(job.graph.stages[stage].slot_kind);
  std::set<StageKey>& of_list = lists_.at(job.list->text).speculable[kind];
  if (!of_list.empty()) speculating_[kind].erase(*of_list.begin());
  for (std::set<StageKey>* index : {&speculable_[kind], &of_list}) {
    if (is)
      index->insert(key);
    else
      index->erase(key);
  }
  if (!of_list.empty()) speculating_[kind][*of_list.begin()] = job.list;
}

void RateIndex::CountAttempt(const Attempt& a, std::array<CauseCount, kCauses>* causes) {
  CauseCount& count = (*causes)[CauseIndex(a.cause)];
  ++count.launched;
  CountEnd(a, &count);
}

void RateIndex::CountEnd(const Attempt& a, CauseCount* count) {
  if (a.holds_slot()) return;
  if (a.state == AttemptState::kCommitted)
    ++count->won;
  else
    count->wasted = count->wasted + (a.ended_at - a.launched_at);
}

std::string RateIndex::CheckLists() const {
  std::map<std::string, JobList> lists;
  lists[""];
  for (const auto& [id, job] : jobs_) {
    if (job.list == nullptr || lists_.count(job.list->text) == 0) return Name(id) + ": its list is not known";
    JobList& list = lists[job.list->text];
    ++list.jobs;
    std::array<CauseCount, kCauses> causes{};
    for (uint32_t s = 0; s < job.stages.size(); ++s) {
      const Stage& stage = job.stages[s];
      for (const Task& task : stage.tasks) {
        for (const Attempt& a : task.attempts) CountAttempt(a, &causes);
      }
      if (!stage.statistics.speculable()) continue;
      const size_t kind = KindIndex(job.graph.stages[s].slot_kind);
      list.speculable[kind].insert({-int64_t{job.priority}, job.arrival, {id, s}});
    }
    if (causes != job.causes) return Name(id) + ": its attempts are counted wrong by their causes";
  }
  std::array<std::map<StageKey, const JobList*>, 2> speculating;
  for (const auto& [text, list] : lists_) {
    const auto it = lists.find(text);
    if (it == lists.end() || it->second.jobs != list.jobs || it->second.speculable != list.speculable) {
      return "the jobs of the list '" + text + "' are indexed wrong";
    }
    for (const size_t kind : {0, 1}) {
      if (!list.speculable[kind].empty()) speculating[kind][*list.speculable[kind].begin()] = &list;
    }
  }
  if (lists.size() != lists_.size() || speculating != speculating_) return "the lists of policies are indexed wrong";
  return "";
}

}  // namespace mr::sched
