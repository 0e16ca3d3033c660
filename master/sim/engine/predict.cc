#include "master/sim/engine/predict.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>

#include "common/base/rng.h"

namespace mr::sim {

namespace {

constexpr double kBorder = 1e-9;         // in buckets: progress comes from a division
constexpr uint32_t kPointsOfARun = 200;  // number of points at which progress is noted; a guess: four per bucket

struct Point {
  double at, progress;
};

float Draw(const std::vector<float>& samples, Rng& rng) {
  return samples.empty() ? 0 : samples[rng.Below(samples.size())];
}

// One simulated run of the job with a given number of slots. days: factors on the times of each stage; empty: none.
class OneRun {
 public:
  OneRun(const RunProfile& profile, uint32_t slots, Rng rng, std::vector<double> days = {})
      : profile_(profile), free_(slots), rng_(rng), days_(std::move(days)) {
    const size_t n = profile.stages.size();
    done_.resize(n);
    missing_.resize(n);
    readers_.resize(n);
    begin.assign(n, -1);
    end.assign(n, 0);
    for (size_t s = 0; s < n; ++s) {
      missing_[s].assign(profile.stages[s].tasks, 0);
      for (const sched::StageInput& input : profile.stages[s].inputs) {
        if (input.is_edge) readers_[input.upstream].push_back(static_cast<uint32_t>(s));
      }
      for (uint32_t t = 0; t < profile.stages[s].tasks; ++t) {
        missing_[s][t] = Missing(s, t);
        if (missing_[s][t] == 0) ready_.push({static_cast<uint32_t>(s), t});
      }
    }
  }

  // Calls visit(now, finished tasks per stage) after each task that ends.
  template <class Visit>
  double Run(Visit&& visit) {
    double now = 0;
    for (size_t s = 0; s < profile_.stages.size(); ++s) {
      if (profile_.stages[s].tasks == 0) Complete(s, now);
    }
    while (true) {
      while (free_ > 0 && !ready_.empty()) Start(now);
      if (running_.empty()) return now;
      const Running r = running_.top();
      running_.pop();
      now = r.at;
      ++free_;
      if (r.fails) {
        ready_.push({r.stage, r.task});
        continue;
      }
      Finish(r, now);
      visit(now, done_);
    }
  }

  std::vector<double> begin, end;  // per stage; begin is -1 if it had no task

 private:
  struct Running {
    double at;
    uint32_t stage, task;
    bool fails;
    bool operator>(const Running& o) const {
      return at != o.at ? at > o.at : stage != o.stage ? stage > o.stage : task > o.task;
    }
  };
  using Ready = std::pair<uint32_t, uint32_t>;

  // Returns the upstream tasks [first, last) that task t of s reads through an input that reads a part of them.
  std::pair<uint32_t, uint32_t> Slice(size_t s, const sched::StageInput& input, uint32_t t) const {
    const uint64_t up = profile_.stages[input.upstream].tasks, n = profile_.stages[s].tasks;
    return {static_cast<uint32_t>(t * up / n), static_cast<uint32_t>((t + 1) * up / n)};
  }
  static bool Whole(const sched::StageInput& input) {
    return input.edge == sched::EdgeKind::kAllToAll || input.edge == sched::EdgeKind::kBroadcast;
  }

  // Returns what the task waits for: whole upstream stages, plus single upstream tasks.
  uint32_t Missing(size_t s, uint32_t t) const {
    uint32_t n = 0;
    for (const sched::StageInput& input : profile_.stages[s].inputs) {
      if (!input.is_edge) continue;
      const auto [first, last] = Slice(s, input, t);
      n += Whole(input) ? 1 : last - first;
    }
    return n;
  }

  void Start(double now) {
    const auto [s, t] = ready_.top();
    ready_.pop();
    --free_;
    const StageRuns& stage = profile_.stages[s];
    if (begin[s] < 0) begin[s] = now;
    const bool fails = stage.fails > 0 && rng_.Uniform() < stage.fails;
    double took = Draw(stage.run, rng_) * (days_.empty() ? 1 : days_[s]);
    if (fails) took *= rng_.Uniform();  // at a random point of its time
    running_.push({now + Draw(stage.wait, rng_) + took, s, t, fails});
  }

  void Tell(uint32_t s, uint32_t t, uint32_t what) {
    if ((missing_[s][t] -= what) == 0) ready_.push({s, t});
  }

  void Complete(size_t s, double now) {
    end[s] = now;
    for (const uint32_t r : readers_[s]) {
      for (const sched::StageInput& input : profile_.stages[r].inputs) {
        if (!input.is_edge || input.upstream != s || !Whole(input)) continue;
        for (uint32_t t = 0; t < profile_.stages[r].tasks; ++t) Tell(r, t, 1);
      }
    }
  }

  void Finish(const Running& r, double now) {
    for (const uint32_t reader : readers_[r.stage]) {
      for (const sched::StageInput& input : profile_.stages[reader].inputs) {
        if (!input.is_edge || input.upstream != r.stage || Whole(input)) continue;
        const uint64_t up = profile_.stages[r.stage].tasks, n = profile_.stages[reader].tasks;
        // Find the readers whose slice has this task: around t * n / up.
        const auto about = static_cast<int64_t>(r.task * n / up);
        for (int64_t t = std::max<int64_t>(0, about - 1);
             t <= std::min<int64_t>(static_cast<int64_t>(n) - 1, about + static_cast<int64_t>(n / up) + 1); ++t) {
          const auto [first, last] = Slice(reader, input, static_cast<uint32_t>(t));
          if (first <= r.task && r.task < last) Tell(reader, static_cast<uint32_t>(t), 1);
        }
      }
    }
    if (++done_[r.stage] == profile_.stages[r.stage].tasks) Complete(r.stage, now);
  }

  const RunProfile& profile_;
  uint32_t free_;
  Rng rng_;
  const std::vector<double> days_;
  std::vector<uint32_t> done_;
  std::vector<std::vector<uint32_t>> missing_;
  std::vector<std::vector<uint32_t>> readers_;
  std::priority_queue<Ready, std::vector<Ready>, std::greater<>> ready_;  // upstream first
  std::priority_queue<Running, std::vector<Running>, std::greater<>> running_;
};

// An approximate normal distribution: its tails end at six sigma.
double Normal(Rng& rng) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += rng.Uniform();
  return sum;
}

// Returns factors for the times of each stage, as they vary from day to day.
std::vector<double> AnyDay(const RunProfile& profile, uint64_t seed) {
  Rng rng = Rng::Stream(seed, "day");
  std::vector<double> days;
  for (const StageRuns& stage : profile.stages) days.push_back(std::exp(DaySpread(stage) * Normal(rng)));
  return days;
}

std::vector<double> Shares(const RunProfile& profile, const std::vector<uint32_t>& done) {
  std::vector<double> shares;
  for (size_t s = 0; s < done.size(); ++s) {
    shares.push_back(profile.stages[s].tasks == 0 ? 1 : double{1.0} * done[s] / profile.stages[s].tasks);
  }
  return shares;
}

Status Check(const RunProfile& profile) {
  for (size_t s = 0; s < profile.stages.size(); ++s) {
    const StageRuns& stage = profile.stages[s];
    if (stage.tasks > 0 && stage.run.empty()) return InvalidArgument("stage " + stage.name + " has no run times");
    for (const sched::StageInput& input : stage.inputs) {
      if (input.is_edge && input.upstream >= s) return InvalidArgument("stage " + stage.name + " reads a later one");
    }
    if (stage.fails < 0 || stage.fails >= 1) return InvalidArgument("stage " + stage.name + ": all attempts fail");
  }
  return Status::Ok();
}

// Adds the time that is left at each border between buckets, interpolated between points. A mean over the bucket that
// begins there would report half a bucket too little everywhere.
void AddRun(const std::vector<Point>& points, double length, std::vector<std::vector<float>>* seen) {
  const auto buckets = static_cast<double>(seen->size() - 1);
  size_t b = 0;
  for (size_t i = 0; i < points.size(); ++i) {
    const Point &to = points[i], &from = points[i > 0 ? i - 1 : 0];
    for (; b < seen->size() && static_cast<double>(b) <= to.progress * buckets + kBorder; ++b) {
      const double rise = to.progress - from.progress, border = static_cast<double>(b) / buckets;
      const double part = rise > 0 ? std::clamp((border - from.progress) / rise, 0.0, 1.0) : 0;
      (*seen)[b].push_back(static_cast<float>(length - from.at - part * (to.at - from.at)));
    }
  }
}

// Fills empty buckets from the next fuller one. Makes the time left never rise with the number of slots, though a run
// with many slots, or a job that held more than its guarantee, may reach p with its longest path still to go.
void Smooth(Prediction* p, const std::vector<std::vector<std::vector<float>>>& seen) {
  const size_t nb = p->buckets + 1, nq = p->quantiles;
  p->left.assign(p->slots.size() * nb * nq, 0);
  for (size_t a = 0; a < p->slots.size(); ++a) {
    for (size_t b = nb; b-- > 0;) {
      float* to = &p->left[(a * nb + b) * nq];
      std::vector<float> s = seen[a][b];
      std::sort(s.begin(), s.end());
      for (size_t q = 0; q < nq; ++q) {
        const float next = b + 1 < nb ? to[nq + q] : 0;
        to[q] = s.empty() ? next : std::max(next, s[(2 * q + 1) * s.size() / (2 * nq)]);
      }
    }
  }
  for (size_t a = p->slots.size() - 1; a-- > 0;) {
    for (size_t i = 0; i < nb * nq; ++i) {
      float& here = p->left[a * nb * nq + i];
      here = std::max(here, p->left[(a + 1) * nb * nq + i]);
    }
  }
}

}  // namespace

std::vector<sched::StageProfile> Summarize(const RunProfile& profile, uint32_t slots, uint64_t seed) {
  std::vector<sched::StageProfile> out(profile.stages.size());
  std::vector<std::vector<uint32_t>> readers(profile.stages.size());
  for (size_t s = 0; s < out.size(); ++s) {
    const StageRuns& stage = profile.stages[s];
    const auto mean = [](const std::vector<float>& v) {
      return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
    };
    out[s].tasks = stage.tasks;
    out[s].run = stage.tasks * mean(stage.run);
    out[s].ran = stage.ran > 0 ? stage.tasks * stage.ran : out[s].run;
    out[s].queue = stage.tasks * (stage.queue + mean(stage.wait));
    out[s].longest = stage.run.empty() ? 0 : stage.run.back();
    for (const sched::StageInput& input : stage.inputs) {
      if (input.is_edge) readers[input.upstream].push_back(static_cast<uint32_t>(s));
    }
  }
  sched::SetPathsBehind(&out, readers);
  for (const bool free : {false, true}) {
    uint64_t all = 0;
    for (const StageRuns& stage : profile.stages) all += stage.tasks;
    OneRun run(profile, free ? static_cast<uint32_t>(std::max<uint64_t>(1, all)) : slots, Rng::Stream(seed, "summary"));
    const double length = run.Run([](double, const auto&) {});
    for (size_t s = 0; s < out.size(); ++s) {
      const double begin = length > 0 ? std::max(0.0, run.begin[s]) / length : 0,
                   end = length > 0 ? run.end[s] / length : 1;
      (free ? out[s].begin_free : out[s].begin) = begin;
      (free ? out[s].end_free : out[s].end) = end;
    }
  }
  return out;
}

double DaySpread(const StageRuns& stage) {
  constexpr double kPrior = .2,
                   kPriorRuns =
                       3;  // Jockey's median variation with inputs of one size (EuroSys'12); its weight is a guess
  if (stage.means.empty()) return 0;
  double mean = 0, square = 0, n = 0;
  for (const float m : stage.means) {
    if (!(m > 0)) continue;
    const double log = std::log(static_cast<double>(m));
    ++n;
    const double before = mean;
    mean += (log - mean) / n;
    square += (log - before) * (log - mean);
  }
  return std::sqrt((kPrior * kPrior * kPriorRuns + square) / (kPriorRuns + std::max(0.0, n - 1)));
}

Result<Prediction> Predict(const RunProfile& profile, const PredictOptions& options) {
  MR_RETURN_IF_ERROR(Check(profile));
  if (options.slots.empty() || options.buckets == 0 || options.quantiles == 0 || options.runs == 0) {
    return InvalidArgument("a prediction needs slots, runs, buckets and quantiles");
  }
  const std::vector<sched::StageProfile> stages = Summarize(profile, options.slots.back(), options.seed);
  uint64_t tasks = 0;
  for (const StageRuns& stage : profile.stages) tasks += stage.tasks;
  const uint64_t each = std::max<uint64_t>(1, tasks / kPointsOfARun);
  Prediction out{options.slots, options.buckets, options.quantiles, {}, options.indicator, stages, profile.runs};
  std::vector<std::vector<std::vector<float>>> seen(out.slots.size());
  for (size_t a = 0; a < out.slots.size(); ++a) {
    seen[a].resize(out.buckets + 1);
    for (uint32_t r = 0; r < options.runs; ++r) {
      // Each number of slots draws the same random numbers.
      OneRun run(profile, out.slots[a], Rng::Stream(options.seed + r, "predict"),
                 options.days ? AnyDay(profile, options.seed + r) : std::vector<double>{});
      std::vector<Point> points{{0, 0}};
      uint64_t ended = 0;
      const double length = run.Run([&](double now, const std::vector<uint32_t>& done) {
        if (++ended % each != 0) return;
        points.push_back({now, ProgressOf(options.indicator, stages, Shares(profile, done))});
      });
      points.push_back({length, 1});
      AddRun(points, length, &seen[a]);
    }
  }
  Smooth(&out, seen);
  return out;
}

std::vector<RunPoint> SampleRun(const RunProfile& profile, uint32_t slots, uint64_t seed) {
  std::vector<RunPoint> points{{0, std::vector<double>(profile.stages.size(), 0)}};
  OneRun run(profile, slots, Rng::Stream(seed, "sample"));
  run.Run([&](double now, const std::vector<uint32_t>& done) { points.push_back({now, Shares(profile, done)}); });
  return points;
}

RunProfile Scaled(RunProfile profile, double times, bool tasks_stay) {
  for (StageRuns& stage : profile.stages) {
    stage.input_bytes *= times;
    if (tasks_stay) {
      for (float& seconds : stage.run) seconds = static_cast<float>(seconds * times);
      stage.ran *= times;
    } else {
      stage.tasks = std::max(1u, static_cast<uint32_t>(std::lround(stage.tasks * times)));
    }
  }
  return profile;
}

RunProfile ScaledTo(RunProfile profile, const std::vector<uint32_t>& tasks, double times) {
  for (size_t s = 0; s < profile.stages.size(); ++s) {
    StageRuns& stage = profile.stages[s];
    const double each = tasks[s] > 0 ? times * stage.tasks / tasks[s] : 1;
    stage.input_bytes *= times;
    stage.tasks = tasks[s];
    stage.ran *= each;
    for (float& seconds : stage.run) seconds = static_cast<float>(seconds * each);
  }
  return profile;
}

std::vector<uint32_t> SlotsToPredict(uint32_t all) {
  std::vector<uint32_t> slots;
  for (uint64_t percent = 20; slots.empty() || slots.size() > kMostSlotCounts; ++percent) {
    slots.clear();
    for (uint64_t a = 1; a < all; a += std::max(uint64_t{1}, a * percent / 100)) {
      slots.push_back(static_cast<uint32_t>(a));
    }
    slots.push_back(std::max(1u, all));
  }
  return slots;
}

}  // namespace mr::sim
