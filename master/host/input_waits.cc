#include "master/host/input_waits.h"

#include <glog/logging.h>

#include <algorithm>
#include <utility>

#include "common/base/count.h"
#include "common/base/text.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

// How long tasks are held back before their blocks are looked for again: as long as the first of them has waited,
// within these bounds (guesses). A registration looks at once.
constexpr Duration kShortestHold = Seconds(2), kLongestHold = Seconds(30);
// Tasks in one event: its record stays far below the journal's limit.
constexpr size_t kTasksPerEvent = 10'000;

bool IsPending(const sched::Task& task) { return task.state != sched::TaskState::kCommitted && task.live == 0; }

}  // namespace

InputWaits::InputWaits(const HostOptions& options, Driver& driver, HostClock& clock)
    : options_(options), driver_(driver), clock_(clock) {}

bool InputWaits::Blocks(const sched::Launch& launch) {
  const TaskId& task = launch.attempt.task;
  const JobView* job = driver_.core().jobs().Find(task.job);
  if (job == nullptr || task.stage >= job->plan.stages.size()) return false;
  if (!MissingInputs(driver_.core().files(), job->plan).Of(task.stage, task.task)) return false;
  unsent_.push_back(launch);
  return true;
}

void InputWaits::Settle(const std::function<void(const sched::Launch&)>& send) {
  // The slots of these launches become free again, so that others follow.
  while (!unsent_.empty()) {
    std::map<StageId, std::vector<AttemptId>> by_stage;
    for (const sched::Launch& launch : std::exchange(unsent_, {})) {
      const TaskId& task = launch.attempt.task;
      const sched::Attempt* attempt = driver_.core().scheduler().state().FindAttempt(launch.attempt);
      if (attempt == nullptr || !attempt->live()) continue;  // its worker has answered the request to end it
      const JobView* job = driver_.core().jobs().Find(task.job);
      if (MissingInputs(driver_.core().files(), job->plan).Of(task.stage, task.task))
        by_stage[task.stage_id()].push_back(launch.attempt);
      else
        send(launch);
    }
    for (const auto& [stage, attempts] : by_stage) Hold(stage, attempts);
  }
}

void InputWaits::HoldAll() {
  std::vector<StageId> stages;
  for (const auto& [id, job] : driver_.core().scheduler().state().jobs()) {
    if (!job.running()) continue;
    for (uint32_t s = 0; s < job.stages.size(); ++s) stages.push_back({id, s});
  }
  for (const StageId& stage : stages) Hold(stage, {});
}

void InputWaits::Hold(const StageId& id, const std::vector<AttemptId>& unsent) {
  const JobView* job = driver_.core().jobs().Find(id.job);
  const sched::Stage* known = driver_.core().scheduler().state().FindStage(id);
  if (job == nullptr || known == nullptr || id.stage >= job->plan.stages.size()) return;
  MissingInputs missing(driver_.core().files(), job->plan);
  const Instant now = clock_.Lived();
  std::vector<uint32_t> tasks;
  std::map<uint32_t, Wait> found;
  const auto look = [&](uint32_t task) {
    auto input = missing.Of(id.stage, task);
    if (input) found.try_emplace(task, Wait{now, *std::move(input)});
  };
  for (uint32_t task = 0; task < known->tasks.size(); ++task) {
    if (IsPending(known->tasks[task])) look(task);
  }
  for (const AttemptId& attempt : unsent) look(attempt.task.task);
  if (found.empty() && unsent.empty()) return;
  tasks.reserve(found.size());
  for (const auto& [task, wait] : found) tasks.push_back(task);
  Stage& stage = stages_[id];
  if (stage.tasks.empty()) {
    stage.since = clock_.Stamp();
    LOG(WARNING) << Name(id.job) << ": no registered worker has some input of " << CountOf(tasks.size(), "task")
                 << " of stage " << id.stage << "; waiting for it";
  }
  stage.tasks.merge(found);
  stage.until = clock_.Stamp() + kShortestHold;
  Feed(id, tasks, unsent, kShortestHold);
}

void InputWaits::Feed(const StageId& id, const std::vector<uint32_t>& tasks, const std::vector<AttemptId>& unsent,
                      Duration hold) {
  const std::string why = hold.ns == 0 ? "" : "a block of its input has no replica on a live worker";
  size_t from = 0;
  do {
    const size_t to = std::min(from + kTasksPerEvent, tasks.size());
    std::vector<uint32_t> part(tasks.begin() + static_cast<long>(from), tasks.begin() + static_cast<long>(to));
    driver_.Feed(sched::InputsMissing{id.job, id.stage, std::move(part), from == 0 ? unsent : std::vector<AttemptId>{},
                                      hold, why});
    from = to;
  } while (from < tasks.size());
}

void InputWaits::Look() {
  const bool registered = std::exchange(registered_, false);
  const Instant soon = clock_.Present() + kTick * 2;
  std::vector<StageId> due;
  for (const auto& [id, stage] : stages_) {
    if (registered || stage.until <= soon) due.push_back(id);
  }
  for (const StageId& id : due) {
    const auto it = stages_.find(id);
    if (!LookAt(id, &it->second)) stages_.erase(it);
  }
}

bool InputWaits::LookAt(const StageId& id, Stage* stage) {
  const JobView* job = driver_.core().jobs().Find(id.job);
  const sched::Job* known = driver_.core().scheduler().state().FindJob(id.job);
  if (job == nullptr || known == nullptr || !known->running()) return false;
  MissingInputs missing(driver_.core().files(), job->plan);
  const Instant now = clock_.Lived();
  std::vector<uint32_t> back, left;
  for (auto it = stage->tasks.begin(); it != stage->tasks.end();) {
    const sched::Task* task = driver_.core().scheduler().state().FindTask({id.job, id.stage, it->first});
    auto input = task != nullptr && IsPending(*task) ? missing.Of(id.stage, it->first) : std::nullopt;
    if (input) {
      if (now - it->second.since >= options_.input_wait) {
        GiveUp({id.job, id.stage, it->first}, it->second);
        return false;
      }
      it->second.input = *std::move(input);
      left.push_back((it++)->first);
    } else {
      back.push_back(it->first);
      it = stage->tasks.erase(it);
    }
  }
  if (!back.empty()) {
    LOG(INFO) << Name(id.job) << ": the input of " << CountOf(back.size(), "task") << " of stage " << id.stage
              << " is there again";
    Feed(id, back, {}, {});
  }
  if (left.empty()) return false;
  const Instant stamp = clock_.Stamp();
  if (stage->until <= stamp + kTick * 2) {
    const Duration hold = std::clamp(stamp - stage->since, kShortestHold, kLongestHold);
    stage->until = stamp + hold;
    Feed(id, left, {}, hold);
  }
  return true;
}

std::string InputWaits::Text(const TaskId& task, const Wait& wait) const {
  std::string holders;
  const sched::Task* known = driver_.core().scheduler().state().FindTask(task);
  if (known != nullptr && wait.input.first) {
    for (const WorkerId holder : known->plan.preferred) {
      const auto worker = driver_.core().workers().all().find(holder);
      const std::string word = worker == driver_.core().workers().all().end() ? "unknown" : worker->second.Word();
      holders += (holders.empty() ? "" : ", ") + Name(holder) + " (" + word + ")";
    }
  }
  return "block " + std::to_string(wait.input.block.value) + " of " + wait.input.uri +
         " has no replica on a live worker" + (holders.empty() ? "" : "; holders when the job was planned: " + holders);
}

void InputWaits::GiveUp(const TaskId& task, const Wait& wait) {
  const JobView& job = *driver_.core().jobs().Find(task.job);
  const std::string why = "task " + std::to_string(task.task) + " of stage '" + job.spec.stages[task.stage].name +
                          "' has waited " + HumanDuration(options_.input_wait) +
                          " for its input (mrmaster --input_wait): " + Text(task, wait) +
                          ". Restart the worker that has the block, or write the file again; then submit the job again";
  LOG(WARNING) << Name(task.job) << " fails: " << why;
  driver_.Feed(sched::JobGivenUp{task.job, why});
}

std::vector<std::string> InputWaits::Why(JobId id) const {
  std::vector<std::string> lines;
  const JobView* job = driver_.core().jobs().Find(id);
  for (auto it = stages_.lower_bound({id, 0}); it != stages_.end() && it->first.job == id; ++it) {
    if (job == nullptr || it->second.tasks.empty()) continue;
    const auto& [task, wait] = *it->second.tasks.begin();
    const size_t n = it->second.tasks.size();
    const Duration left = options_.input_wait - (clock_.LivedBy() - wait.since);
    lines.push_back("stage '" + job->spec.stages[it->first.stage].name + "' has " + std::to_string(n) +
                    (n == 1 ? " task that waits for its input: " : " tasks that wait for their input: ") +
                    Text({id, it->first.stage, task}, wait) + ". Restart the worker that has it; the job fails in " +
                    HumanDuration(std::max(Duration{}, left)) + " otherwise");
  }
  return lines;
}

std::string InputWaits::Why(const TaskId& task) const {
  const auto stage = stages_.find(task.stage_id());
  if (stage == stages_.end()) return "";
  const auto wait = stage->second.tasks.find(task.task);
  if (wait == stage->second.tasks.end()) return "";
  return "it waits for its input: " + Text(task, wait->second);
}

}  // namespace mr::master
