// The job {1, 1} on workers of one slot, as many tests of this folder want it; and a core that they drive with
// events and drafts of their own.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "master/sched/fold/core.h"
#include "master/sched/scheduler.h"
#include "master/sched/state/state.h"

namespace mr::sched {

// Worker w<n> in its life n.
inline WorkerRegistered OneSlotWorker(uint32_t n, Incarnation incarnation = 0) {
  WorkerRegistered e;
  e.worker = {n};
  e.incarnation = incarnation == 0 ? n : incarnation;
  e.slots.total = 1;
  return e;
}

// One stage, which reads splits.
inline JobSubmitted SmallMapJob() {
  JobSubmitted job;
  job.job = {1, 1};
  StageSpec map;
  map.inputs = {StageInput{}};
  map.is_final = true;
  job.graph.stages = {map};
  return job;
}

// And one behind it, which reads all of it.
inline JobSubmitted SmallMapReduceJob() {
  JobSubmitted job = SmallMapJob();
  StageSpec reduce;
  reduce.inputs = {StageInput{true, EdgeKind::kAllToAll, 0}};
  reduce.is_final = true;
  job.graph.stages[0].is_final = false;
  job.graph.stages.push_back(reduce);
  return job;
}

// The whole scheduler, event by event; the state is checked after each.
struct SteppedScheduler {
  Scheduler scheduler;
  std::vector<Decision> out;  // of the last event
  void Send(double seconds, const Event& event) {
    out = scheduler.Step({{std::llround(seconds * 1e9)}, event});
    EXPECT_EQ(CheckState(scheduler.state()), "");
  }
  // Reports the progress of attempt 1 of a task of the first stage.
  void Report(double seconds, uint32_t task, uint32_t worker, uint8_t phase, uint64_t percent) {
    Send(seconds, AttemptProgress{{worker}, worker, {{{{{1, 1}, 0, task}, 1}, phase, percent, 100, 0, true}}});
  }
  void Finish(double seconds, uint32_t task, uint32_t worker) {
    Send(seconds, AttemptFinished{{{{1, 1}, 0, task}, 1}, {worker}, worker, {1, 1, {task, 1}}, {}, {}, {}});
  }
};

// Rules that hold whatever policies say: drafts are the test's own.
class CoreTest : public testing::Test {
 protected:
  // fifo, so many workers, and the job with one map.
  explicit CoreTest(uint32_t workers) {
    Send(ConfigChanged{"fifo", 1, 1});
    for (uint32_t w = 1; w <= workers; ++w) Send(OneSlotWorker(w));
    Send(SmallMapReduceJob());
    Send(StagePlanned{{1, 1}, 0, 1, {TaskPlan{}}, ""});
  }

  void Send(const Event& event) {
    out_.clear();
    core_.Begin({}, &out_);
    core_.Fold(event);
    EXPECT_EQ(CheckState(state_), "");
  }
  template <class F>
  void Ask(F&& write) {
    const View view(state_, {});
    Plan plan(view);
    write(plan);
    core_.Fold(plan);
    EXPECT_EQ(CheckState(state_), "");
  }
  // Ends an attempt of the only map. Each of its attempts runs on the worker of its own number.
  void Finish(uint32_t number, uint64_t content) {
    Send(AttemptFinished{{kMap, number}, {number}, number, {1, 1, {content, content}}, {}, {}, {}});
  }
  // The first decision of this kind after the last event; null: none.
  template <class D>
  const D* Find() const {
    for (const Decision& d : out_) {
      if (const auto* found = std::get_if<D>(&d)) return found;
    }
    return nullptr;
  }

  static constexpr TaskId kMap{{1, 1}, 0, 0};
  State state_;
  Core core_{&state_};
  std::vector<Decision> out_;
};

}  // namespace mr::sched
