// The recurring job of deadlines_bench, and its load: stages whose tasks use a given amount of CPU. The answer is the
// number of records and their sum.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>

#include "paceline/paceline.h"

namespace {

using Step = int64_t;

// Uses `ms` of this thread's CPU. A CPU quota slows this down; it would not slow a sleep.
void Burn(double ms) {
  const auto used = [] {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
  };
  for (const double end = used() + ms; used() < end;) {
    volatile uint64_t h = 1;
    for (int i = 0; i < 20'000; ++i) h = h * 6364136223846793005u + 1;
  }
}

// Returns the configured mean times a lognormal that each attempt draws anew, so that tasks of a stage and runs differ.
template <class Context>
double Draw(const Context& context) {
  const mr::Config config = context.config();
  const std::string id(context.attempt_id());
  std::seed_seq seed(id.begin(), id.end());
  std::mt19937_64 rng(seed);
  constexpr double kSigma = .4;  // a guess: the 95th percentile is twice the median
  return static_cast<double>(config.Int("ms")) *
         std::exp(std::normal_distribution<>(-kSigma * kSigma / 2, kSigma)(rng));
}

// Deals `records` among all tasks of the next stage.
class Begin : public mr::Mapper<int64_t, int64_t, Step, Step> {
 public:
  void Map(int64_t, int64_t, Out&) {}
  void End(Out& out) {
    Burn(Draw(context()));
    const int64_t records = context().config().Int("records");
    for (int64_t i = context().task(); i < records; i += context().tasks()) out.Emit(i, 1);
  }
};

class Pass : public mr::Reducer<Step, Step, Step, Step> {
 public:
  void Reduce(Step key, mr::Values<Step>& values, Out& out) {
    int64_t sum = 0;
    for (const int64_t v : values) sum += v;
    out.Emit(key * 7 + 1, sum);
  }
  void End(Out&) { Burn(Draw(context())); }
};

class Finish : public mr::Reducer<Step, Step, mr::Text, mr::Text> {
 public:
  void Reduce(Step, mr::Values<Step>& values, Out&) {
    for (const int64_t v : values) sum_ += v;
    ++records_;
  }
  void End(Out& out) {
    Burn(Draw(context()));
    out.Emit(std::to_string(records_), std::to_string(sum_));
  }

 private:
  int64_t records_ = 0, sum_ = 0;
};

class OnlyBurn : public mr::Mapper<int64_t, int64_t, mr::Text, mr::Text> {
 public:
  void Map(int64_t, int64_t, Out&) {}
  void End(Out&) { Burn(Draw(context())); }
};

void PlanFive(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  int64_t ms = 100;
  mr::Args("five").Add("--ms", &ms, 1, 100'000).Parse(argv);
  const mr::Config config = mr::Config().Set("ms", ms).Set("records", int64_t{5000});
  auto& begin = plan.Map("begin", "five.begin").Tasks(24).Configure(config).Shuffle();
  auto& second = plan.Reduce("second", "five.pass").Tasks(12).Configure(config).Group(begin).Shuffle();
  auto& third = plan.Reduce("third", "five.pass").Tasks(16).Configure(config).Group(second).Shuffle();
  auto& fourth = plan.Reduce("fourth", "five.pass").Tasks(8).Configure(config).Group(third).Shuffle();
  plan.Reduce("fifth", "five.finish").Tasks(4).Configure(config).Group(fourth).WriteFiles();
}

void PlanLoad(const std::vector<std::string>& argv, mr::JobPlan& plan) {
  int64_t ms = 100, tasks = 10;
  mr::Args("load").Add("--ms", &ms, 1, 100'000).Add("--tasks", &tasks, 1, 100'000).Parse(argv);
  plan.Map("burn", "five.burn").Tasks(static_cast<uint32_t>(tasks)).Configure(mr::Config().Set("ms", ms)).WriteFiles();
}

}  // namespace

PACELINE_LIBRARY(
    PACELINE_OPERATOR(Begin, "five.begin", MR_DETERMINISTIC | MR_REUSABLE)
        PACELINE_OPERATOR(Pass, "five.pass", MR_DETERMINISTIC | MR_REUSABLE)
            PACELINE_OPERATOR(Finish, "five.finish", MR_DETERMINISTIC | MR_REUSABLE)
                PACELINE_OPERATOR(OnlyBurn, "five.burn", MR_DETERMINISTIC | MR_REUSABLE)
                    PACELINE_JOB("five",
                                 "five stages of 24, 12, 16, 8 and 4 tasks that burn CPU: --ms N, the mean of a task",
                                 PlanFive)
                        PACELINE_JOB("load", "tasks that burn CPU: --ms N, the mean of a task, --tasks N", PlanLoad))
