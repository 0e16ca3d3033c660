#include "master/host/rows.h"

#include <algorithm>

#include "common/base/text.h"
#include "master/core/failure_text.h"
#include "master/host/task_input.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kMostReason = 300;  // bytes of a decision's reason that are shown

uint64_t RowMicros(Duration duration) { return duration.ns > 0 ? static_cast<uint64_t>(duration.ns) / 1000 : 0; }

// Returns the text to its first NUL, as messages carry it.
std::string Shown(const std::string& text) { return text.c_str(); }

std::string WorkerNameOf(WorkerId id) { return id.valid() ? Name(id) : ""; }

double ProgressOf(const AttemptView& attempt) {
  if (attempt.state == AttemptState::kCommitted || attempt.state == AttemptState::kReplica) return 1;
  if (attempt.total_bytes == 0) return 0;
  return std::min(1.0, static_cast<double>(attempt.taken_bytes) / static_cast<double>(attempt.total_bytes));
}

}  // namespace

bool EndsJob(const WhyLine& line) {
  return line.what == What::kJobCommitted || line.what == What::kJobFailed || line.what == What::kJobKilled;
}

TaskStatus Rows::TaskOf(const JobView& job, uint32_t stage, uint32_t task, uint64_t* slices) const {
  const TaskView& view = job.stages[stage].tasks[task];
  const TaskId id{job.id, stage, task};
  // Without the scheduler's entity, which another release had, the projection knows what was committed.
  const sched::Task* known = core_.scheduler().state().FindTask(id);
  const bool done = known == nullptr ? view.committed : known->state == sched::TaskState::kCommitted;
  const bool runs = known != nullptr && known->holding > 0;
  const bool last = !done && known != nullptr && !known->attempts.empty();
  TaskStatus out;
  out.id = Name(id, job.letter(stage));
  out.stage = stage;
  out.state = done ? "committed" : runs ? "running" : "pending";
  out.attempts = known == nullptr ? 0 : static_cast<uint32_t>(known->attempts.size());
  out.generation = known == nullptr ? view.generation : known->generation;
  out.worker = WorkerNameOf(last ? known->attempts.back().worker : view.worker);
  out.input_bytes = InputBytes(job, stage, known, slices);
  if (view.committed) {
    out.output_bytes = view.manifest.bytes;
    out.output_records = view.manifest.records;
  }
  for (const auto& replica : view.replicas) out.replicas.push_back(WorkerNameOf(replica.replica.worker));
  return out;
}

AttemptStatus Rows::AttemptOf(const JobView& job, const AttemptView& attempt, Instant now) const {
  const auto since = [&job](Instant at) {
    return at.ns == 0 ? 0 : std::max<uint64_t>(1, RowMicros(at - job.submitted));
  };
  AttemptStatus out;
  out.id = Name(attempt.id, job.letter(attempt.id.task.stage));
  out.state = Word(attempt.state);
  out.cause = CauseName(attempt.cause);
  out.worker = WorkerNameOf(attempt.worker);
  out.progress = ProgressOf(attempt);
  out.ran_us = RowMicros((Live(attempt.state) ? now : attempt.ended) - attempt.launched);
  out.message = Shown(WithPlace(*attempt.note));
  out.reason = Shown(sched::Explain(attempt.note->reason));
  out.launched_us = since(attempt.launched);
  out.started_us = since(attempt.started);
  out.inputs_us = since(attempt.inputs_done);
  out.sort_us = since(attempt.sort);
  out.reduce_us = since(attempt.reduce);
  out.ended_us = since(attempt.ended);
  out.won = attempt.state == AttemptState::kCommitted;
  if (attempt.state == AttemptState::kFailed || attempt.state == AttemptState::kKilled) {
    out.failure = Word(attempt.failure);
  }
  return out;
}

DecisionStatus Rows::DecisionOf(const JobView& job, const WhyLine& line) const {
  DecisionStatus out;
  out.at_us = RowMicros(line.at - job.submitted);
  out.what = Word(line.what);
  if (line.attempt.number != 0) out.attempt = Name(line.attempt, job.letter(line.attempt.task.stage));
  out.worker = WorkerNameOf(line.worker);
  out.reason = Shown((line.text.empty() ? Explain(line.reason) : line.text).substr(0, kMostReason));
  return out;
}

std::vector<WhyLine> Rows::DecisionsOf(const JobView& job, size_t from, size_t most, size_t* next) const {
  std::vector<WhyLine> lines;
  size_t at = 0;
  const auto add = [&](const WhyLine& line) {
    if (at++ >= from && lines.size() < most) lines.push_back(line);
  };
  for (const WhyLine& line : job.notes.why_job) {
    if (!EndsJob(line)) add(line);
  }
  for (const auto& [task, why] : job.notes.why) {
    if (at + why.size() <= from || lines.size() == most) {
      at += why.size();
      continue;
    }
    for (const WhyLine& line : why.All()) add(line);
  }
  for (const WhyLine& line : job.notes.why_job) {
    if (EndsJob(line)) add(line);
  }
  const size_t end = from + lines.size();
  *next = end < at ? end : 0;
  return lines;
}

WorkerStatus Rows::WorkerOf(WorkerId id, const WorkerView& worker) {
  const sched::Worker* known = core_.scheduler().state().FindWorker(id);
  WorkerStatus out;
  out.id = Name(id);
  out.name = Shown(worker.name);
  out.address = Shown(worker.info.address);
  out.rack = Shown(worker.info.rack);
  out.state = worker.Word();
  out.pid = worker.alive ? worker.pid : 0;
  out.slots = worker.alive ? worker.info.slots.total : 0;
  out.busy = known == nullptr ? 0 : known->used_total();
  out.incarnation = worker.info.incarnation;
  for (const std::string& label : worker.info.labels) out.labels.push_back(Shown(label));
  out.blocks = static_cast<uint32_t>(core_.files().BlocksOn(id));
  out.used_bytes = core_.files().UsedOn(id);
  out.capacity_bytes = worker.capacity_bytes;
  out.memory_bytes = worker.info.memory_bytes;
  out.reports_given_up = worker.reports_given_up;
  out.tier = worker.tier;
  out.disk = worker.room.disk;
  out.wrong_outputs = worker.wrong_outputs;
  out.safe_to_stop = worker.drained_by_user && drains_.DrainOf(id)->Safe();
  return out;
}

size_t AddCountersOf(const TaskView& task, CounterSums* sums) {
  if (!task.committed || !task.output) return 0;
  const std::vector<CounterValue> counters = task.output.Counters();
  for (const auto& counter : counters) {
    // The values are an operator's own: a sum past the range wraps, as in mrtask.
    int64_t& sum = (*sums)[{counter.group, counter.name}];
    (void)__builtin_add_overflow(sum, counter.value, &sum);
  }
  return counters.size();
}

std::vector<CounterValue> ListOf(const CounterSums& sums) {
  std::vector<CounterValue> out;
  out.reserve(sums.size());
  for (const auto& [name, sum] : sums) out.push_back({name.first, name.second, sum});
  return out;
}

std::vector<QueueStatus> Rows::Queues() const {
  std::map<std::string, uint32_t> jobs;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) jobs[job.queue] += job.running() ? 1 : 0;
  std::map<std::string, const sched::Queue*> queues;
  const sched::Queue none;
  queues["default"] = &none;
  for (const auto& [name, queue] : core_.scheduler().state().queues()) queues[name] = &queue;
  std::vector<QueueStatus> out;
  out.reserve(queues.size());
  for (const auto& [name, queue] : queues) {
    out.push_back(
        {name, queue->weight, queue->min_share, queue->max_share, jobs[name], queue->held_total(), queue->has_ready()});
  }
  return out;
}

}  // namespace mr::master
