// Writes pages of reports for the browser test: `page_samples DIRECTORY`. Their jobs are drawn with a fixed seed.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/rng.h"
#include "common/io/files.h"
#include "common/report/page.h"
#include "common/report/report.h"
#include "tests/common/report/run_builder.h"

namespace mr::report {
namespace {

constexpr uint32_t kSlots = 4;  // per worker

// The slots of the workers, each with the time until which it is taken.
class Slots {
 public:
  Slots(uint32_t workers, Rng* rng) : until_(workers * kSlots, 0), rng_(rng) {}
  // Returns a slot that is free at this time, or the one that is free first, and when it is.
  std::pair<size_t, uint64_t> FreeAt(uint64_t ms) {
    const size_t first = rng_->Below(until_.size());
    size_t best = first;
    for (size_t i = 0; i < until_.size() && until_[best] > ms; ++i) {
      const size_t slot = (first + i) % until_.size();
      if (until_[slot] <= ms || until_[slot] < until_[best]) best = slot;
    }
    return {best, std::max(ms, until_[best])};
  }
  void Take(size_t slot, uint64_t until) { until_[slot] = until; }
  static std::string WorkerOf(size_t slot) { return "w" + std::to_string(slot / kSlots + 1); }

 private:
  std::vector<uint64_t> until_;
  Rng* rng_;
};

// Counts what the attempts say: the state of each stage, causes, and the decisions that launched and stopped them.
void Count(RunBuilder* b) {
  JobRun& run = b->run();
  std::map<std::string, CauseStatus> causes;
  for (StageStatus& stage : run.job.stages) stage.done = stage.running = stage.failed = 0;
  run.decisions.clear();
  for (AttemptStatus& a : run.attempts) {
    StageStatus& stage = run.job.stages[ParseAttemptId(a.id)->task.stage];
    const uint64_t end = a.ended_us == 0 ? run.job.elapsed_us : a.ended_us;
    a.ran_us = end - a.launched_us;
    stage.done += a.won;
    stage.running += a.state == "running";
    stage.failed += a.state == "failed";
    stage.elapsed_us = std::max(stage.elapsed_us, end);
    CauseStatus& cause = causes[a.cause];
    cause.cause = a.cause;
    ++cause.launched;
    cause.won += a.won;
    if (!a.won && a.state != "running") cause.wasted_us += a.ran_us;
    a.reason = a.cause == "first" ? "a slot was free, and it was first" : "the task is slow against the others";
    run.decisions.push_back({a.launched_us, "launched", a.id, a.worker, a.reason});
    if (a.failure == "killed") {
      run.decisions.push_back({a.ended_us, "asked to stop", a.id, a.worker, "another attempt of its task won"});
    }
  }
  run.job.causes.clear();
  for (const auto& [name, cause] : causes) run.job.causes.push_back(cause);
  std::stable_sort(run.decisions.begin(), run.decisions.end(),
                   [](const DecisionStatus& x, const DecisionStatus& y) { return x.at_us < y.at_us; });
}

// A job of maps and reduces: some are cloned, some are slow and overtaken, and one in a hundred fails.
RunBuilder Drawn(uint32_t workers, uint32_t maps, uint32_t reduces) {
  Rng rng(7);  // any seed
  RunBuilder b;
  b.Workers(workers, kSlots).Stage("extract", {}, 800 << 20).Stage("count", {0}, 40 << 20).Stage("top", {1}, 1 << 20);
  for (StageSpec& stage : b.run().spec.stages) stage.ports.emplace_back();
  b.run().spec.stages[0].inputs[0].files = {{"dfs:///logs/may"}, "text"};
  b.run().spec.stages[1].inputs[0].grouped = b.run().spec.stages[0].ports[0].sorted = true;
  b.run().spec.stages[2].ports[0].files = true;
  b.run().spec.stages[2].ports[0].format = "text";
  Slots slots(workers, &rng);
  uint64_t stage_begin = 5;
  const uint32_t tasks[] = {maps, reduces, 1};
  for (uint32_t s = 0; s < 3; ++s) {
    uint64_t end = stage_begin;
    for (uint32_t t = 0; t < tasks[s]; ++t) {
      auto [slot, launched] = slots.FreeAt(stage_begin + rng.Below(300));
      const uint64_t ran = 2000 + rng.Below(2000), chance = rng.Below(100);
      Made made{.stage = s, .task = t, .worker = Slots::WorkerOf(slot), .launched = launched, .started = launched + 20};
      made.inputs = s == 0 ? 0 : launched + ran / 3;
      made.ended = launched + ran;
      if (chance < 10) {               // overtaken
        slots.Take(slot, UINT64_MAX);  // until the other attempt ends
        const auto [other, second] = slots.FreeAt(launched + 1000);
        Made slow = made;
        slow.state = slow.failure = "killed";
        slow.progress = .4;
        made.cause = chance < 5 ? "speculative" : "clone";
        made.worker = Slots::WorkerOf(other);
        made.number = 2;
        made.launched = second;
        made.started = second + 20;
        made.inputs = s == 0 ? 0 : made.started + 300;
        made.ended = second + ran;
        slow.ended = made.ended + 10;
        b.Add(slow, 64 << 20);
        slots.Take(slot, slow.ended);
        slot = other;
      } else if (chance == 10) {
        Made failed = made;
        failed.state = "failed";
        failed.failure = "user";
        failed.inputs = 0;
        failed.progress = .1;
        failed.ended = launched + 400;
        b.Add(failed, 64 << 20);
        b.run().attempts.back().message = "the operator threw: no such column 'price'\nat line 7";
        made.cause = "retry";
        made.number = 2;
        made.launched = launched + 450;
        made.started = launched + 470;
        made.inputs = s == 0 ? 0 : made.started + 300;
      }
      b.Add(made, (48 << 20) + rng.Below(32 << 20));
      slots.Take(slot, made.ended);
      end = std::max(end, made.ended);
    }
    stage_begin = end + 20;
  }
  b.Elapsed(stage_begin + 40);
  for (TaskStatus& task : b.run().tasks) {
    const StageStatus& stage = b.run().job.stages[task.stage];
    task.output_bytes = stage.output_bytes / stage.tasks;
    task.output_records = task.output_bytes / 64;
  }
  for (StageStatus& stage : b.run().job.stages) stage.output_records = stage.output_bytes / 64;
  b.run().job.output_bytes = b.run().job.stages.back().output_bytes;
  b.run().job.output_records = b.run().job.stages.back().output_records;
  b.run().job.output_parts = 1;
  b.run().job.counters = {{"mr", "input_records", 12'000'000}, {"words", "long", -3}};
  b.run().job.submitted_unix_ms = 1'790'000'000'000 - b.run().job.elapsed_us / 1000;
  b.run().taken_unix_ms = 1'790'000'000'000;
  b.run().release = "sample";
  b.run().policies = "fair,dolly,late";
  Count(&b);
  return b;
}

// A task of the second stage failed four times; the third stage never ran.
RunBuilder Failed() {
  RunBuilder b = Drawn(3, 12, 3);
  JobRun& run = b.run();
  std::erase_if(run.attempts, [](const AttemptStatus& a) {
    const TaskId task = ParseAttemptId(a.id)->task;
    return task.stage == 2 || (task.stage == 1 && task.task == 1);
  });
  uint64_t at = 0;
  for (const AttemptStatus& a : run.attempts) at = std::max(at, a.ended_us / 1000);
  for (uint32_t number = 1; number <= 4; ++number) {
    b.Add({.stage = 1,
           .task = 1,
           .worker = "w2",
           .launched = at + 10,
           .started = at + 30,
           .ended = at + 400,
           .cause = number == 1 ? "first" : "retry",
           .state = "failed",
           .failure = "user",
           .progress = .1,
           .number = number});
    run.attempts.back().message = "the operator threw: no such column 'price'\nat line 7";
    at += 400;
  }
  b.Elapsed(at + 20);
  run.job.state = JobState::kFailed;
  run.job.output_bytes = run.job.output_records = run.job.output_parts = 0;
  run.job.stages[2].output_bytes = run.job.stages[2].output_records = 0;
  run.job.error = "stage 'count': attempt_1_0001_1_r_000001_4 failed on w2: no such column 'price'\n  at line 7";
  run.job.warnings = {"a local input grew while the job ran"};
  run.job.counters.reset();
  Count(&b);
  return b;
}

// The same job after three seconds.
RunBuilder Running() {
  RunBuilder b = Drawn(5, 40, 8);
  constexpr uint64_t kNow = 3'000'000;
  JobRun& run = b.run();
  b.Elapsed(kNow / 1000);
  run.job.state = JobState::kRunning;
  std::erase_if(run.attempts, [](const AttemptStatus& a) { return a.launched_us > kNow; });
  for (AttemptStatus& a : run.attempts) {
    if (a.ended_us <= kNow) continue;
    a.progress = static_cast<double>(kNow - a.launched_us) / static_cast<double>(a.ended_us - a.launched_us);
    for (uint64_t* time : {&a.started_us, &a.inputs_us, &a.ended_us}) *time = *time > kNow ? 0 : *time;
    a.state = "running";
    a.won = false;
    a.failure = "";
  }
  run.job.output_bytes = run.job.output_records = run.job.output_parts = 0;
  for (StageStatus& stage : run.job.stages) stage.output_bytes = stage.output_records = stage.elapsed_us = 0;
  run.job.counters.reset();
  run.job.waits = {"stage extract waits: all 20 slots for it are taken"};
  run.taken_unix_ms = run.job.submitted_unix_ms + kNow / 1000;
  Count(&b);
  return b;
}

RunBuilder Hostile() {
  RunBuilder b = Drawn(3, 12, 3);
  const std::string text = "</script><img src=x onerror=alert(1)>{{script}}\u202e\x01\x1b[31m\xff & \"quotes\" <!--";
  b.run().job.name = b.run().job.queue = b.run().job.output_uri = text;
  for (StageSpec& stage : b.run().spec.stages) stage.name += text;
  for (StageStatus& stage : b.run().job.stages) stage.name += text;
  for (WorkerStatus& worker : b.run().workers) worker.name = worker.rack = text;
  for (DecisionStatus& decision : b.run().decisions) decision.reason = text;
  for (AttemptStatus& attempt : b.run().attempts) attempt.message = attempt.reason = text;
  b.run().job.counters = {{text, text, 1}};
  SkewStatus skew;
  skew.key = skew.text = text;
  b.run().job.skew = {skew};
  return b;
}

RunBuilder Empty() {
  RunBuilder b;
  b.Workers(0, 0).Stage("map", {}).Elapsed(1500);
  b.run().job.state = JobState::kPending;
  b.run().job.waits = {"stage map waits: no worker is registered"};
  return b;
}

int Main(const std::string& directory) {
  const std::pair<const char*, RunBuilder> kSamples[] = {
      {"small", Drawn(3, 12, 3)}, {"medium", Drawn(40, 1500, 300)}, {"large", Drawn(1000, 8500, 1000)},
      {"failed", Failed()},       {"running", Running()},           {"hostile", Hostile()},
      {"empty", Empty()}};
  for (const auto& [name, sample] : kSamples) {
    RunBuilder b = sample;
    const std::string page = ReportPage(b.run().job.name, ReportJson(Report(b.run())));
    const Status written = WriteFileDurably(directory + "/" + name + ".html", page);
    if (!written.ok()) {
      std::fprintf(stderr, "%s\n", written.ToString().c_str());
      return 1;
    }
    std::printf("%s %zu\n", name, page.size());
  }
  return 0;
}

}  // namespace
}  // namespace mr::report

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: page_samples DIRECTORY\n");
    return 2;
  }
  return mr::report::Main(argv[1]);
}
