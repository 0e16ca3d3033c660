#include "common/report/timeline.h"

#include <algorithm>

namespace mr::report {

std::vector<uint32_t> UpstreamOf(const StageSpec& stage) {
  std::vector<uint32_t> upstream;
  for (const InputSpec& input : stage.inputs) {
    if (input.is_edge) upstream.push_back(input.stage);
  }
  return upstream;
}

uint64_t MedianOf(const std::vector<uint64_t>& sorted) { return sorted.empty() ? 0 : sorted[sorted.size() / 2]; }

Timeline::Timeline(const JobRun& run) : run_(run), committed_(run.spec.stages.size()) {
  for (const WorkerStatus& worker : run.workers) {
    const std::string& state = worker.state;
    if (state == "live" || state == "stalled" || state == "unfit" || state == "full") slots_ += worker.slots;
  }
  const uint64_t now = run.job.elapsed_us;
  for (const AttemptStatus& status : run.attempts) {
    const auto id = ParseAttemptId(status.id);
    if (!id || id->task.job != run.job.id || id->task.stage >= run.spec.stages.size()) continue;
    Interval at;
    at.status = &status;
    at.id = *id;
    at.runs = status.ended_us == 0;
    at.launched = at.runs ? std::min(status.launched_us, now) : status.launched_us;
    at.ended = std::max(at.runs ? now : status.ended_us, at.launched);
    // Short attempts end before they are seen to start.
    const uint64_t unknown_start = status.won ? at.launched : at.ended;
    at.started = status.started_us == 0 ? unknown_start : std::clamp(status.started_us, at.launched, at.ended);
    const bool reads = !UpstreamOf(run.spec.stages[id->task.stage]).empty();
    const uint64_t unknown_inputs = status.won ? at.started : at.ended;
    at.inputs = !reads                  ? at.started
                : status.inputs_us == 0 ? unknown_inputs
                                        : std::clamp(status.inputs_us, at.started, at.ended);
    attempts_.push_back(at);
  }
  std::stable_sort(attempts_.begin(), attempts_.end(),
                   [](const Interval& a, const Interval& b) { return a.launched < b.launched; });
  for (size_t i = 0; i < attempts_.size(); ++i) {
    const Interval& at = attempts_[i];
    tasks_[{at.id.task.stage, at.id.task.task}].push_back(i);
    names_[at.status->id] = i;
    if (at.status->won) committed_[at.id.task.stage].push_back(i);
  }
  for (std::vector<size_t>& stage : committed_) {
    std::stable_sort(stage.begin(), stage.end(),
                     [this](size_t a, size_t b) { return attempts_[a].ended < attempts_[b].ended; });
  }
  Place();
  FindInputs();
}

// Returns the upstream tasks that a task reads (master/core/slices.cc divides them); nothing for all of them.
std::optional<std::pair<uint32_t, uint32_t>> Timeline::Range(const InputSpec& input, const TaskId& task) const {
  if (input.kind == EdgeKind::kOneToOne) return std::pair(task.task, task.task + 1);
  if (input.kind != EdgeKind::kManyToOne) return std::nullopt;
  const auto tasks = [this](uint32_t s) { return uint64_t{s < run_.job.stages.size() ? run_.job.stages[s].tasks : 0}; };
  const uint64_t from = tasks(input.stage), to = tasks(task.stage);
  if (to == 0 || task.task >= to) return std::nullopt;  // not known
  return std::pair(static_cast<uint32_t>(from * task.task / to), static_cast<uint32_t>(from * (task.task + 1) / to));
}

// Finds for each attempt the upstream output that it got last.
void Timeline::FindInputs() {
  for (Interval& at : attempts_) {
    const uint32_t stage = at.id.task.stage;
    const auto take = [this, &at](size_t i) {
      if (attempts_[i].ended > at.inputs || (at.input != SIZE_MAX && attempts_[i].ended <= at.ready)) return;
      at.ready = attempts_[i].ended;
      at.input = i;
    };
    for (const InputSpec& input : run_.spec.stages[stage].inputs) {
      if (!input.is_edge || input.stage >= stage) continue;
      if (const auto range = Range(input, at.id.task)) {
        for (uint32_t t = range->first; t < range->second; ++t) {
          for (const size_t i : Of(input.stage, t)) {
            if (attempts_[i].status->won) take(i);
          }
        }
        continue;
      }
      // The last output that was committed before the attempt had all its inputs.
      const std::vector<size_t>& made = committed_[input.stage];
      const auto after = std::upper_bound(made.begin(), made.end(), at.inputs,
                                          [this](uint64_t by, size_t i) { return by < attempts_[i].ended; });
      if (after != made.begin()) take(*(after - 1));
    }
  }
}

// An attempt takes the first slot that is free at its launch.
void Timeline::Place() {
  std::map<std::string, const WorkerStatus*> known;
  for (const WorkerStatus& worker : run_.workers) known[worker.id] = &worker;
  std::map<uint64_t, std::string> names;  // ordered by number: w2 before w10
  for (const Interval& at : attempts_) {
    const auto id = ParseWorkerId(at.status->worker);
    names[id ? id->value : 0] = at.status->worker;
  }
  std::map<std::string, size_t> index;
  for (const auto& [number, name] : names) {
    index[name] = workers_.size();
    const auto it = known.find(name);
    workers_.push_back({name, it == known.end() ? nullptr : it->second, 0});
  }
  std::vector<std::vector<uint64_t>> free(workers_.size());  // by worker and slot: when it is free again
  for (Interval& at : attempts_) {
    at.worker = index[at.status->worker];
    std::vector<uint64_t>& slots = free[at.worker];
    while (at.lane < slots.size() && slots[at.lane] > at.launched) ++at.lane;
    if (at.lane == slots.size()) slots.push_back(0);
    slots[at.lane] = at.ended;
  }
  for (size_t w = 0; w < workers_.size(); ++w) workers_[w].lanes = static_cast<uint32_t>(free[w].size());
}

const std::vector<size_t>& Timeline::Of(uint32_t stage, uint32_t task) const {
  static const std::vector<size_t> kNone;
  const auto it = tasks_.find({stage, task});
  return it == tasks_.end() ? kNone : it->second;
}

const std::vector<size_t>& Timeline::CommittedOf(uint32_t stage) const { return committed_[stage]; }

std::vector<uint64_t> Timeline::RunTimes(uint32_t stage) const {
  std::vector<uint64_t> times;
  for (const size_t i : committed_[stage]) times.push_back(attempts_[i].worked());
  std::sort(times.begin(), times.end());
  return times;
}

size_t Timeline::Find(const std::string& name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? SIZE_MAX : it->second;
}

}  // namespace mr::report
