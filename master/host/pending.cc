#include "master/host/pending.h"

#include <algorithm>
#include <map>

#include "common/base/count.h"
#include "common/base/text.h"
#include "master/host/disk_room.h"
#include "master/host/standing_still.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

constexpr size_t kMostLines = 20;  // as many as people read

// Returns whether no job of the queue gets another slot until one of them gives one back.
bool AtMaxShare(const sched::State& state, const sched::Queue& queue) {
  return state.sharing().max_shares && queue.max_share != 0 && queue.held_total() >= queue.max_share;
}

// Returns why none of the workers takes attempts, and what to do. Requires: there is one.
std::string WhyNoWorker(const MasterCore& core) {
  constexpr size_t kNamed = 5;
  struct Group {
    size_t count = 0;
    std::string names;
    WorkerId first;
  };
  std::map<std::string, Group> groups;  // by state
  for (const auto& [id, worker] : core.workers().all()) {
    Group& group = groups[worker.Word()];
    if (group.count == 0) group.first = id;
    if (group.count++ < kNamed) group.names += (group.names.empty() ? "" : ", ") + Name(id);
  }
  std::string text;
  for (auto& [word, group] : groups) {
    if (group.count > kNamed) group.names += " and " + std::to_string(group.count - kNamed) + " more";
    const std::string state = word == "live" ? "without slots" : word;
    if (groups.size() == 1 && group.count == 1)
      text = group.names + ", the only worker, is " + state;
    else if (groups.size() == 1)
      text = "all " + std::to_string(group.count) + " workers are " + state + ": " + group.names;
    else
      text += (text.empty() ? "no worker takes attempts: " : "; ") + state + ": " + group.names;
  }
  if (const auto it = groups.find("draining"); it != groups.end()) {
    text += "; next: mrctl worker undrain " + Name(it->second.first);
  } else if (const auto unfit = groups.find("unfit"); unfit != groups.end()) {
    text += "; next: mrctl why " + Name(unfit->second.first);
  }
  return text;
}

std::string WhyNoSlot(const MasterCore& core, const HostClock& clock, const sched::Job& job,
                      const sched::StageSpec& stage, bool* by_queue) {
  const sched::State& state = core.scheduler().state();
  const sched::Queue& queue = *job.in_queue;
  const sched::SlotKind kind = stage.slot_kind;
  if (state.slots().total == 0) {
    const std::string no_room = WhyNoRoom(core, clock.LivedBy());
    return core.workers().NoneToCome() ? "no worker is registered" : no_room.empty() ? WhyNoWorker(core) : no_room;
  }
  // Before the slots of the cluster: with more of them the queue would get none.
  if (AtMaxShare(state, queue)) {
    *by_queue = true;
    return "queue '" + queue.name + "' holds " + CountOf(queue.held_total(), "slot") + ", its max share is " +
           std::to_string(queue.max_share);
  }
  if (state.free(kind).empty()) {
    const uint32_t slots = state.slots().by_kind[sched::KindIndex(kind)];
    return slots == 1 ? "the only slot for them is taken" : "all " + CountOf(slots, "slot") + " for them are taken";
  }
  const auto fits = [&](WorkerId w) {
    const sched::Worker& worker = *state.FindWorker(w);
    return state.Room(worker, worker.used, kind, stage.memory_bytes);
  };
  if (std::none_of(state.free(kind).begin(), state.free(kind).end(), fits)) {
    return "no worker with a free slot has " + HumanBytes(stage.memory_bytes) + " of memory left";
  }
  return "slots are free, and a policy holds them back (it waits for a place near their input, or for a better "
         "worker)";
}

}  // namespace

std::vector<Pending> WhyPending(const MasterCore& core, const HostClock& clock, const JobView& job) {
  std::vector<Pending> pending;
  const sched::Job* known = core.scheduler().state().FindJob(job.id);
  if (known == nullptr || !known->running()) return pending;
  for (uint32_t s = 0; s < known->stages.size(); ++s) {
    if (!known->stages[s].in_ready) continue;
    Pending& entry = pending.emplace_back(Pending{s, "", false});
    entry.why = WhyNoSlot(core, clock, *known, known->graph.stages[s], &entry.by_queue);
    if (pending.size() == kMostLines) break;
  }
  return pending;
}

std::vector<std::string> WhyWaits(const MasterCore& core, const HostClock& clock, const JobView& job) {
  std::vector<std::string> lines;
  const sched::State& state = core.scheduler().state();
  const sched::Job* known = state.FindJob(job.id);
  if (known == nullptr || !known->running()) return lines;
  const bool runs = known->holding > 0;
  if (runs && !AtMaxShare(state, *known->in_queue)) return lines;
  for (const TaskId& task : state.unended()) {
    if (task.job != job.id || runs) continue;
    for (std::string& line : WhyUnended(core, job, task, clock.Present())) lines.push_back(std::move(line));
  }
  for (const Pending& p : WhyPending(core, clock, job)) {
    if (runs && !p.by_queue) continue;
    const std::string stage = "stage '" + job.spec.stages[p.stage].name + "' ";
    lines.push_back(stage + (runs ? "has more tasks that are pending: " : "is pending: ") + p.why);
  }
  if (lines.size() > kMostLines) lines.resize(kMostLines);
  return lines;
}

}  // namespace mr::master
