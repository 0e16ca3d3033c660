#include "master/sim/replay/history_model.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "common/base/count.h"

namespace mr::sim {

namespace {

using history::Attempt;
using history::Document;
using history::Task;

// Guesses: the least reported share of its work from which an attempt's end is estimated; the least spread of durations
// (log scale, as in TaskModel); the number of attempts whose median is trusted.
constexpr double kLeastProgress = .05;
constexpr double kLeastFull = .5;  // below, last reports came long before the ends (a guess)
constexpr double kLeastSpread = .15;
constexpr double kFew = 3;
constexpr double kMadToSigma = 1.4826;  // of a normal distribution
constexpr int kRounds = 4;              // of medians of stages and of workers, which depend on each other
// The workers' reports: when an attempt moved by 5 %, at most each 20 ms and at least each second
// (worker/daemon/progress.h).
constexpr double kReportStep = .05, kLeastPeriod = .02, kMostPeriod = 1;

double Between(Instant from, Instant to) { return (to - from).seconds(); }

struct Weighed {
  double value = 0, weight = 1;
};

// Returns the value that has half of the weight on either side; 0 for no values.
double Median(std::vector<Weighed> values) {
  std::sort(values.begin(), values.end(), [](const Weighed& a, const Weighed& b) { return a.value < b.value; });
  double left = 0;
  for (const Weighed& v : values) left += v.weight / 2;
  for (const Weighed& v : values) {
    left -= v.weight;
    if (left <= 0) return v.value;
  }
  return 0;
}

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Seconds that an attempt worked, counted from when it ran and all its inputs were there.
struct Time {
  double seconds = 0;
  double copy = 0;  // part of them until it had its inputs, if it began after they were all there
  double tail = 0;  // the same if it began before
  bool whole = false;
};

class Reader {
 public:
  explicit Reader(std::map<WorkerId, uint32_t> index) : index_(std::move(index)) {}

  // Returns when the last output that the task reads was committed; 0 if it reads none.
  static Instant Ready(const history::Job& job, const history::Stage& stage, const Task& task) {
    Instant ready;
    for (const Slice& slice : task.slices) {
      const auto& upstream = job.stages[stage.spec.inputs[slice.input].upstream].tasks;
      for (uint32_t t = slice.task_begin; t < slice.task_end; ++t) {
        const Attempt* winner = upstream[t].Winner();
        if (winner != nullptr) ready = std::max(ready, winner->ended);
      }
    }
    return ready;
  }

  // Returns the share of its bytes that an attempt of the stage has taken in its last phase when it ends. Below 1 where
  // operators do not take all that they announce.
  static double FullShare(const history::Stage& stage) {
    double most = 0;
    for (const Task& task : stage.tasks) {
      for (const Attempt& a : task.attempts) {
        if (a.state != sched::AttemptState::kCommitted || a.phase < 3 || a.total == 0) continue;
        most = std::max(most, static_cast<double>(a.taken) / static_cast<double>(a.total));
      }
    }
    return most < kLeastFull ? 1 : std::min(1.0, most);
  }

  // Returns the time of an attempt that started and ended. For a stopped one it estimates the time, if its progress
  // allows. full: FullShare of its stage.
  static Time TimeOf(const history::Job& job, const Attempt& a, Instant ready, double full) {
    const Instant ended = a.ended.ns > 0 ? a.ended : job.ended;
    const bool early = ready > a.started;
    const Instant begin = early && ready < ended ? ready : a.started;
    Time time{Between(begin, ended), 0, 0,
              a.state == sched::AttemptState::kCommitted || a.state == sched::AttemptState::kDiscarded};
    if (a.inputs_done > begin && a.inputs_done <= ended && ready.ns > 0) {
      (early ? time.tail : time.copy) = Between(begin, a.inputs_done);
    }
    if (time.whole || a.total == 0 || a.reported <= begin) return time;
    // Bytes count within a phase. Only the phase that reads files and the last phase show the time of the whole.
    if (a.phase != 0 && a.phase != 3) return time;
    const Instant phase_began = a.phase == 0 ? begin : std::max(begin, a.inputs_done);
    const double share = static_cast<double>(a.taken) / static_cast<double>(a.total);
    const double done = std::min(1.0, a.phase == 3 ? share / full : share);
    if (done >= kLeastProgress && a.reported > phase_began) {
      time.seconds = std::max(time.seconds, Between(begin, phase_began) + Between(phase_began, a.reported) / done);
      time.whole = true;
    }
    return time;
  }

  std::optional<uint32_t> IndexOf(WorkerId id) const {
    const auto it = index_.find(id);
    return it == index_.end() ? std::nullopt : std::optional<uint32_t>(it->second);
  }

 private:
  std::map<WorkerId, uint32_t> index_;
};

// Times of a stage's attempts, for all parts of the model.
struct StageTimes {
  struct One {
    Time time;
    uint32_t worker = 0, number = 0, task = 0;
  };
  std::vector<One> attempts;
  double full = 1;  // FullShare
};

StageTimes TimesOf(const Reader& reader, const history::Job& job, const history::Stage& stage) {
  StageTimes times;
  times.full = Reader::FullShare(stage);
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
    const Task& task = stage.tasks[t];
    const Instant ready = Reader::Ready(job, stage, task);
    for (const Attempt& a : task.attempts) {
      if (a.started.ns == 0) continue;
      const bool stopped = a.state == sched::AttemptState::kKilled || a.state == sched::AttemptState::kEnding;
      const Time time = Reader::TimeOf(job, a, ready, times.full);
      if ((!time.whole && !stopped) || time.seconds <= 0) continue;
      times.attempts.push_back({time, reader.IndexOf(a.worker).value_or(0), a.number, t});
    }
  }
  return times;
}

// Returns the record of one task: the attempt with the smallest number.
const StageTimes::One* RecordOf(const std::vector<const StageTimes::One*>& of_task) {
  const StageTimes::One* best = nullptr;
  for (const StageTimes::One* one : of_task) {
    if (best == nullptr || one->number < best->number) best = one;
  }
  return best;
}

// ran_on: receives the worker of each of the stage's durations.
StageModel StageOf(const history::Stage& stage, const StageTimes& times, const std::vector<double>& speeds,
                   const Reader& reader, std::vector<uint32_t>* ran_on, uint32_t* unknown) {
  StageModel model;
  model.name = stage.spec.name;
  model.kind = stage.spec.slot_kind;
  model.tasks = static_cast<uint32_t>(stage.tasks.size());
  model.inputs = stage.spec.inputs;
  model.side_effects = stage.spec.side_effects;
  model.taken = times.full;
  std::vector<double> known;
  std::vector<std::vector<const StageTimes::One*>> by_task(stage.tasks.size());
  for (const auto& one : times.attempts) {
    by_task[one.task].push_back(&one);
    if (one.time.whole) known.push_back(one.time.seconds * speeds[one.worker]);
  }
  const double median = Median(known);
  const auto add = [&](const StageTimes::One& one) {
    // A stopped attempt without known progress took at least its time, and no less than the stage's median.
    const double seconds = std::max(one.time.seconds * speeds[one.worker], one.time.whole ? 0 : median);
    model.durations.push_back(static_cast<float>(seconds));
    ran_on->push_back(one.worker);
    model.shares.push_back({static_cast<float>(std::min(1.0, one.time.copy / one.time.seconds)),
                            static_cast<float>(std::min(1.0, one.time.tail / one.time.seconds))});
  };
  std::vector<const StageTimes::One*> further;
  model.silent = true;
  for (uint32_t t = 0; t < stage.tasks.size(); ++t) {
    const Task& task = stage.tasks[t];
    uint64_t total = task.input_bytes;
    for (const Attempt& a : task.attempts) {
      total = std::max(total, a.total);
      model.silent = model.silent && a.total == 0;
    }
    model.task_bytes.push_back(total);
    model.bytes += total;
    model.output_bytes += task.output_bytes;
    model.preferred.emplace_back();
    for (const WorkerId w : task.preferred) {
      if (const auto index = reader.IndexOf(w)) model.preferred.back().push_back(*index);
    }
    const StageTimes::One* record = RecordOf(by_task[t]);
    if (record != nullptr) {
      add(*record);
    } else {
      ++*unknown;
      model.durations.push_back(static_cast<float>(median));
      ran_on->push_back(kUnknownWorker);
      model.shares.emplace_back();
    }
    for (const StageTimes::One* one : by_task[t]) {
      if (one != record && one->time.whole) further.push_back(one);
    }
  }
  for (const StageTimes::One* one : further) add(*one);
  return model;
}

// Returns the worker to which the master offered a slot first: that of the first launch of a task without a place.
// Tasks with places go to these, in another order. Invalid if such tasks were launched first.
WorkerId FirstOffered(const std::vector<const history::Job*>& jobs) {
  const Attempt* first = nullptr;  // of tasks without a place
  std::optional<Instant> begin;
  for (const history::Job* job : jobs) {
    for (const auto& stage : job->stages) {
      for (const Task& task : stage.tasks) {
        for (const Attempt& a : task.attempts) {
          begin = std::min(begin.value_or(a.launched), a.launched);
          if (!task.preferred.empty()) continue;
          if (first == nullptr || a.launched < first->launched) first = &a;
        }
      }
    }
  }
  return first == nullptr || first->launched > *begin ? WorkerId{} : first->worker;
}

}  // namespace

// Takes for each worker the median of its ratios, weighed by the stages' times, since milliseconds are mostly noise.
// Shrinks it towards 0 as far as ratios differ within workers as much as between them (empirical Bayes).
std::vector<SpeedEstimate> EstimateSpeeds(const std::vector<SpeedSample>& samples, size_t workers) {
  std::vector<SpeedEstimate> estimates(workers);
  std::vector<double> speeds(workers, 1);
  for (int round = 0; round < kRounds; ++round) {
    std::map<uint32_t, std::vector<double>> of_stage;
    for (const SpeedSample& s : samples) {
      if (s.whole) of_stage[s.stage].push_back(s.seconds * speeds[s.worker]);
    }
    std::map<uint32_t, double> medians;
    for (auto& [stage, seconds] : of_stage) {
      if (seconds.size() > 1) medians[stage] = Median(std::move(seconds));
    }
    std::vector<std::vector<Weighed>> ratios(workers);
    for (const SpeedSample& s : samples) {
      const auto it = medians.find(s.stage);
      if (it == medians.end() || it->second <= 0) continue;
      // A stopped attempt counts only if it had already taken longer than others take.
      if (s.whole || s.seconds > it->second) ratios[s.worker].push_back({std::log(it->second / s.seconds), it->second});
    }
    std::vector<double> middle(workers, 0), effective(workers, 0);
    std::vector<Weighed> apart;
    for (size_t w = 0; w < workers; ++w) {
      double sum = 0, squares = 0;
      for (const Weighed& r : ratios[w]) {
        sum += r.weight;
        squares += r.weight * r.weight;
      }
      if (squares <= 0) continue;
      effective[w] = sum * sum / squares;
      middle[w] = Median(ratios[w]);
      for (const Weighed& r : ratios[w]) {
        if (ratios[w].size() > 2) apart.push_back({std::abs(r.value - middle[w]), r.weight});
      }
    }
    const double within = std::max(kLeastSpread, kMadToSigma * Median(std::move(apart)));
    double between = 0, known = 0;
    for (size_t w = 0; w < workers; ++w) {
      if (effective[w] <= 0) continue;
      between += middle[w] * middle[w] - within * within / effective[w];
      ++known;
    }
    between = known > 0 ? std::max(0.0, between / known) : 0;
    for (size_t w = 0; w < workers; ++w) {
      if (effective[w] <= 0 || between <= 0) continue;
      const double trust = between / (between + within * within / effective[w]) * std::min(1.0, effective[w] / kFew);
      speeds[w] = std::exp(middle[w] * trust);
      estimates[w] = {middle[w], within / std::sqrt(effective[w]), trust};
    }
  }
  return estimates;
}

Result<HistoryModel> ModelOf(const Document& document, std::optional<JobId> only) {
  HistoryModel model;
  const history::Job* wanted = nullptr;
  for (const history::Job& job : document.jobs) {
    if (only && job.id == *only) wanted = &job;
  }
  if (only && wanted == nullptr) return NotFound("the history has no " + Name(*only) + " that has ended");
  if (wanted != nullptr && wanted->state != sched::JobState::kSucceeded) {
    return Rejected(Name(*only) + " did not succeed: how long its tasks would have taken is not known");
  }
  size_t others = document.left_out;
  for (const history::Job& job : document.jobs) {
    if (wanted != nullptr && (job.submitted > wanted->ended || job.ended < wanted->submitted)) continue;
    if (job.state != sched::JobState::kSucceeded || job.tasks() == 0) {
      ++others;
      continue;
    }
    model.jobs.push_back(&job);
  }
  if (model.jobs.empty()) return Rejected("the history has no job that succeeded: nothing to simulate");
  if (others > 0) {
    model.notes.push_back(
        CountOf(others, "job did not succeed or is not in the history: the slots that it took are not modelled",
                "jobs did not succeed or are not in the history: the slots that they took are not modelled"));
  }
  std::stable_sort(model.jobs.begin(), model.jobs.end(),
                   [](const auto* a, const auto* b) { return a->submitted < b->submitted; });
  Instant begin = model.jobs[0]->submitted, end;
  for (const history::Job* job : model.jobs) end = std::max(end, job->ended);

  // Workers by id: incarnations that overlap with these jobs, and workers known only from attempts.
  std::map<WorkerId, uint32_t> index;
  Experiment& e = model.as_it_was;
  std::map<std::string, uint32_t> racks;
  const auto worker = [&](const history::Worker& w) {
    if (!index.emplace(w.id, static_cast<uint32_t>(model.workers.size())).second) return false;
    const auto rack = racks.emplace(w.rack, static_cast<uint32_t>(racks.size()));
    if (rack.second) e.cluster.racks.push_back({w.rack, 0, 0});
    WorkerSpec spec;
    spec.rack = rack.first->second;
    spec.slots = w.slots;
    spec.from = w.from > begin ? Between(begin, w.from) : 0;
    model.workers.push_back(w.id);
    e.cluster.workers.push_back(spec);
    return true;
  };
  // A simulation offers slots to its first worker first. On an idle cluster this decides where attempts run.
  std::vector<const history::Worker*> by_offer;
  for (const history::Worker& w : document.workers) by_offer.push_back(&w);
  const WorkerId first = FirstOffered(model.jobs);
  std::stable_sort(by_offer.begin(), by_offer.end(), [first](const auto* a, const auto* b) {
    return std::pair(a->id < first, a->id) < std::pair(b->id < first, b->id);
  });
  for (const history::Worker* one : by_offer) {
    const history::Worker& w = *one;
    if ((w.until.ns > 0 && w.until < begin) || w.from > end) continue;
    if (!worker(w)) {
      // A further incarnation: it came back.
      for (Fault& f : e.faults.faults) {
        if (f.worker == index.at(w.id) && f.lasts == 0) f.lasts = std::max(1e-3, Between(begin, w.from) - f.at);
      }
    }
    if (w.until.ns > 0 && w.until < end) {
      e.faults.faults.push_back({FaultKind::kCrash, Between(begin, w.until), index.at(w.id), 0, 1});
    }
  }
  e.faults.lease = Duration{};  // the recorded time is when the master noticed
  if (!e.faults.faults.empty()) {
    model.notes.push_back(CountOf(e.faults.faults.size(), "loss of a worker is part of the history",
                                  "losses of workers are part of the history"));
  }
  size_t unlisted = 0;
  for (const history::Job* job : model.jobs) {
    for (const auto& stage : job->stages) {
      for (const auto& task : stage.tasks) {
        for (const Attempt& a : task.attempts) {
          history::Worker w = document.workers.empty() ? history::Worker{} : document.workers[0];
          if (w.slots.total == 0) w.slots.total = 1;
          w.id = a.worker;
          w.from = w.until = {};
          unlisted += a.worker.valid() && index.count(a.worker) == 0 && worker(w);
        }
      }
    }
  }
  if (unlisted > 0) {
    model.notes.push_back(
        CountOf(unlisted, "worker is known from its attempts only: its slots are taken to be those of the first",
                "workers are known from their attempts only: their slots are taken to be those of the first"));
  }
  if (model.workers.empty()) return Rejected("the history names no worker");

  const Reader reader(index);
  std::vector<std::vector<StageTimes>> times;
  std::vector<SpeedSample> samples;
  std::vector<double> delays, seconds;
  uint32_t stages = 0;
  for (const history::Job* job : model.jobs) {
    times.emplace_back();
    for (const auto& stage : job->stages) {
      times.back().push_back(TimesOf(reader, *job, stage));
      for (const auto& one : times.back().back().attempts) {
        samples.push_back({stages, one.worker, one.time.seconds, one.time.whole});
        seconds.push_back(one.time.seconds);
      }
      ++stages;
      for (const auto& task : stage.tasks) {
        for (const Attempt& a : task.attempts) {
          if (a.started.ns > 0) delays.push_back(Between(a.launched, a.started));
        }
      }
    }
  }
  model.speeds = EstimateSpeeds(samples, model.workers.size());
  std::vector<double> speeds;
  for (const SpeedEstimate& estimate : model.speeds) speeds.push_back(estimate.speed());
  for (size_t w = 0; w < speeds.size(); ++w) e.cluster.workers[w].speed = speeds[w];
  uint32_t unknown = 0;
  for (size_t j = 0; j < model.jobs.size(); ++j) {
    const history::Job& job = *model.jobs[j];
    model.ran_on.emplace_back();
    JobModel out{Between(begin, job.submitted), job.name, {}, job.queue, job.priority, job.policies};
    out.deadline = job.deadline.seconds();
    // Steering needs the predictions that earlier runs give.
    e.learn = e.learn || out.deadline > 0;
    for (size_t s = 0; s < job.stages.size(); ++s) {
      model.ran_on.back().emplace_back();
      out.stages.push_back(StageOf(job.stages[s], times[j][s], speeds, reader, &model.ran_on.back().back(), &unknown));
    }
    e.jobs.push_back(std::move(out));
  }
  model.without_record = unknown;
  e.tasks = Exact();
  e.tasks.launch_delay = FromSeconds(Median(delays));
  e.tasks.report_period = FromSeconds(std::clamp(Median(seconds) * kReportStep, kLeastPeriod, kMostPeriod));
  e.queues = document.queues;
  e.policies = document.lists.empty() ? document.policies : document.lists[0].policies;
  if (!document.lists.empty() && document.lists[0].from > begin && document.lists.size() == sched::kListsKept) {
    model.notes.push_back("which list was in force at first is not known any more; the first that is known is taken");
  }
  for (const sched::ListInForce& list : document.lists) {
    if (list.from <= begin) {
      e.policies = list.policies;
    } else if (list.from <= end &&
               list.policies != (e.list_changes.empty() ? e.policies : e.list_changes.back().policies)) {
      e.list_changes.push_back({Between(begin, list.from), list.policies});
    }
  }
  e.seed = document.seed;
  return model;
}

std::string WithoutRecordNote(uint32_t tasks) {
  return CountOf(tasks, "task has no recorded time: it is simulated with the median of its stage",
                 "tasks have no recorded time: each is simulated with the median of its stage");
}

Experiment Changed(const Experiment& was, const Change& change) {
  Experiment e = was;
  if (!change.scheduler.empty()) {
    e.policies = change.scheduler;
    e.list_changes.clear();
    for (JobModel& job : e.jobs) job.policies.clear();
  }
  auto& workers = e.cluster.workers;
  if (change.workers > 0 && change.workers != workers.size()) {
    std::vector<WorkerSpec> recorded = workers;
    std::stable_sort(recorded.begin(), recorded.end(), [](const auto& a, const auto& b) { return a.speed > b.speed; });
    workers.clear();
    for (uint64_t i = 0; i < change.workers; ++i) {
      workers.push_back(recorded[(2 * i + 1) * recorded.size() / (2 * uint64_t{change.workers})]);
      workers.back().from = 0;
    }
    e.faults.faults.clear();
    for (JobModel& job : e.jobs) {
      for (StageModel& stage : job.stages) {
        const auto has_places = [](const std::vector<uint32_t>& workers) { return !workers.empty(); };
        if (std::any_of(stage.preferred.begin(), stage.preferred.end(), has_places)) stage.preferred.clear();
      }
    }
  }
  if (change.slots > 0) {
    for (WorkerSpec& w : workers) w.slots = {change.slots, 0, 0};
  }
  return e;
}

}  // namespace mr::sim
