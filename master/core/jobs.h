// The master's jobs: for each its projection and its annotations, beside the scheduler's state of it. Bounded: the
// newest ended jobs are kept whole, older ones in brief (state, stages, totals), and the oldest are forgotten.
// Thread: the master's.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/model/caller.h"
#include "master/core/annotate.h"
#include "master/core/job_notes.h"
#include "master/core/job_projection.h"

namespace mr::master {

// Guesses, as in the scheduler: ended jobs stay whole while both hold. Those in brief may hold so
// many bytes of specs together.
inline constexpr size_t kWholeJobs = 1000, kWholeTasks = 100'000;
inline constexpr uint64_t kBriefBytes = 64 << 20;
inline constexpr size_t kEndedJobs = 10'000;   // default of --ended_jobs; a guess
inline constexpr size_t kMaxGrownListed = 20;  // inputs of a job, one line each; a guess

class Jobs {
 public:
  explicit Jobs(size_t ended_jobs = kEndedJobs);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  // Applies a step: its record, the decisions, and the changes beside them. sequence: the record's number.
  ReplicaChange Apply(const EventRecord& record, const std::vector<sched::Decision>& decisions,
                      const StepChanges& changes, uint64_t sequence);

  const JobView* Find(JobId id) const { return const_cast<Jobs*>(this)->Find(id); }
  // For the core.
  JobView* Find(JobId id);
  // Returns the job for a request. Errors: kNotFound, with the same words for a job that does not exist and for one
  // that does not exist for this caller.
  Result<const JobView*> Find(JobId id, const Caller& caller) const;
  // Submission ids of different owners have nothing to do with each other.
  const JobView* FindSubmission(const std::string& owner, const std::string& submission_id) const;
  const ReplicaView* FindReplica(const Replica& replica) const;
  // Returns the attempt's name for people. An attempt of an unknown job is named as a map.
  std::string NameOf(const AttemptId& id) const;
  // Returns whether the job is known, and not in brief.
  bool Whole(JobId id) const;
  // Returns a job that has not ended and writes to this output, or null. Cost: independent of the number of jobs.
  const JobView* OpenWithOutput(const std::string& output_uri) const;
  // The jobs whose end has not been settled.
  size_t open() const { return open_outputs_.size(); }
  std::vector<JobId> OpenJobs() const;
  // Counts the jobs of an owner that have not been settled, and among them those that no attempt has begun. Cost: these
  // jobs.
  struct OwnerJobs {
    size_t open = 0, pending = 0;
  };
  OwnerJobs OpenOf(const std::string& owner) const;
  // Returns the jobs that OpenWithOutput has looked at since the start. For tests.
  uint64_t looked_at() const { return looked_at_; }
  const std::map<JobId, JobView>& jobs() const { return jobs_; }
  const JobTotals& totals() const { return totals_; }
  // Returns NotFound: there is no such job, or not any more.
  Status Unknown(JobId id) const;

  // The scheduler knows no attempt any more.
  void ForgetReads();
  // Marks the job's end as reported: the job may be shortened and forgotten when others have ended after it.
  void Settle(JobId id);
  // Shortens and forgets such jobs, but none that has live attempts. Requires: nothing of this turn still names jobs.
  void Shrink(const std::function<bool(JobId)>& has_live_attempts);

  // Writes all jobs in parts, for a snapshot, and reads them back into an empty object (job_image.cc). hard: only what
  // records determine. read_spec: reads a job's spec from its wire form. Errors: kCorrupted.
  void Save(const std::function<void(std::string)>& part, bool hard = false) const;
  Status RestorePart(std::string_view part, const std::function<Result<JobSpec>(std::string_view)>& read_spec);

 private:
  struct Projector;
  void AddOpen(const JobView& job);

  std::map<JobId, JobView> jobs_;
  std::map<std::pair<std::string, std::string>, JobId> submissions_;  // by owner and submission id
  std::multimap<std::string, JobId> open_outputs_;                    // of jobs that are not settled
  std::map<std::string, std::set<JobId>> open_of_;                    // the same jobs, by owner
  mutable uint64_t looked_at_ = 0;
  JobTotals totals_;
  const size_t ended_jobs_;
  std::deque<JobId> whole_, brief_;  // settled, oldest first
  size_t whole_tasks_ = 0;
  uint64_t brief_bytes_ = 0;
  JobId newest_forgotten_;
  bool restoring_ = false;  // the head's part has been read
};

// Returns the state that people are shown: the end of a job only when it is on disk.
JobState ShownState(const JobView& job);
// Returns NotFound: the job is kept in brief, so its tasks, attempts, counters and reasons are gone.
Status OnlyBrief(const JobView& job);

}  // namespace mr::master
