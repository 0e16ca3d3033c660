// The job table as bytes and back, for snapshots. Fields are only added at the end: a later release
// reads these, also where it does not read the scheduler's image.
#include "common/base/fields.h"
#include "master/core/job_table.h"

namespace mr::master {
namespace {

struct TableHead {
  JobTable::Counts counts;
  JobId newest_forgotten;
  std::vector<JobId> whole, brief;
  template <class V>
  static void Fields(V&& v) {
    using T = TableHead;
    v(&T::counts, &T::newest_forgotten, &T::whole, &T::brief);
  }
};

// Stands behind the head in images of releases that can replicate outputs.
struct ReplicasTail {
  JobTable::ReplicaCounts counts;
  std::vector<Replication> replications;
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicasTail::counts, &ReplicasTail::replications);
  }
};

struct ReplicaImage {
  Replica replica;
  Manifest manifest;
  std::optional<FinishedExtra> extra;  // none: that of the commit
  template <class V>
  static void Fields(V&& v) {
    v(&ReplicaImage::replica, &ReplicaImage::manifest, &ReplicaImage::extra);
  }
};

struct TaskImage {
  bool committed = false;
  uint32_t generation = 1, attempts = 0, live = 0, refused = 0, winner = 0;
  WorkerId worker;
  std::optional<FinishedExtra> output;
  Manifest manifest;
  std::vector<ReplicaImage> replicas;
  template <class V>
  static void Fields(V&& v) {
    using T = TaskImage;
    v(&T::committed, &T::generation, &T::attempts, &T::live, &T::winner, &T::worker, &T::output, &T::manifest,
      &T::replicas, &T::refused);
  }
};

struct StageImage {
  bool planned = false, started = false;
  std::vector<TaskImage> tasks;
  uint32_t done = 0, running = 0, waiting = 0, failed = 0;
  uint64_t taken_bytes = 0, output_bytes = 0, output_records = 0;
  Instant first_launch, last_commit;
  template <class V>
  static void Fields(V&& v) {
    using T = StageImage;
    v(&T::planned, &T::started, &T::tasks, &T::done, &T::running, &T::waiting, &T::failed, &T::taken_bytes,
      &T::output_bytes, &T::output_records, &T::first_launch, &T::last_commit);
  }
};

struct WhyImage {
  uint32_t stage = 0, task = 0;
  bool of_job = false;
  Instant at;
  What what = What::kLaunched;
  AttemptId attempt;
  WorkerId worker;
  sched::Reason reason;
  template <class V>
  static void Fields(V&& v) {
    using T = WhyImage;
    v(&T::stage, &T::task, &T::of_job, &T::at, &T::what, &T::attempt, &T::worker, &T::reason);
  }
};

struct JobImage {
  JobId id;
  std::string spec_bytes, submission_id;
  uint64_t wall_ms = 0;
  JobPlan plan;
  JobState state = JobState::kPending;
  bool told = false, brief = false, rolled_back = false;
  OutputTotals totals;
  std::string error, publish_error, last_failure;
  Instant submitted, ended;
  uint64_t submit_sequence = 0;
  std::vector<StageImage> stages;
  std::vector<AttemptView> attempts;
  std::vector<WhyImage> why;
  template <class V>
  static void Fields(V&& v) {
    using T = JobImage;
    v(&T::id, &T::spec_bytes, &T::submission_id, &T::wall_ms, &T::plan, &T::state, &T::told, &T::brief, &T::rolled_back,
      &T::totals, &T::error, &T::publish_error, &T::submitted, &T::ended, &T::submit_sequence, &T::stages, &T::attempts,
      &T::why, &T::last_failure);
  }
};

TaskImage ImageOf(const TaskView& task) {
  TaskImage image{task.committed, task.generation,
                  task.attempts,  task.live,
                  task.refused,   task.winner,
                  task.worker,    {},
                  task.manifest,  {}};
  if (task.output != nullptr) image.output = *task.output;
  for (const ReplicaView& replica : task.replicas) {
    image.replicas.push_back({replica.replica, replica.manifest, {}});
    if (replica.extra != task.output) image.replicas.back().extra = *replica.extra;
  }
  return image;
}

TaskView ViewOf(TaskImage image) {
  TaskView task{image.committed, image.generation,
                image.attempts,  image.live,
                image.refused,   image.winner,
                image.worker,    {},
                image.manifest,  {}};
  if (image.output) task.output = std::make_shared<FinishedExtra>(*std::move(image.output));
  for (ReplicaImage& replica : image.replicas) {
    auto extra = replica.extra ? std::make_shared<const FinishedExtra>(*std::move(replica.extra)) : task.output;
    task.replicas.push_back({replica.replica, replica.manifest, std::move(extra)});
  }
  return task;
}

JobImage ImageOf(const JobView& job) {
  JobImage image{job.id,
                 job.spec_bytes,
                 job.submission_id,
                 job.wall_ms,
                 job.plan,
                 job.state,
                 job.told,
                 job.brief,
                 job.rolled_back,
                 job.totals,
                 job.error,
                 job.publish_error,
                 job.last_failure,
                 job.submitted,
                 job.ended,
                 job.submit_sequence,
                 {},
                 {},
                 {}};
  for (const StageView& s : job.stages) {
    image.stages.push_back({s.planned,
                            s.started,
                            {},
                            s.done,
                            s.running,
                            s.waiting,
                            s.failed,
                            s.taken_bytes,
                            s.output_bytes,
                            s.output_records,
                            s.first_launch,
                            s.last_commit});
    for (const TaskView& task : s.tasks) image.stages.back().tasks.push_back(ImageOf(task));
  }
  for (const auto& [id, attempt] : job.attempts) image.attempts.push_back(attempt);
  for (const auto& [key, lines] : job.why) {
    for (const WhyLine& l : lines) {
      image.why.push_back({key.first, key.second, false, l.at, l.what, l.attempt, l.worker, l.reason});
    }
  }
  for (const WhyLine& l : job.why_job) image.why.push_back({0, 0, true, l.at, l.what, l.attempt, l.worker, l.reason});
  return image;
}

// Behind the image, since earlier releases wrote none; then they are counted from here on.
constexpr size_t kFirstCauses = 5;  // that these releases knew; the others stand in LentTail
std::string TailOf(const CauseCounts& causes) {
  std::string bytes;
  FieldWriter writer(&bytes);
  for (size_t i = 0; i < kFirstCauses; ++i) writer.Put(causes[i]);
  return bytes;
}
void ReadTail(FieldReader* reader, CauseCounts* causes) {
  for (size_t i = 0; i < kFirstCauses; ++i) reader->Get((*causes)[i]);
}

// Behind the clones, from the release on that lends idle slots.
struct LentTail {
  LentCounts counts;
  std::vector<sched::CauseCount> causes;  // from the first that the tail of causes lacks
  LentTail() = default;
  LentTail(const LentCounts& lent, const CauseCounts& all)
      : counts(lent), causes(all.begin() + kFirstCauses, all.end()) {}
  void Into(CauseCounts* all) const {
    const size_t known = std::min(causes.size(), all->size() - kFirstCauses);
    std::copy_n(causes.begin(), known, all->begin() + kFirstCauses);
  }
  template <class V>
  static void Fields(V&& v) {
    v(&LentTail::counts, &LentTail::causes);
  }
};

// Behind the causes and the texts, from the release on whose jobs run as clones.
struct CloneTail {
  struct Read {
    AttemptId reader;
    Replica replica;
    template <class V>
    static void Fields(V&& v) {
      v(&Read::reader, &Read::replica);
    }
  };
  struct Warning {
    uint32_t stage = 0;
    std::string text;
    template <class V>
    static void Fields(V&& v) {
      v(&Warning::stage, &Warning::text);
    }
  };
  CloneCounts counts;
  std::vector<Read> reads;
  std::vector<Warning> warnings;
  template <class V>
  static void Fields(V&& v) {
    v(&CloneTail::counts, &CloneTail::reads, &CloneTail::warnings);
  }
};

CloneTail CloneTailOf(const JobView& job) {
  CloneTail tail{job.clones, {}, {}};
  for (const auto& [read, replica] : job.reads) tail.reads.push_back({read.first, replica});
  for (const auto& [stage, text] : job.warnings) tail.warnings.push_back({stage, text});
  return tail;
}

// Behind the steering, from the release on that steers jobs by their deadlines; priority and deadline may have been
// changed since the spec was written.
struct DeadlineTail {
  int32_t priority = 0;
  Duration deadline;
  template <class V>
  static void Fields(V&& v) {
    v(&DeadlineTail::priority, &DeadlineTail::deadline);
  }
};
// Behind it: whether the spec's utility counts still. Earlier releases do not say, and compared deadlines.
using UtilityTail = bool;

// Behind the causes: texts of reasons, by their place in the image's list.
struct WhyText {
  uint32_t line = 0;
  std::string text;
  template <class V>
  static void Fields(V&& v) {
    v(&WhyText::line, &WhyText::text);
  }
};

// In the order of the image.
std::vector<WhyLine*> LinesOf(JobView* job) {
  std::vector<WhyLine*> all;
  for (auto& [key, lines] : job->why) {
    for (WhyLine& l : lines) all.push_back(&l);
  }
  for (WhyLine& l : job->why_job) all.push_back(&l);
  return all;
}

std::string TextsOf(const JobView& job) {
  std::vector<WhyText> texts;
  uint32_t at = 0;
  const auto add = [&](const std::deque<WhyLine>& lines) {
    for (const WhyLine& l : lines) {
      if (!l.text.empty()) texts.push_back({at, l.text});
      ++at;
    }
  };
  for (const auto& [key, lines] : job.why) add(lines);
  add(job.why_job);
  return EncodeFields(texts);
}

Status Unreadable(const std::string& what) { return Corrupted("a snapshot's " + what + " cannot be read"); }

Result<JobView> ViewOf(JobImage image, const std::function<Result<JobSpec>(std::string_view)>& read_spec) {
  JobView job;
  job.id = image.id;
  job.spec_bytes = std::move(image.spec_bytes);
  auto spec = read_spec(job.spec_bytes);
  if (!spec.ok()) return spec.status().With("the spec of " + Name(job.id));
  job.spec = *std::move(spec);
  job.submission_id = image.submission_id;
  job.wall_ms = image.wall_ms;
  job.plan = std::move(image.plan);
  if (job.plan.stages.size() != job.spec.stages.size() || image.stages.size() != job.spec.stages.size()) {
    return Unreadable(Name(job.id));
  }
  if (!image.brief) FillSplits(&job.plan);
  job.state = image.state;
  job.told = image.told;
  job.brief = image.brief;
  job.rolled_back = image.rolled_back;
  job.totals = image.totals;
  job.error = image.error;
  job.publish_error = image.publish_error;
  job.last_failure = image.last_failure;
  job.submitted = image.submitted;
  job.ended = image.ended;
  job.submit_sequence = image.submit_sequence;
  for (StageImage& s : image.stages) {
    StageView& stage = job.stages.emplace_back();
    stage = {
        s.planned,        {},        s.done,         s.running,     s.waiting, s.failed, s.taken_bytes, s.output_bytes,
        s.output_records, s.started, s.first_launch, s.last_commit, 0};
    for (TaskImage& task : s.tasks) stage.tasks.push_back(ViewOf(std::move(task)));
  }
  for (AttemptView& attempt : image.attempts) {
    const TaskId& task = attempt.id.task;
    if (task.stage >= job.stages.size() || task.task >= job.stages[task.stage].tasks.size()) {
      return Unreadable(Name(job.id));
    }
    if (Live(attempt.state)) ++job.live_attempts;
    job.attempts.emplace(attempt.id, std::move(attempt));
  }
  for (WhyImage& w : image.why) {
    WhyLine line{w.at, w.what, w.attempt, w.worker, std::move(w.reason), ""};
    (w.of_job ? job.why_job : job.why[{w.stage, w.task}]).push_back(std::move(line));
  }
  return job;
}

}  // namespace

void JobTable::Save(const std::function<void(std::string)>& part, bool hard) const {
  ReplicasTail tail{replica_counts_, {}};
  for (const auto& [key, replication] : replications_) tail.replications.push_back(replication);
  part(EncodeFields(
           TableHead{counts_, newest_forgotten_, {whole_.begin(), whole_.end()}, {brief_.begin(), brief_.end()}}) +
       EncodeFields(tail) + TailOf(causes_) + EncodeFields(clones_) + EncodeFields(LentTail(lent_, causes_)));
  for (const auto& [id, job] : jobs_) {
    part(EncodeFields(ImageOf(job)) + TailOf(job.causes) + TextsOf(job) + EncodeFields(CloneTailOf(job)) +
         EncodeFields(LentTail(job.lent, job.causes)) + EncodeFields(job.steering) +
         EncodeFields(DeadlineTail{job.spec.priority, job.spec.deadline}) +
         EncodeFields(UtilityTail{!job.spec.utility.empty()}) + EncodeFields(InputsOf(job.plan)) +
         EncodeFields(hard ? std::vector<Skew>() : job.skew));
  }
}

Status JobTable::RestorePart(std::string_view part, const std::function<Result<JobSpec>(std::string_view)>& read_spec) {
  if (!restoring_) {
    TableHead head;
    ReplicasTail tail;
    FieldReader reader(part);
    reader.Get(head);
    if (reader.ok() && !reader.AtEnd()) reader.Get(tail);
    if (reader.ok() && !reader.AtEnd()) ReadTail(&reader, &causes_);
    if (reader.ok() && !reader.AtEnd()) reader.Get(clones_);
    LentTail lent;
    if (reader.ok() && !reader.AtEnd()) reader.Get(lent);
    if (!reader.ok() || !reader.AtEnd()) return Unreadable("list of jobs");
    lent_ = lent.counts;
    lent.Into(&causes_);
    replica_counts_ = tail.counts;
    for (const Replication& r : tail.replications) replications_[{r.to, r.from.output}] = r;
    counts_ = head.counts;
    newest_forgotten_ = head.newest_forgotten;
    whole_.assign(head.whole.begin(), head.whole.end());
    brief_.assign(head.brief.begin(), head.brief.end());
    restoring_ = true;
    return Status::Ok();
  }
  JobImage image;
  CauseCounts causes{};
  FieldReader reader(part);
  reader.Get(image);
  if (reader.ok() && !reader.AtEnd()) ReadTail(&reader, &causes);
  std::vector<WhyText> texts;
  if (reader.ok() && !reader.AtEnd()) reader.Get(texts);
  CloneTail clones;
  if (reader.ok() && !reader.AtEnd()) reader.Get(clones);
  LentTail lent;
  if (reader.ok() && !reader.AtEnd()) reader.Get(lent);
  Steering steering;  // from the release on that steers by deadlines
  if (reader.ok() && !reader.AtEnd()) reader.Get(steering);
  std::optional<DeadlineTail> deadline;
  if (reader.ok() && !reader.AtEnd()) reader.Get(deadline.emplace());
  std::optional<UtilityTail> utility;
  if (reader.ok() && !reader.AtEnd()) reader.Get(utility.emplace());
  std::optional<PlannedInputs> inputs;
  if (reader.ok() && !reader.AtEnd()) reader.Get(inputs.emplace());
  std::vector<Skew> skew;
  if (reader.ok() && !reader.AtEnd()) reader.Get(skew);
  if (!reader.ok() || !reader.AtEnd()) return Unreadable("job");
  if (inputs && !TakeInputs(*std::move(inputs), &image.plan)) return Unreadable(Name(image.id));
  MR_ASSIGN_OR_RETURN(JobView job, ViewOf(std::move(image), read_spec));
  const std::vector<WhyLine*> lines = texts.empty() ? std::vector<WhyLine*>() : LinesOf(&job);
  for (WhyText& t : texts) {
    if (t.line >= lines.size()) return Unreadable(Name(job.id));
    lines[t.line]->text = std::move(t.text);
  }
  if (deadline) {
    job.spec.priority = deadline->priority;
    if (!utility.value_or(job.spec.deadline == deadline->deadline)) job.spec.utility.clear();
    job.spec.deadline = deadline->deadline;
  }
  lent.Into(&causes);
  job.causes = causes;
  job.lent = lent.counts;
  job.steering = std::move(steering);
  job.skew = std::move(skew);
  job.clones = clones.counts;
  for (const CloneTail::Read& read : clones.reads) job.reads[{read.reader, read.replica.output.task}] = read.replica;
  for (CloneTail::Warning& w : clones.warnings) job.warnings[w.stage] = std::move(w.text);
  if (!job.submission_id.empty()) submissions_[job.submission_id] = job.id;
  if (job.brief) {
    brief_bytes_ += job.spec_bytes.size();
  } else if (job.told) {
    for (const StageView& stage : job.stages) whole_tasks_ += stage.tasks.size();
  }
  if (!job.told) AddOpen(job);
  const JobId id = job.id;
  jobs_[id] = std::move(job);
  return Status::Ok();
}

}  // namespace mr::master
