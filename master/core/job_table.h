// The master's table of jobs: a fold of the scheduler's events and decisions, beside the scheduler, for
// status pages, directories of replicas and final outputs. Decides nothing; a replay of the journal
// makes it again. Bounded: the newest ended jobs are kept whole, older ones in brief (state, stages,
// totals), and the oldest are forgotten. Thread: the master's.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/job_plan.h"
#include "common/model/job_spec.h"
#include "common/model/job_state.h"
#include "master/core/output_totals.h"
#include "master/core/records.h"
#include "master/core/skew.h"
#include "master/core/steering.h"
#include "master/sched/decision.h"
#include "master/sched/event.h"

namespace mr::master {

using mr::Word;  // beside that of attempts

enum class AttemptState : uint8_t { kRunning, kWaiting, kCommitted, kReplica, kFailed, kKilled };
const char* Word(AttemptState state);
bool Live(AttemptState state);

struct AttemptView {
  AttemptId id;
  WorkerId worker;
  Incarnation incarnation = 0;
  Cause cause = Cause::kFirst;
  uint32_t generation = 1;
  AttemptState state = AttemptState::kRunning;
  bool stop_asked = false;  // Kill or TakeBack was decided
  Instant launched, ended;
  uint64_t taken_bytes = 0, total_bytes = 0;
  sched::Reason reason;  // of its launch
  std::string message, record, stderr_tail;
  uint64_t sequence = 0;  // of the record of its end
  template <class V>
  static void Fields(V&& v) {
    using T = AttemptView;
    v(&T::id, &T::worker, &T::incarnation, &T::cause, &T::generation, &T::state, &T::stop_asked, &T::launched,
      &T::ended, &T::taken_bytes, &T::total_bytes, &T::reason, &T::message, &T::record, &T::stderr_tail, &T::sequence);
  }
};

// Counts of clones and of reads that are bound to replicas.
struct CloneCounts {
  uint64_t killed = 0;  // clones
  Duration extra;       // slot time of attempts of tasks with clones that ended and did not commit
  // Reads that were bound to a replica of their own; to a shared one; and those of both that were bound again.
  uint64_t exclusive = 0, contended = 0, rebound = 0;
  template <class V>
  static void Fields(V&& v) {
    using T = CloneCounts;
    v(&T::killed, &T::extra, &T::exclusive, &T::contended, &T::rebound);
  }
};

// Clones on lent slots (Cause::kOpportunistic).
struct LentCounts {
  uint64_t killed = 0;
  Duration extra;  // as CloneCounts::extra, of tasks with such clones and no others
  template <class V>
  static void Fields(V&& v) {
    v(&LentCounts::killed, &LentCounts::extra);
  }
};

using CauseCounts = std::array<sched::CauseCount, kCauses>;  // by CauseIndex

// A replica that readers may use.
struct ReplicaView {
  Replica replica;
  Manifest manifest;
  std::shared_ptr<const FinishedExtra> extra;
};

struct TaskView {
  bool committed = false;
  uint32_t generation = 1, attempts = 0, live = 0;
  uint32_t refused = 0;                         // launches that their worker did not start
  uint32_t winner = 0;                          // number of the attempt that committed it last
  WorkerId worker;                              // of the last launch, or of the commit
  std::shared_ptr<const FinishedExtra> output;  // of the commit
  Manifest manifest;
  std::vector<ReplicaView> replicas;
};

// A replica that was requested of a worker and is not made yet.
struct Replication {
  Replica from;
  WorkerId to;
  sched::Reason reason;
  template <class V>
  static void Fields(V&& v) {
    v(&Replication::from, &Replication::to, &Replication::reason);
  }
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

// Kinds of decisions. The numbers are in snapshots.
enum class What : uint8_t {
  kLaunched = 1,
  kCommitted,
  kKeptAsReplica,
  kRefused,
  kAskedToStop,
  kTakenBack,
  kBound,
  kReplicaDropped,
  kStagePlanned,
  kJobCommitted,
  kJobFailed,
  kJobKilled,
  kOtherContent,
  kTakenOver,
  kSpared,
  kReplicated,
  kReplicaMade,
  kReplicaNotMade,
  kAllotted,
  kOutputLost,
};
const char* Word(What what);

// One line of `why`: what was decided about what, and the reason.
struct WhyLine {
  Instant at;
  What what = What::kLaunched;
  AttemptId attempt;  // zero where the job is meant
  WorkerId worker;
  sched::Reason reason;
  std::string text;  // what a worker said; not empty: instead of the reason
};
// Guesses, as in the scheduler: ended jobs stay whole while both hold. Those in brief may hold so
// many bytes of specs together.
inline constexpr size_t kWholeJobs = 1000, kWholeTasks = 100'000;
inline constexpr uint64_t kBriefBytes = 64 << 20;
inline constexpr size_t kEndedJobs = 10'000;  // default of --ended_jobs; a guess

inline constexpr size_t kWhyPerTask = 64;  // bounds memory; the oldest go first
// The most of them that bind a replica. A reader of many outputs has one per output, and its launch must stay.
inline constexpr ptrdiff_t kBoundPerTask = 48;

inline constexpr size_t kMaxGrownTold = 20;  // inputs of a job, one line each; a guess
struct JobView {
  JobId id;
  JobSpec spec;
  std::string spec_bytes, submission_id;
  uint64_t wall_ms = 0;
  JobPlan plan;
  JobState state = JobState::kPending;
  bool told = false;         // its end is on disk, and may be said
  bool brief = false;        // tasks, attempts and reasons are gone; `totals` is what its outputs were
  bool rolled_back = false;  // committed tasks had to run again, since an input changed its content
  OutputTotals totals;
  std::string error, publish_error;
  std::string last_failure;  // one line: attempt, worker, why; empty where none failed yet
  Instant submitted, ended;
  uint64_t submit_sequence = 0;
  std::vector<StageView> stages;
  std::map<AttemptId, AttemptView> attempts;
  uint32_t live_attempts = 0;
  CauseCounts causes{};                                   // as sched::Job::causes, and kept when the job is brief
  CloneCounts clones;                                     // likewise
  LentCounts lent;                                        // likewise
  Steering steering;                                      // likewise
  std::map<std::pair<AttemptId, TaskId>, Replica> reads;  // last bind of live readers, by output
  std::map<uint32_t, std::string> warnings;               // by stage: what its user should know, one line
  // URIs of local inputs that grew since the job was planned, as far as this process of the master knows.
  std::set<std::string> grown;
  std::vector<Skew> skew;                                            // keys that are too heavy
  std::map<std::pair<uint32_t, uint32_t>, std::deque<WhyLine>> why;  // (stage, task)
  std::deque<WhyLine> why_job;
  std::vector<FileOutput> Outputs() const;  // of all final stages, by name
  bool in_dfs() const { return spec.output_uri.starts_with("dfs://"); }
  TaskLetter letter(uint32_t stage) const { return spec.stages[stage].letter(); }
};

class JobTable {
 public:
  // The changes by one folded event, for the code that sends directory deltas.
  struct Change {
    std::vector<Replica> added, removed;  // replicas of outputs
    std::vector<HotKey> hot;              // the hottest keys of the output that was committed
  };

  explicit JobTable(size_t ended_jobs = kEndedJobs) : ended_jobs_(ended_jobs) {}

  // The event gave these decisions; `sequence` is the number of its record.
  Change Fold(const EventRecord& record, const std::vector<sched::Decision>& decisions, uint64_t sequence);

  JobView* Find(JobId id);
  AttemptView* Find(const AttemptId& id);
  const AttemptView* Find(const AttemptId& id) const { return const_cast<JobTable*>(this)->Find(id); }
  // Returns the attempt's name for people. An attempt of an unknown job is named as a map.
  std::string NameOf(const AttemptId& id) const;
  const ReplicaView* FindReplica(const Replica& replica);
  // Those that this worker has been asked for; what they are made from may be gone meanwhile.
  std::vector<Replication> ReplicationsTo(WorkerId to) const;
  bool Replicating(WorkerId to, const OutputId& output) const { return replications_.contains({to, output}); }
  JobView* FindSubmission(const std::string& submission_id);
  // Known, and not in brief.
  bool Whole(JobId id) const {
    const auto it = jobs_.find(id);
    return it != jobs_.end() && !it->second.brief;
  }
  // A job that has not ended and writes to this output; null: none. Cost: independent of the number of jobs.
  const JobView* OpenWithOutput(const std::string& output_uri) const;
  // Jobs whose end has not been settled.
  size_t open() const { return open_outputs_.size(); }
  std::vector<JobId> OpenJobs() const;
  // Jobs that OpenWithOutput has looked at since the start; for tests.
  uint64_t looked_at() const { return looked_at_; }
  std::map<JobId, JobView>& jobs() { return jobs_; }
  const std::map<JobId, JobView>& jobs() const { return jobs_; }

  // Ends all attempts and forgets requested replicas, since the scheduler does not know them any more.
  void EndAllAttempts(Instant at, const std::string& why);
  // Marks the job's end as reported: the job may be shortened and forgotten when others have ended after it.
  void Settle(JobId id);
  // Shortens and forgets such jobs. Requires: nothing of this turn still names jobs.
  void Shrink();
  // kNotFound: there is no such job, or not any more.
  Status Unknown(JobId id) const;

  // For a snapshot, all in parts; and back, into an empty table (job_image.cc). hard: only what records determine.
  // read_spec: reads a job's spec from its wire form.
  void Save(const std::function<void(std::string)>& part, bool hard = false) const;
  Status RestorePart(std::string_view part, const std::function<Result<JobSpec>(std::string_view)>& read_spec);

  // Totals since the master's first start, for metrics.
  struct Counts {
    uint64_t launched = 0, committed = 0, failed = 0, killed = 0, refused = 0;
    template <class V>
    static void Fields(V&& v) {
      v(&Counts::launched, &Counts::committed, &Counts::failed, &Counts::killed, &Counts::refused);
    }
  };
  const Counts& counts() const { return counts_; }
  struct ReplicaCounts {
    uint64_t made = 0, bytes = 0;  // requested replicas that were made; uncompressed
    template <class V>
    static void Fields(V&& v) {
      v(&ReplicaCounts::made, &ReplicaCounts::bytes);
    }
  };
  const ReplicaCounts& replica_counts() const { return replica_counts_; }
  const CauseCounts& causes() const { return causes_; }  // of all jobs, likewise
  const CloneCounts& clones() const { return clones_; }  // likewise
  const LentCounts& lent() const { return lent_; }       // likewise

 private:
  friend struct EventFolder;
  friend struct DecisionFolder;
  void End(AttemptView* attempt, AttemptState state, Instant at, uint64_t sequence);
  void EndWorker(WorkerId worker, Incarnation incarnation, Instant at, uint64_t sequence, const std::string& why);
  void Note(What what, const AttemptId& attempt, JobId job, WorkerId worker, const sched::Reason& reason, Instant at,
            std::string text = "");

  void AddOpen(const JobView& job) { open_outputs_.emplace(job.spec.output_uri, job.id); }
  void EndReplications(JobId job);
  void Planned(const sched::StagePlanned& plan);  // job_plans.cc

  // job_deadlines.cc
  void NoteWishes(const sched::JobSet& set);

  // job_clones.cc
  void CountClone(const AttemptView& ended, JobView* job);
  void NoteBind(const sched::Bind& bind, Instant at);
  // extra: of the report with the other content; before: what the task's output was before this step, or null.
  void WarnIndeterminate(const sched::MarkIndeterminate& mark, const std::string& extra, const FinishedExtra* before);

  std::map<JobId, JobView> jobs_;
  std::map<std::string, JobId> submissions_;
  std::multimap<std::string, JobId> open_outputs_;  // of jobs that are not settled
  mutable uint64_t looked_at_ = 0;
  std::map<std::pair<WorkerId, OutputId>, Replication> replications_;
  Counts counts_;
  ReplicaCounts replica_counts_;
  CauseCounts causes_{};
  CloneCounts clones_;
  LentCounts lent_;
  const size_t ended_jobs_;
  std::deque<JobId> whole_, brief_;  // settled, oldest first
  size_t whole_tasks_ = 0;
  uint64_t brief_bytes_ = 0;
  JobId newest_forgotten_;
  bool restoring_ = false;  // the head's part has been read
};

// The state that people are shown: the end of a job only when it is on disk.
JobState ToldState(const JobView& job);
// kNotFound: of a job that is kept in brief, its tasks, attempts, counters and reasons are gone.
Status OnlyBrief(const JobView& job);

}  // namespace mr::master
