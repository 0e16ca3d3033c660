// Writes pages of reports for the browser test: `page_samples DIRECTORY`. Their jobs are drawn with a fixed seed.
#include <algorithm>
#include <cstdio>
#include <string>

#include "common/base/rng.h"
#include "common/io/files.h"
#include "common/report/page.h"
#include "common/report/report.h"
#include "tests/common/report/run_builder.h"

namespace mr::report {
namespace {

// A job of maps and reduces: some are cloned, some are slow and overtaken, and one in a hundred fails.
RunBuilder Drawn(uint32_t workers, uint32_t maps, uint32_t reduces) {
  Rng rng(7);  // any seed
  RunBuilder b;
  b.Workers(workers, 4).Stage("extract", {}, 800 << 20).Stage("count", {0}, 40 << 20).Stage("top", {1}, 1 << 20);
  const auto worker = [&] { return "w" + std::to_string(rng.Below(workers) + 1); };
  uint64_t stage_begin = 5;
  const uint32_t tasks[] = {maps, reduces, 1};
  for (uint32_t s = 0; s < 3; ++s) {
    uint64_t end = stage_begin;
    for (uint32_t t = 0; t < tasks[s]; ++t) {
      const uint64_t launched = stage_begin + t / (workers * 4) * 4000 + rng.Below(300);
      const uint64_t ran = 2000 + rng.Below(2000), chance = rng.Below(100);
      Made made{.stage = s, .task = t, .worker = worker(), .launched = launched, .started = launched + 20};
      made.inputs = s == 0 ? 0 : launched + ran / 3;
      made.ended = launched + ran;
      if (chance < 10) {  // overtaken
        Made slow = made;
        slow.state = slow.failure = "killed";
        slow.progress = .4;
        slow.ended = made.ended + 1500;
        b.Add(slow, 64 << 20);
        made.cause = chance < 5 ? "speculative" : "clone";
        made.worker = worker();
        made.number = 2;
        made.launched += 1000;
        made.started = made.launched + 20;
        made.inputs = s == 0 ? 0 : made.started + 300;
        made.ended = slow.ended;
      } else if (chance == 10) {
        Made failed = made;
        failed.state = "failed";
        failed.failure = "user";
        failed.ended = launched + 400;
        b.Add(failed, 64 << 20);
        b.run().attempts.back().message = "the operator threw: no such column 'price'\nat line 7";
        made.cause = "retry";
        made.number = 2;
        made.launched = launched + 450;
        made.started = launched + 470;
      }
      b.Add(made, (48 << 20) + rng.Below(32 << 20));
      end = std::max(end, made.ended);
    }
    stage_begin = end + 10;
  }
  b.Elapsed(stage_begin + 40);
  uint64_t number = 0;
  for (const AttemptStatus& a : b.run().attempts) {
    b.run().decisions.push_back({a.launched_us, "launched", a.id, a.worker, "a slot was free, and it was first"});
    if (a.failure == "killed") {
      b.run().decisions.push_back({a.ended_us, "asked to stop", a.id, a.worker, "another attempt of its task won"});
    }
    ++number;
  }
  std::stable_sort(b.run().decisions.begin(), b.run().decisions.end(),
                   [](const DecisionStatus& x, const DecisionStatus& y) { return x.at_us < y.at_us; });
  b.run().job.causes = {{"first", number, number - number / 10, 0}, {"clone", number / 20, number / 20, 1'000'000}};
  b.run().job.counters = {{"mr", "input_records", 12'000'000}, {"words", "long", -3}};
  b.run().job.submitted_unix_ms = 1'790'000'000'000;
  b.run().taken_unix_ms = 1'790'000'100'000;
  b.run().release = "sample";
  b.run().policies = "fair,dolly,late";
  return b;
}

RunBuilder Failed() {
  RunBuilder b = Drawn(3, 12, 3);
  b.run().job.state = JobState::kFailed;
  b.run().job.error = "stage 'count': attempt_1_0001_1_r_000001_4 failed on w2: no such column 'price'\n  at line 7";
  b.run().job.warnings = {"a local input grew while the job ran"};
  return b;
}

RunBuilder Running() {
  RunBuilder b = Drawn(5, 40, 8);
  b.run().job.state = JobState::kRunning;
  b.Elapsed(3000);
  for (AttemptStatus& a : b.run().attempts) {
    if (a.ended_us <= 3'000'000) continue;
    a.ended_us = 0;
    a.state = "running";
    a.won = false;
    a.failure = "";
    a.progress = .5;
  }
  b.run().job.waits = {"stage count waits: all 20 slots for them are taken"};
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
