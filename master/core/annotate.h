// Writes the annotations of jobs (job_notes.h) from what each step brought: the event, the changes of attempts and the
// decisions. Decides nothing.
#pragma once

#include <functional>
#include <string>

#include "master/core/attempts.h"
#include "master/core/job_notes.h"
#include "master/core/records.h"

namespace mr::master {

// One step. Use: the event, the changes, then the decisions in their order, each after it has changed the projections.
class Annotator {
 public:
  using FindFn = std::function<JobView*(JobId)>;
  Annotator(FindFn find, const EventRecord& record, const StepChanges& changes, uint64_t sequence, JobTotals* totals)
      : find_(std::move(find)), record_(record), changes_(changes), sequence_(sequence), totals_(totals) {}

  void Event();
  void Changes();
  void Decision(const sched::Decision& decision);
  // The replica was known, and goes.
  void Dropped(const sched::DropReplica& drop);
  // The task that this step committed had this output before, or none.
  void SetBefore(StoredOutput output) { before_ = std::move(output); }
  // The replica was made as requested, and stays.
  void Made(const Replica& replica);

 private:
  struct OfEvent;
  struct OfDecision;
  Instant at() const { return record_.stamped.at; }
  // Returns the attempt's change if it ended in this step, or null.
  const AttemptChange* EndOf(const AttemptId& attempt) const;
  JobView* Known(JobId id) const;
  void NoteEnd(const AttemptChange& change, JobView* job);
  void Add(What what, const AttemptId& attempt, JobId job, WorkerId worker, const sched::Reason& reason,
           std::string text = "");
  void NotMade(const Replica& from, WorkerId to, const std::string& why);
  void Bound(const sched::Bind& bind);
  void Indeterminate(const sched::MarkIndeterminate& mark);

  const FindFn find_;
  const EventRecord& record_;
  const StepChanges& changes_;
  const uint64_t sequence_;
  JobTotals* const totals_;
  StoredOutput before_;
};

}  // namespace mr::master
