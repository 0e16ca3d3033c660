// The job table's facts about clones: counts of their ends, the binds of their readers, and warnings about operators
// that are not deterministic.
#include "master/core/job_table.h"

namespace mr::master {

void JobTable::CountClone(const AttemptView& ended, JobView* job) {
  auto read = job->reads.lower_bound({ended.id, {}});
  while (read != job->reads.end() && read->first.first == ended.id) read = job->reads.erase(read);
  const auto any = [job](Cause cause) { return job->causes[CauseIndex(cause)].launched > 0; };
  const bool killed = ended.state == AttemptState::kKilled;
  if (ended.state == AttemptState::kCommitted || !(any(Cause::kClone) || any(Cause::kOpportunistic))) return;
  bool cloned = false, lent = false;
  auto a = job->attempts.lower_bound({ended.id.task, 0});
  for (; a != job->attempts.end() && a->first.task == ended.id.task; ++a) {
    cloned = cloned || a->second.cause == Cause::kClone;
    lent = lent || a->second.cause == Cause::kOpportunistic;
  }
  for (CloneCounts* clones : {&job->clones, &clones_}) {
    if (!cloned) break;
    clones->killed += ended.cause == Cause::kClone && killed;
    clones->extra = clones->extra + (ended.ended - ended.launched);
  }
  for (LentCounts* counts : {&job->lent, &lent_}) {
    counts->killed += ended.cause == Cause::kOpportunistic && killed;
    if (lent && !cloned) counts->extra = counts->extra + (ended.ended - ended.launched);
  }
}

void JobTable::NoteBind(const sched::Bind& d, Instant at) {
  JobView* job = Find(d.reader.task.job);
  const AttemptView* reader = Find(d.reader);
  if (job == nullptr || reader == nullptr || !Live(reader->state)) return;
  const auto [bound, first] = job->reads.try_emplace({d.reader, d.replica.output.task}, d.replica);
  if (!first && bound->second == d.replica) return;  // repeated, since its worker was away
  bound->second = d.replica;
  for (CloneCounts* clones : {&job->clones, &clones_}) {
    if (!first)
      ++clones->rebound;
    else if (d.exclusive)
      ++clones->exclusive;
    else
      ++clones->contended;
  }
  const std::string from = "it reads the output of " + NameOf({d.replica.output.task, d.replica.attempt});
  const std::string again = first ? "" : ", since the replica that it was bound to is gone";
  Note(What::kBound, d.reader, job->id, d.replica.worker, d.reason, at, from + again + ": " + Explain(d.reason));
}

void JobTable::WarnIndeterminate(const sched::MarkIndeterminate& mark, const std::string& extra,
                                 const FinishedExtra* before) {
  const TaskId& id = mark.task;
  JobView* job = Find(id.job);
  if (job == nullptr || job->brief) return;
  const FinishedExtra* committed = before != nullptr ? before : job->stages[id.stage].tasks[id.task].output.get();
  FinishedExtra other;
  std::string where;
  if (committed != nullptr && DecodeFinished(extra, &other) && committed->rows.size() == other.rows.size()) {
    for (size_t p = 0; p < other.rows.size() && where.empty(); ++p) {
      if (committed->rows[p].content != other.rows[p].content) where = ", in partition " + std::to_string(p);
    }
  }
  const std::string text = "stage '" + job->spec.stages[id.stage].name + "' is not deterministic: two runs of " +
                           Name(id, job->letter(id.stage)) + " did not give the same records" + where +
                           "; its readers all read the same ones, and none of its tasks is cloned any more";
  job->warnings.try_emplace(id.stage, text);
}

}  // namespace mr::master
