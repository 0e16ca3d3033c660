// Converts the jobs to bytes and back, for snapshots. A later release reads these bytes even if it does not read the
// scheduler's image. How to add a field: common/base/fields.h.
#include "master/core/job_image.h"

#include "common/base/fields.h"
#include "master/core/jobs.h"

namespace mr::master {
namespace {

TaskImage ImageOf(const TaskView& task) {
  TaskImage image{.committed = task.committed,
                  .generation = task.generation,
                  .winner = task.winner,
                  .worker = task.worker,
                  .manifest = task.manifest};
  if (task.output) image.output = task.output.Unpack();
  for (const ReplicaView& replica : task.replicas) {
    image.replicas.push_back({replica.replica, replica.manifest, {}});
    if (!replica.extra.Shares(task.output)) image.replicas.back().extra = replica.extra.Unpack();
  }
  return image;
}

TaskView ViewOf(TaskImage image) {
  TaskView task{.committed = image.committed,
                .generation = image.generation,
                .winner = image.winner,
                .worker = image.worker,
                .manifest = image.manifest};
  if (image.output) task.output = StoredOutput(*image.output);
  for (ReplicaImage& replica : image.replicas) {
    StoredOutput extra = replica.extra ? StoredOutput(*replica.extra) : task.output;
    task.replicas.push_back({replica.replica, replica.manifest, std::move(extra)});
  }
  return task;
}

StageImage ImageOf(const StageView& stage, const StageNotes& notes) {
  StageImage image{.planned = stage.planned,
                   .started = notes.started,
                   .committed = stage.committed,
                   .failed = notes.failed,
                   .taken_bytes = notes.taken_bytes,
                   .output_bytes = stage.output_bytes,
                   .output_records = stage.output_records,
                   .first_launch = notes.first_launch,
                   .last_commit = notes.last_commit};
  for (const TaskView& task : stage.tasks) image.tasks.push_back(ImageOf(task));
  for (const auto& [task, times] : notes.refused) {
    if (task < image.tasks.size()) image.tasks[task].refused = times;
  }
  return image;
}

void Read(StageImage image, StageView* stage, StageNotes* notes) {
  stage->planned = image.planned;
  stage->committed = image.committed;
  stage->output_bytes = image.output_bytes;
  stage->output_records = image.output_records;
  notes->started = image.started;
  notes->failed = image.failed;
  notes->taken_bytes = image.taken_bytes;
  notes->first_launch = image.first_launch;
  notes->last_commit = image.last_commit;
  stage->tasks.reserve(image.tasks.size());
  for (TaskImage& task : image.tasks) {
    if (task.refused != 0) notes->refused[static_cast<uint32_t>(stage->tasks.size())] = task.refused;
    stage->tasks.push_back(ViewOf(std::move(task)));
  }
}

AttemptImage ImageOf(const AttemptId& id, const AttemptNote& note) {
  AttemptImage image{.id = id,
                     .reason = note.reason,
                     .message = note.message,
                     .record = note.record,
                     .stderr_tail = note.stderr_tail,
                     .sequence = note.sequence};
  if (note.failed) image.state = AttemptState::kFailed;
  if (note.verdict == Verdict::kWinner) image.state = AttemptState::kCommitted;
  if (note.verdict == Verdict::kReplicaKept) image.state = AttemptState::kReplica;
  return image;
}

AttemptNote NoteOf(AttemptImage image) {
  AttemptNote note{.reason = image.reason,
                   .message = std::move(image.message),
                   .record = std::move(image.record),
                   .stderr_tail = std::move(image.stderr_tail),
                   .failed = image.state == AttemptState::kFailed,
                   .sequence = image.sequence};
  if (image.state == AttemptState::kCommitted) note.verdict = Verdict::kWinner;
  if (image.state == AttemptState::kReplica) note.verdict = Verdict::kReplicaKept;
  return note;
}

JobImage ImageOf(const JobView& job) {
  const JobNotes& notes = job.notes;
  JobImage image{.id = job.id,
                 .spec_bytes = job.spec_bytes,
                 .submission_id = job.submission_id,
                 .wall_ms = job.wall_ms,
                 .plan = job.plan,
                 .state = job.state,
                 .told = job.told,
                 .brief = job.brief,
                 .rolled_back = job.rolled_back,
                 .totals = job.totals,
                 .error = job.error,
                 .publish_error = job.publish_error,
                 .last_failure = notes.last_failure,
                 .submitted = job.submitted,
                 .ended = job.ended,
                 .submit_sequence = job.submit_sequence};
  for (size_t s = 0; s < job.stages.size(); ++s) image.stages.push_back(ImageOf(job.stages[s], notes.stages[s]));
  for (const auto& [id, note] : notes.attempts) image.attempts.push_back(ImageOf(id, note));
  for (const auto& [key, lines] : notes.why) {
    for (const WhyLine& l : lines.All()) {
      image.why.push_back({key.first, key.second, false, l.at, l.what, l.attempt, l.worker, l.reason});
    }
  }
  for (const WhyLine& l : notes.why_job) image.why.push_back({0, 0, true, l.at, l.what, l.attempt, l.worker, l.reason});
  return image;
}

std::string TailOf(const CauseCounts& causes) {
  std::string bytes;
  FieldWriter writer(&bytes);
  for (size_t i = 0; i < kFirstCauses; ++i) writer.Put(causes[i]);
  return bytes;
}
void ReadTail(FieldReader* reader, CauseCounts* causes) {
  for (size_t i = 0; i < kFirstCauses; ++i) reader->Get((*causes)[i]);
}

CloneTail CloneTailOf(const JobView& job) {
  CloneTail tail{job.notes.clones, {}, {}};
  for (const auto& [read, replica] : job.notes.reads) tail.reads.push_back({read.first, replica});
  for (const auto& [stage, text] : job.notes.warnings) tail.warnings.push_back({stage, text});
  return tail;
}

std::string TextsOf(const JobView& job) {
  std::vector<WhyText> texts;
  uint32_t at = 0;
  const auto add = [&](const std::vector<WhyLine>& lines) {
    for (const WhyLine& l : lines) {
      if (!l.text.empty()) texts.push_back({at, l.text});
      ++at;
    }
  };
  for (const auto& [key, lines] : job.notes.why) add(lines.All());
  add(job.notes.why_job);
  return EncodeFields(texts);
}

Status Unreadable(const std::string& what) { return Corrupted("a snapshot's " + what + " cannot be read"); }

// texts: those of the lines of `why`.
Result<JobView> ViewOf(JobImage image, std::vector<WhyText> texts,
                       const std::function<Result<JobSpec>(std::string_view)>& read_spec) {
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
  // 0.1 also wrote how far an open job was.
  const bool open = image.state == JobState::kRunning || image.state == JobState::kKilling;
  job.state = open ? JobState::kPending : image.state;
  job.told = image.told;
  job.brief = image.brief;
  job.rolled_back = image.rolled_back;
  job.totals = image.totals;
  job.error = image.error;
  job.publish_error = image.publish_error;
  job.notes.last_failure = image.last_failure;
  job.submitted = image.submitted;
  job.ended = image.ended;
  job.submit_sequence = image.submit_sequence;
  job.notes.stages.resize(image.stages.size());
  for (size_t s = 0; s < image.stages.size(); ++s) {
    Read(std::move(image.stages[s]), &job.stages.emplace_back(), &job.notes.stages[s]);
  }
  for (AttemptImage& attempt : image.attempts) {
    // A takeover may have planned fewer tasks; release 0.1 kept the attempts of the others.
    if (job.Find(attempt.id.task) == nullptr) continue;
    const AttemptId id = attempt.id;
    job.notes.attempts.emplace(id, NoteOf(std::move(attempt)));
  }
  std::vector<std::string> text_of(texts.empty() ? 0 : image.why.size());
  for (WhyText& t : texts) {
    if (t.line >= text_of.size()) return Unreadable(Name(job.id));
    text_of[t.line] = std::move(t.text);
  }
  for (size_t i = 0; i < image.why.size(); ++i) {
    WhyImage& w = image.why[i];
    WhyLine line{w.at, w.what, w.attempt, w.worker, std::move(w.reason), ""};
    if (!text_of.empty()) line.text = std::move(text_of[i]);
    if (w.of_job) {
      job.notes.why_job.push_back(std::move(line));
    } else {
      job.notes.why[{w.stage, w.task}].Add(line);
    }
  }
  return job;
}

}  // namespace

void Jobs::Save(const std::function<void(std::string)>& part, bool hard) const {
  const ReplicasTail tail{totals_.replicas, {}};
  part(EncodeFields(TableHead{
           totals_.attempts, newest_forgotten_, {whole_.begin(), whole_.end()}, {brief_.begin(), brief_.end()}}) +
       EncodeFields(tail) + TailOf(totals_.causes) + EncodeFields(totals_.clones) +
       EncodeFields(LentTail(totals_.lent, totals_.causes)));
  for (const auto& [id, job] : jobs_) {
    part(EncodeFields(ImageOf(job)) + TailOf(job.notes.causes) + TextsOf(job) + EncodeFields(CloneTailOf(job)) +
         EncodeFields(LentTail(job.notes.lent, job.notes.causes)) + EncodeFields(job.notes.steering) +
         EncodeFields(DeadlineTail{job.spec.priority, job.spec.deadline}) +
         EncodeFields(UtilityTail{!job.spec.utility.empty()}) + EncodeFields(InputsOf(job.plan)) +
         EncodeFields(hard ? std::vector<Skew>() : job.notes.skew) + EncodeFields(job.owner));
  }
}

Status Jobs::RestorePart(std::string_view part, const std::function<Result<JobSpec>(std::string_view)>& read_spec) {
  if (!restoring_) {
    TableHead head;
    ReplicasTail tail;
    FieldReader reader(part);
    reader.Get(head);
    if (reader.ok() && !reader.AtEnd()) reader.Get(tail);
    if (reader.ok() && !reader.AtEnd()) ReadTail(&reader, &totals_.causes);
    if (reader.ok() && !reader.AtEnd()) reader.Get(totals_.clones);
    LentTail lent;
    if (reader.ok() && !reader.AtEnd()) reader.Get(lent);
    if (!reader.ok() || !reader.AtEnd()) return Unreadable("list of jobs");
    totals_.lent = lent.counts;
    lent.Into(&totals_.causes);
    totals_.replicas = tail.counts;
    totals_.attempts = head.counts;
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
  std::string owner = kNoOwner;
  if (reader.ok() && !reader.AtEnd()) reader.Get(owner);
  if (!reader.ok() || !reader.AtEnd()) return Unreadable("job");
  if (inputs && !TakeInputs(*std::move(inputs), &image.plan)) return Unreadable(Name(image.id));
  MR_ASSIGN_OR_RETURN(JobView job, ViewOf(std::move(image), std::move(texts), read_spec));
  job.owner = std::move(owner);
  if (deadline) {
    job.spec.priority = deadline->priority;
    if (!utility.value_or(job.spec.deadline == deadline->deadline)) job.spec.utility.clear();
    job.spec.deadline = deadline->deadline;
  }
  lent.Into(&causes);
  JobNotes& notes = job.notes;
  notes.causes = causes;
  notes.lent = lent.counts;
  notes.steering = std::move(steering);
  notes.skew = std::move(skew);
  notes.clones = clones.counts;
  for (const CloneTail::Read& read : clones.reads) notes.reads[{read.reader, read.replica.output.task}] = read.replica;
  for (CloneTail::Warning& w : clones.warnings) notes.warnings[w.stage] = std::move(w.text);
  if (!job.submission_id.empty()) submissions_[{job.owner, job.submission_id}] = job.id;
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
