// A scheduler with jockey, ten workers of one slot, and jobs of one stage with a made-up prediction.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "master/sched/policies/jockey/jockey.h"
#include "tests/master/sched/small_job.h"

namespace mr::sched {

// The prediction work / slots, without spread, for a job of one stage. work: slot-seconds of all tasks; longest:
// seconds of the longest task.
inline Prediction Even(double work, double longest, uint32_t most) {
  Prediction p;
  p.buckets = 10;
  p.quantiles = 2;
  p.stages = {{}};
  p.stages[0].tasks = 10;
  p.stages[0].run = p.stages[0].ran = work;
  p.stages[0].longest = longest;
  p.runs = 1;
  for (uint32_t a = 1; a <= most; ++a) {
    p.slots.push_back(a);
    for (uint32_t b = 0; b <= p.buckets; ++b) {
      for (uint32_t q = 0; q < p.quantiles; ++q) p.left.push_back(static_cast<float>(work * (10 - b) / 10 / a));
    }
  }
  return p;
}

// Ten workers of one slot.
class JockeyTest : public testing::Test {
 protected:
  explicit JockeyTest(const std::string& list = "fair(spare=last,guarantee_timeout=1),jockey") {
    Send(ConfigChanged{list, 1, kSchedulerVersion, Millis(100)});
    for (uint32_t w = 1; w <= 10; ++w) Send(OneSlotWorker(w));
  }
  const State& state() const { return scheduler_.state(); }
  const Job& J(uint32_t seq) const { return *state().FindJob({1, seq}); }
  void Send(const Event& event) {
    for (Decision& d : scheduler_.Step({now_, event})) out_.push_back(std::move(d));
    ASSERT_EQ(CheckState(state()), "");
  }
  void Submit(uint32_t seq, uint32_t tasks, Duration deadline = {}, const std::string& queue = "q") {
    JobSubmitted job = SmallMapJob();
    job.job = {1, seq};
    job.queue = queue;
    job.deadline = deadline;
    Send(job);
    Send(StagePlanned{job.job, 0, 1, std::vector<TaskPlan>(tasks), ""});
  }
  void Foretell(uint32_t seq, double work, double longest = 1) {
    Send(ProfileLoaded{{1, seq}, Even(work, longest, 10), {}});
  }
  // Timers that are due by then.
  void Pass(Duration time) {
    const Instant until = now_ + time;
    while (true) {
      const auto& timers = state().timers();
      auto next = timers.end();
      for (auto it = timers.begin(); it != timers.end(); ++it) {
        if (it->second <= until && (next == timers.end() || it->second < next->second)) next = it;
      }
      if (next == timers.end()) break;
      now_ = std::max(now_, next->second);
      Send(TimerDue{next->first.first, next->first.second});
    }
    now_ = until;
  }
  // The first live attempt of the job ends, after it computed so long.
  void Finish(uint32_t seq, Duration ran = Seconds(10)) {
    for (uint32_t t = 0; t < J(seq).stages[0].tasks.size(); ++t) {
      const Task& task = J(seq).stages[0].tasks[t];
      for (const Attempt& a : task.attempts) {
        if (!a.live()) continue;
        const AttemptId id{{{1, seq}, 0, t}, a.number};
        return Send(AttemptFinished{id, a.worker, a.incarnation, Manifest{1, 1, {t + 1, 1}}, {}, ran, {}});
      }
    }
    FAIL() << "no attempt of job " << seq;
  }
  void ConfirmKills() {
    const auto out = std::move(out_);
    out_.clear();
    for (const Decision& d : out) {
      if (const auto* kill = std::get_if<Kill>(&d)) Send(AttemptKilled{kill->attempt, kill->worker, kill->incarnation});
    }
  }
  uint32_t Kills() const {
    return static_cast<uint32_t>(
        std::count_if(out_.begin(), out_.end(), [](const Decision& d) { return std::holds_alternative<Kill>(d); }));
  }

  size_t Allotted() const {
    return static_cast<size_t>(
        std::count_if(out_.begin(), out_.end(), [](const Decision& d) { return std::holds_alternative<SetShare>(d); }));
  }

  Scheduler scheduler_;
  Instant now_{Seconds(100).ns};
  std::vector<Decision> out_;
};

}  // namespace mr::sched
