// What the master tells people about jobs: a fold of the scheduler's events and decisions, beside
// the scheduler, for status pages, directories of copies and final outputs. Decides nothing; a
// replay of the journal makes it again. Of the master's thread.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/job_state.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"
#include "master/server/records.h"
#include "master/server/spec.h"

namespace mr::master {

using mr::Word;  // beside that of attempts

enum class AttemptState : uint8_t { kRunning, kWaiting, kCommitted, kCopy, kFailed, kKilled };
const char* Word(AttemptState state);
bool Live(AttemptState state);

struct AttemptView {
  AttemptId id;
  WorkerId worker;
  Incarnation incarnation = 0;
  sched::Cause cause = sched::Cause::kFirst;
  uint32_t generation = 1;
  AttemptState state = AttemptState::kRunning;
  bool stop_asked = false;  // Kill or TakeBack was decided
  Instant launched, ended;
  uint64_t taken_bytes = 0, total_bytes = 0;
  sched::Reason reason;  // of its launch
  std::string message, record, stderr_tail;
  uint64_t sequence = 0;  // of the record of its end
};

// A copy that readers may use.
struct CopyView {
  sched::Copy copy;
  sched::Manifest manifest;
  std::shared_ptr<const FinishedExtra> extra;
};

struct TaskView {
  bool committed = false;
  uint32_t generation = 1, attempts = 0, live = 0;
  uint32_t refused = 0;  // launches that their worker did not start
  WorkerId worker;  // of the last launch, or of the commit
  std::shared_ptr<const FinishedExtra> output;  // of the commit
  sched::Manifest manifest;
  std::vector<CopyView> copies;
};

struct StageView {
  bool planned = false;
  std::vector<TaskView> tasks;
  uint32_t done = 0, running = 0, waiting = 0, failed = 0;
  uint64_t taken_bytes = 0;  // of attempts that were not lost
  uint64_t output_bytes = 0, output_records = 0;
  bool started = false;
  Instant first_launch, last_commit;
  uint64_t directory_version = 0;
};

// One line of `why`: what was decided about what, and the reason.
struct WhyLine {
  Instant at;
  const char* what = "";
  AttemptId attempt;  // zero where the job is meant
  WorkerId worker;
  sched::Reason reason;
};
inline constexpr size_t kWhyPerTask = 64;  // bounds memory; the oldest go first

struct JobView {
  JobId id;
  JobSpec spec;
  std::string spec_bytes, submission_id;
  uint64_t wall_ms = 0;
  JobPlan plan;
  JobState state = JobState::kPending;
  bool told = false;  // its end is on disk, and may be said
  std::string error, publish_error;
  std::string last_failure;  // one line: attempt, worker, why; empty where none failed yet
  Instant submitted, ended;
  uint64_t submit_sequence = 0;
  std::vector<StageView> stages;
  std::map<AttemptId, AttemptView> attempts;
  uint32_t live_attempts = 0;
  std::map<std::pair<uint32_t, uint32_t>, std::deque<WhyLine>> why;  // (stage, task)
  std::deque<WhyLine> why_job;
  std::vector<FileOutput> Outputs() const;  // of all final stages, by name
  bool in_dfs() const { return spec.output_uri.starts_with("dfs://"); }
  TaskLetter letter(uint32_t stage) const { return spec.stages[stage].letter(); }
};

class JobTable {
 public:
  // What one folded event changed, for whoever pushes news.
  struct Change {
    std::vector<sched::Copy> added, removed;  // copies of outputs
  };

  // After Step(event) gave `decisions`; `sequence` is the event's record.
  Change Fold(const sched::StampedEvent& event, const std::string& extra,
              const std::vector<sched::Decision>& decisions, uint64_t sequence);

  JobView* Find(JobId id);
  AttemptView* Find(const AttemptId& id);
  // As people know it; of an unknown job as if it read files.
  std::string NameOf(const AttemptId& id) const;
  const CopyView* FindCopy(const sched::Copy& copy);
  JobView* FindSubmission(const std::string& submission_id);
  std::map<JobId, JobView>& jobs() { return jobs_; }

  // Totals since the master's first start, for metrics.
  struct Counts { uint64_t launched = 0, committed = 0, failed = 0, killed = 0, refused = 0; };
  const Counts& counts() const { return counts_; }

 private:
  friend struct EventFolder;
  friend struct DecisionFolder;
  void End(AttemptView* attempt, AttemptState state, Instant at, uint64_t sequence);
  void EndWorker(WorkerId worker, Incarnation incarnation, Instant at, uint64_t sequence, const std::string& why);
  void Note(const char* what, const AttemptId& attempt, JobId job, WorkerId worker, const sched::Reason& reason,
            Instant at);

  std::map<JobId, JobView> jobs_;
  std::map<std::string, JobId> submissions_;
  Counts counts_;
};

}  // namespace mr::master
