// A small cluster in virtual time: workers with one slot each, on which a task of size 1 takes so many
// seconds; a report each second. One job of one stage.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {

class Nodes {
 public:
  // check: the whole state, after each event.
  Nodes(const std::string& policies, std::vector<double> seconds, bool check = true)
      : seconds_(std::move(seconds)), check_(check) {
    Send(ConfigChanged{policies, 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= seconds_.size(); ++w) Send(OneSlotWorker(w));
  }

  // Seconds until a job of one stage with so many tasks has ended.
  double Run(uint32_t tasks) { return Run(std::vector<double>(tasks, 1)); }
  // The same of tasks of these sizes: that many times the bytes and the time.
  double Run(std::vector<double> sizes) {
    sizes_ = std::move(sizes);
    Send(SmallMapJob());
    StagePlanned plan{{1, 1}, 0, 1, std::vector<TaskPlan>(sizes_.size()), ""};
    for (size_t t = 0; t < sizes_.size(); ++t) plan.tasks[t].input_bytes = Bytes(static_cast<uint32_t>(t));
    Send(plan);
    while (scheduler_.state().FindJob({1, 1})->running()) {
      now_ = now_ + Millis(100);
      Advance();
      if (now_ > Instant{Seconds(3600).ns}) return -1;
    }
    return (now_ - Instant{}).seconds();
  }
  int speculative() const { return speculative_; }
  int restarts() const { return restarts_; }
  int spared() const { return spared_; }
  // Launches of the task, with speculative ones and restarts.
  int launches(uint32_t task) const { return launches_.count(task) != 0 ? launches_.at(task) : 0; }
  double slot_seconds() const { return slot_seconds_; }

 private:
  uint64_t Bytes(uint32_t task) const { return static_cast<uint64_t>(std::llround(1e6 * sizes_[task])); }

  void Send(const Event& event) {
    for (const Decision& d : scheduler_.Step({now_, event})) {
      if (const auto* launch = std::get_if<Launch>(&d)) {
        began_[launch->attempt] = now_;
        speculative_ += launch->cause == Cause::kSpeculative;
        restarts_ += launch->cause == Cause::kRestart;
        ++launches_[launch->attempt.task.task];
      }
      spared_ += std::holds_alternative<Spare>(d);
      if (const auto* wake = std::get_if<WakeAt>(&d)) timers_[{wake->policy, wake->id}] = wake->at;
      if (const auto* kill = std::get_if<Kill>(&d)) killed_.push_back(*kill);
    }
    if (!check_) return;
    EXPECT_EQ(CheckState(scheduler_.state()), "");
  }

  void Advance() {
    const std::map<AttemptId, Instant> began = began_;
    for (const auto& [id, at] : began) {
      const Attempt* a = scheduler_.state().FindAttempt(id);
      if (!a->holds_slot()) {
        slot_seconds_ += (a->ended_at - at).seconds();
        began_.erase(id);
        continue;
      }
      if (!a->live()) continue;
      const double share = (now_ - at).seconds() / (seconds_[a->worker.value - 1] * sizes_[id.task.task]);
      if (share >= 1 - 1e-9) {
        Send(AttemptFinished{id, a->worker, a->incarnation, {1, 1, {id.task.task, 1}}, {}, {}, {}});
      } else if ((now_ - at).ns % Seconds(1).ns == 0) {
        const uint64_t total = Bytes(id.task.task);
        const auto taken = static_cast<uint64_t>(std::floor(share * static_cast<double>(total)));
        Send(AttemptProgress{a->worker, a->incarnation, {{id, 0, taken, total, 0, true}}});
      } else if (a->state == AttemptState::kLaunched) {
        Send(AttemptStarted{id, a->worker, a->incarnation});
      }
    }
    while (!killed_.empty()) {
      const Kill kill = killed_.back();
      killed_.pop_back();
      Send(AttemptKilled{kill.attempt, kill.worker, kill.incarnation});
    }
    const auto timers = timers_;
    for (const auto& [timer, at] : timers) {
      if (at > now_ || timers_.at(timer) != at) continue;
      timers_.erase(timer);
      Send(TimerDue{timer.first, timer.second});
    }
  }

  std::vector<double> seconds_, sizes_;
  bool check_;
  Scheduler scheduler_;
  Instant now_;
  std::map<std::pair<std::string, uint64_t>, Instant> timers_;
  std::map<AttemptId, Instant> began_;
  std::vector<Kill> killed_;
  std::map<uint32_t, int> launches_;
  int speculative_ = 0, restarts_ = 0, spared_ = 0;
  double slot_seconds_ = 0;
};

}  // namespace mr::sched
