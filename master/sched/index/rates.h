// Statistics of attempts (statistics.h), candidates for speculation, and the jobs that each list of policies serves.
#pragma once

#include <array>
#include <map>
#include <set>
#include <string>

#include "master/sched/index/ready.h"

namespace mr::sched {

class RateIndex : public ReadyIndex {
 public:
  // Stages with a candidate for a speculative attempt; empty unless statistics are kept.
  const std::set<StageKey>& speculable(SlotKind kind) const { return speculable_[KindIndex(kind)]; }
  // Lists by their text: those of the known jobs, and always the cluster's (""). lists_count rises whenever one comes
  // or goes.
  const std::map<std::string, JobList>& lists() const { return lists_; }
  uint64_t lists_count() const { return lists_count_; }
  // Lists with a candidate, by their first stage that has one.
  const std::map<StageKey, const JobList*>& speculating(SlotKind kind) const { return speculating_[KindIndex(kind)]; }
  // Speculative attempts with a slot of this kind, over all lists.
  uint32_t speculative(SlotKind kind) const { return speculative_[KindIndex(kind)]; }
  // Attempts with a slot that was lent to them while it was idle (Cause::kOpportunistic).
  const std::set<AttemptId>& lent() const { return lent_; }
  // Attempts that end: they hold a slot and are not live.
  const std::set<AttemptId>& ending() const { return ending_; }
  // Returns the statistics of a stage with every report counted. Const: they follow from the attempts, whenever they
  // are computed.
  const StageStatistics& Counted(const StageId& id) const;

  // Keeps these statistics (statistics.h) for the jobs of this list from here on. Walks these jobs on a change.
  void KeepStatistics(const JobList& list, const StatisticsWanted& wanted);
  // Adds the candidates' reports since the last call to the statistics.
  void CountReports();
  size_t uncounted() const;  // reports that are not counted yet
  // Parts of CheckState.
  std::string CheckStatistics() const;
  std::string CheckLists() const;

 protected:
  RateIndex();
  ~RateIndex();

  // Removes the attempt from the statistics by the values with which it was added, and adds it by its current ones. So
  // it may be called after any change.
  void Rerate(const AttemptId& id);
  void RerateReported(const AttemptId& id, Attempt& attempt);
  void RerateTask(const TaskId& id);
  void DropStatistics(Job& job);
  void SetSpeculable(const Job& job, uint32_t stage, bool is);
  void JoinList(Job& job);
  void LeaveList(const Job& job);
  static void CountAttempt(const Attempt& a, std::array<CauseCount, kCauses>* causes);
  static void CountEnd(const Attempt& a, CauseCount* count);  // no-op while it holds a slot

  std::array<uint32_t, 2> speculative_{};
  std::set<AttemptId> lent_;
  std::set<AttemptId> ending_;

 private:
  static Rating RatingOf(const StageSpec& spec, const Task& task, const Attempt& attempt, bool sampled);
  void Rerate(Job& job, const TaskId& id, Attempt& attempt);
  void CountReports(Job& job, uint32_t stage);

  std::map<std::string, JobList> lists_;
  uint64_t lists_count_ = 0;
  std::array<std::map<StageKey, const JobList*>, 2> speculating_;
  std::array<std::set<StageKey>, 2> speculable_;
  FlatSet<StageId> uncounted_;  // stages with Stage::uncounted
};

}  // namespace mr::sched
