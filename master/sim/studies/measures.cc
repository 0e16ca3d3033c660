#include "master/sim/studies/measures.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "master/sched/policies/dolly/reasons.h"
#include "master/sim/studies/report.h"
#include "master/sim/studies/setups.h"

namespace mr::sim {

namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();
constexpr size_t kBins = kBinNames.size() - 1;

double AsSeconds(Duration d) { return static_cast<double>(d.ns) / 1e9; }
double AsSeconds(Instant t) { return static_cast<double>(t.ns) / 1e9; }

double QuantileOf(std::vector<double> values, double p) {
  if (values.empty()) return kNothing;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(p * static_cast<double>(values.size() - 1))];
}

double MeanOf(const std::vector<double>& v) {
  return v.empty() ? 0 : std::accumulate(v.begin(), v.end(), 0.0) / static_cast<double>(v.size());
}

// A read of one replica by a bound reader.
struct TimedRead {
  double at = 0, seconds = 0, bytes = 0;
  uint32_t readers = 1;  // readers of the replica, this one included
};
// The time from an output's first replica to its second.
struct ReplicaGap {
  double at = 0, seconds = 0;
};

// Returns the extra seconds per byte with two readers of a replica, in percent of one reader's.
double SharingCost(const std::vector<TimedRead>& reads) {
  double bytes[2] = {0, 0}, seconds[2] = {0, 0};
  for (const TimedRead& r : reads) {
    if (r.readers > 2 || r.bytes <= 0) continue;
    bytes[r.readers - 1] += r.bytes;
    seconds[r.readers - 1] += r.seconds;
  }
  return 100 * (seconds[1] / bytes[1] * bytes[0] / seconds[0] - 1);
}

// Returns 100 minus the percent by which an estimate is off.
double Accuracy(double estimate, double real) { return 100 * (1 - std::abs(estimate - real) / real); }

struct Moved {
  double bytes = 0, seconds = 0;
};
// Judges the first half's rates by the second half: the predicted time of its bytes against the real one. As in the
// scheduler, each number of readers of one replica has a rate.
double RatesJudged(const std::vector<TimedRead>& reads, double until, bool shared) {
  std::map<uint32_t, Moved> halves[2];
  for (const TimedRead& r : reads) {
    if (r.bytes <= 0 || (r.readers > 1) != shared) continue;
    Moved& moved = halves[r.at > until][r.readers];
    moved.bytes += r.bytes;
    moved.seconds += r.seconds;
  }
  double expected = 0, real = 0;
  for (const auto& [readers, later] : halves[1]) {
    const auto learned = halves[0].find(readers);
    if (learned == halves[0].end()) continue;
    expected += later.bytes * learned->second.seconds / learned->second.bytes;
    real += later.seconds;
  }
  return Accuracy(expected, real);
}

// Judges how often the gaps of the first half are longer than each omega (seconds, about the paper's), by the second.
double GapsJudged(const std::vector<ReplicaGap>& gaps, double until) {
  constexpr double kOmegas[] = {1, 2, 4};
  double later[2][std::size(kOmegas)] = {}, all[2] = {};
  for (const ReplicaGap& g : gaps) {
    const size_t half = g.at > until;
    all[half] += 1;
    for (size_t o = 0; o < std::size(kOmegas); ++o) later[half][o] += g.seconds > kOmegas[o];
  }
  double sum = 0;
  for (size_t o = 0; o < std::size(kOmegas); ++o) sum += Accuracy(later[0][o] / all[0], later[1][o] / all[1]);
  return sum / std::size(kOmegas);
}

// Returns the tasks of the widest phase.
uint32_t WidthOf(const JobModel& job) {
  uint32_t width = 0;
  for (const StageModel& stage : job.stages) width = std::max(width, stage.tasks);
  return width;
}

// When the tasks of a phase began and ended, in seconds. A task begins with its first attempt.
struct TaskTimes {
  std::vector<double> from, until;
};

// Measures attempts.
class Watched {
 public:
  explicit Watched(const std::vector<JobModel>& jobs) : held_(jobs.size()), times_(jobs.size()) {
    for (const JobModel& job : jobs) {
      widths_.push_back(WidthOf(job));
      blocks_.push_back(job.stages[0].preferred);
    }
  }
  std::function<uint32_t(JobId)> job_of;  // index in the workload, from 0, also for strands; set before the first event

  void See(const sched::StampedEvent& event, const std::vector<sched::Decision>& decisions) {
    if (const auto* e = std::get_if<sched::AttemptKilled>(&event.event)) End(e->attempt, event.at);
    if (const auto* e = std::get_if<sched::AttemptFailed>(&event.event)) End(e->attempt, event.at);
    if (const auto* e = std::get_if<sched::AttemptFinished>(&event.event)) Finished(*e, event.at, decisions);
    if (const auto* e = std::get_if<sched::FetchDone>(&event.event)) {
      reads_.push_back({AsSeconds(event.at), AsSeconds(e->took), static_cast<double>(e->bytes), e->readers});
    }
    for (const sched::Decision& d : decisions) {
      if (const auto* launch = std::get_if<sched::Launch>(&d)) Launched(*launch, event.at);
      const auto* kill = std::get_if<sched::Kill>(&d);
      if (kill != nullptr) preempted_ += kill->reason.code == sched::DollyReason::kSmallerPhase;
    }
  }

  void AddTo(uint32_t slots, Measures* out) const {
    Measures& m = *out;
    m["spread50"] = {Spread(.5, false)};
    m["spread95"] = {Spread(.95, false)};
    m["cloned_spread50"] = {Spread(.5, true)};
    m["cloned_spread95"] = {Spread(.95, true)};
    AddSlowest(&m);
    m["clones_in_small"] = {clones_all_ > 0 ? 100 * clones_small_ / clones_all_ : kNothing};
    m["budgeted"] = {clones_all_};
    m["lent"] = {lent_};
    m["preempted"] = {100.0 * static_cast<double>(preempted_) / static_cast<double>(launched_)};
    m["first_slots"] = {100.0 * static_cast<double>(most_first_) / slots};
    m["small_slots"] = {100.0 * static_cast<double>(most_small_) / slots};
    std::vector<double> held = held_;
    std::sort(held.begin(), held.end());
    double all = 0, smallest = 0;
    for (size_t j = 0; j < held.size(); ++j) {
      all += held[j];
      if (j < held.size() * 9 / 10) smallest += held[j];
    }
    m["smallest90"] = {100 * smallest / all};
    m["sharing_cost"] = {SharingCost(reads_)};
    const double middle = reads_.empty() ? 0 : reads_[reads_.size() / 2].at;
    m["alone_accuracy"] = {RatesJudged(reads_, middle, false)};
    m["shared_accuracy"] = {RatesJudged(reads_, middle, true)};
    m["gap_accuracy"] = {GapsJudged(gaps_, middle)};
    AddReduces(out);
    m["first_far"] = {first_far_};
    m["map_seconds"] = {MeanOf(map_seconds_)};
    m["reduce_slot_seconds"] = {reduce_slot_seconds_};
  }

 private:
  struct Live {
    Instant from;
    bool clone = false, lent = false;
  };
  struct Times {
    double maps_end = 0;
    std::vector<double> reduces;  // starts
  };

  bool First(const AttemptId& id) const { return widths_[job_of(id.task.job)] <= kFirstBin; }
  bool Small(const AttemptId& id) const { return widths_[job_of(id.task.job)] <= kSmallJob; }

  void Launched(const sched::Launch& d, Instant at) {
    const TaskId& task = d.attempt.task;
    const JobId job = task.job;
    const bool clone = d.cause == Cause::kClone || job_of(job) + 1 != job.seq;
    if (clone) cloned_.insert(task.stage_id());
    live_[d.attempt] = {at, clone, d.cause == Cause::kOpportunistic};
    began_.try_emplace(task, AsSeconds(at));
    ++launched_;
    if (First(d.attempt)) most_first_ = std::max(most_first_, ++first_now_);
    if (Small(d.attempt)) most_small_ = std::max(most_small_, ++small_now_);
    const auto& blocks = blocks_[job_of(job)];
    if (task.stage == 0 && first_far_ == 0 && task.task < blocks.size()) {
      const std::vector<uint32_t>& on = blocks[task.task];
      if (std::find(on.begin(), on.end(), d.worker.value - 1) == on.end()) first_far_ = AsSeconds(at) / 60;
    }
    if (task.stage == 1) times_[job_of(job)].reduces.push_back(AsSeconds(at));
  }

  void Finished(const sched::AttemptFinished& e, Instant at, const std::vector<sched::Decision>& decisions) {
    const auto live = live_.find(e.attempt);
    const double took = live == live_.end() ? 0 : AsSeconds(at) - AsSeconds(live->second.from);
    if (e.attempt.task.stage == 0) {
      times_[job_of(e.attempt.task.job)].maps_end = AsSeconds(at);
      map_seconds_.push_back(took);
    } else {
      reduce_slot_seconds_ += took;
    }
    End(e.attempt, at);
    for (const sched::Decision& d : decisions) {
      const auto* accept = std::get_if<sched::Accept>(&d);
      if (accept == nullptr || accept->attempt != e.attempt) continue;
      const auto [first, is_first] = first_replica_.try_emplace(e.attempt.task, AsSeconds(at));
      if (accept->winner) {
        ran_[e.attempt.task.stage_id()].push_back(AsSeconds(e.ran));
        TaskTimes& times = task_times_[e.attempt.task.stage_id()];
        times.from.push_back(began_[e.attempt.task]);
        times.until.push_back(AsSeconds(at));
      }
      if (is_first || !second_replica_.insert(e.attempt.task).second) continue;
      gaps_.push_back({AsSeconds(at), AsSeconds(at) - first->second});
    }
  }

  void End(const AttemptId& id, Instant at) {
    const auto it = live_.find(id);
    if (it == live_.end()) return;
    const double held = AsSeconds(at - it->second.from);
    held_[job_of(id.task.job)] += held;
    if (it->second.clone) clones_all_ += held;
    if (it->second.lent) lent_ += held;
    if (it->second.clone && Small(id)) clones_small_ += held;
    if (First(id)) --first_now_;
    if (Small(id)) --small_now_;
    live_.erase(it);
  }

  // Tasks of a phase have the same input, so ratios of rates are ratios of times.
  double Spread(double p, bool cloned) const {
    std::vector<double> spreads;
    for (const auto& [stage, ran] : ran_) {
      if (ran.size() < 2 || widths_[job_of(stage.job)] > kSmallJob || (cloned && !cloned_.contains(stage))) continue;
      std::vector<double> sorted = ran;
      std::sort(sorted.begin(), sorted.end());
      spreads.push_back(sorted.back() / ((sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2));
    }
    return QuantileOf(std::move(spreads), p);
  }

  // Stages are in order, so that the end of the phase before is known. A task that was launched earlier begins then.
  void AddSlowest(Measures* out) const {
    std::vector<double> ratios, saved(held_.size(), 0);
    JobId job{};
    double ready = 0;
    for (const auto& [stage, times] : task_times_) {
      if (stage.job != job) ready = 0;
      job = stage.job;
      std::vector<double> seconds;
      for (size_t t = 0; t < times.from.size(); ++t) seconds.push_back(times.until[t] - std::max(ready, times.from[t]));
      const double median = MedianOf(seconds);
      double end = 0, best = 0;
      for (size_t t = 0; t < seconds.size(); ++t) {
        end = std::max(end, times.until[t]);
        best = std::max(best, times.until[t] - std::max(0.0, seconds[t] - median));
      }
      saved[job_of(job)] += end - best;
      ready = end;
      if (seconds.size() < 2 || widths_[job_of(job)] > kFirstBin) continue;
      ratios.push_back(*std::max_element(seconds.begin(), seconds.end()) / median);
    }
    (*out)["slowest50"] = {QuantileOf(std::move(ratios), .5)};
    Numbers& potential = (*out)["potential"] = Numbers(kBins, 0);  // seconds per bin; RunMeasured makes them percent
    for (size_t j = 0; j < saved.size(); ++j) potential[sched::BinOfTasks(widths_[j]) - 1] += saved[j];
  }

  void AddReduces(Measures* out) const {
    Numbers &starved = (*out)["starved"], &maps_end = (*out)["maps_end"], &first = (*out)["first_reduce"];
    for (const Times& t : times_) {
      if (t.reduces.empty()) continue;
      double sum = 0, n = 0;
      for (const double at : t.reduces) {
        if (at > t.maps_end) sum += (at - t.maps_end) / 60, ++n;
      }
      starved.push_back(n > 0 ? sum / n : 0);
      maps_end.push_back(t.maps_end / 60);
      first.push_back(*std::min_element(t.reduces.begin(), t.reduces.end()) / 60);
    }
  }

  std::vector<uint32_t> widths_;
  std::vector<std::vector<std::vector<uint32_t>>> blocks_;  // per job and map: the workers with its block
  std::vector<double> held_;                                // slot-seconds per job
  std::vector<Times> times_;                                // per job
  std::map<StageId, std::vector<double>> ran_;
  std::map<StageId, TaskTimes> task_times_;
  std::map<TaskId, double> began_;
  std::set<StageId> cloned_;
  std::map<AttemptId, Live> live_;
  std::map<TaskId, double> first_replica_;
  std::set<TaskId> second_replica_;
  std::vector<TimedRead> reads_;
  std::vector<ReplicaGap> gaps_;
  std::vector<double> map_seconds_;
  uint64_t launched_ = 0, preempted_ = 0;
  int64_t first_now_ = 0, most_first_ = 0, small_now_ = 0, most_small_ = 0;
  double clones_all_ = 0, clones_small_ = 0, lent_ = 0, first_far_ = 0, reduce_slot_seconds_ = 0;
};

}  // namespace

const std::vector<std::string_view>& MeasureNames() {
  static const std::vector<std::string_view> names = {"seconds",
                                                      "tasks",
                                                      "width",
                                                      "potential",
                                                      "slowest50",
                                                      "bin_jobs",
                                                      "bin_mean",
                                                      "mean",
                                                      "small",
                                                      "large",
                                                      "busy",
                                                      "wasted",
                                                      "utilisation",
                                                      "extra",
                                                      "extra_reduces",
                                                      "local",
                                                      "first_slots",
                                                      "small_slots",
                                                      "smallest90",
                                                      "spread50",
                                                      "spread95",
                                                      "cloned_spread50",
                                                      "budgeted",
                                                      "cloned_spread95",
                                                      "lent",
                                                      "preempted",
                                                      "sharing_cost",
                                                      "clones_in_small",
                                                      "gap_accuracy",
                                                      "alone_accuracy",
                                                      "shared_accuracy",
                                                      "starved",
                                                      "maps_end",
                                                      "cross_rack_bytes",
                                                      "first_reduce",
                                                      "first_far",
                                                      "map_seconds",
                                                      "straggler_share",
                                                      "reduce_slot_seconds"};
  return names;
}

Result<Measures> RunMeasured(Experiment e) {
  const uint32_t slots = e.cluster.slots();
  const double p = e.strands ? e.strands->p : kNothing;
  std::vector<double> widths;
  for (const JobModel& job : e.jobs) widths.push_back(WidthOf(job));
  Watched watched(e.jobs);
  e.watch = [&watched](const auto& event, const auto& decisions) { watched.See(event, decisions); };
  Simulation run(std::move(e));
  watched.job_of = [&run](JobId id) { return run.JobOf(id); };
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  Measures m;
  watched.AddTo(slots, &m);
  m["straggler_share"] = {p};
  for (const JobResult& job : run.jobs()) {
    m["seconds"].push_back(job.ended - job.submitted);
    m["tasks"].push_back(job.tasks);
  }
  m["width"] = widths;
  std::vector<JobResult> by_width = run.jobs();
  for (size_t j = 0; j < by_width.size(); ++j) by_width[j].tasks = static_cast<uint32_t>(widths[j]);
  const auto bins = BinsOf(by_width);
  double jobs[2] = {0, 0}, sums[2] = {0, 0};
  for (size_t b = 0; b < kBins; ++b) {
    m["bin_jobs"].push_back(bins[b].jobs);
    m["bin_mean"].push_back(bins[b].mean);
    m["potential"][b] *= 100 / std::max(1e-9, bins[b].jobs * bins[b].mean);
    jobs[b > 1] += bins[b].jobs;
    sums[b > 1] += bins[b].jobs * bins[b].mean;
  }
  const Totals& t = run.totals();
  m["mean"] = {bins[kBins].mean};
  m["small"] = {sums[0] / jobs[0]};
  m["large"] = {sums[1] / jobs[1]};
  m["busy"] = {t.busy};
  m["wasted"] = {t.wasted};
  m["utilisation"] = {100 * t.busy / (t.end * slots)};
  m["extra"] = {static_cast<double>(t.extra)};
  m["extra_reduces"] = {static_cast<double>(t.extra_reduces)};
  m["cross_rack_bytes"] = {t.cross_rack_bytes};
  m["local"] = {100 * t.local_bytes / std::max(1.0, t.read_bytes)};
  return m;
}

}  // namespace mr::sim
