#include "master/sim/swarm/shrink.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <deque>

#include "common/base/text.h"
#include "master/sim/swarm/describe.h"

namespace mr::sim {

namespace {

// Makes an experiment smaller in one way, at place i. Returns false if there is no such place.
using Cut = bool (*)(Experiment*, size_t i);

bool CutJob(Experiment* e, size_t i) {
  if (i >= e->jobs.size() || e->jobs.size() == 1) return false;
  e->jobs.erase(e->jobs.begin() + static_cast<std::ptrdiff_t>(i));
  std::erase_if(e->wishes, [&](const Experiment::Wish& w) { return w.job == i; });
  for (Experiment::Wish& w : e->wishes) w.job -= w.job > i;
  return true;
}

bool CutWish(Experiment* e, size_t i) {
  if (i >= e->wishes.size()) return false;
  e->wishes.erase(e->wishes.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

// Removes the prediction of a job, then its deadline.
bool CutDeadline(Experiment* e, size_t i) {
  if (i >= e->jobs.size()) return false;
  JobModel& job = e->jobs[i];
  if (job.prediction != nullptr) return job.prediction = nullptr, true;
  job.deadline = 0;
  return true;
}

bool CutFault(Experiment* e, size_t i) {
  if (i >= e->faults.faults.size()) return false;
  e->faults.faults.erase(e->faults.faults.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

bool CutWorker(Experiment* e, size_t i) {
  if (i >= e->cluster.workers.size() || e->cluster.workers.size() == 1) return false;
  e->cluster.workers.erase(e->cluster.workers.begin() + static_cast<std::ptrdiff_t>(i));
  std::erase_if(e->faults.faults, [&](const Fault& f) { return f.worker == i; });
  for (Fault& f : e->faults.faults) f.worker -= f.worker > i;
  return true;
}

// Keeps few workers and moves the faults to them. Removing workers one by one often moves the work away from a fault.
bool KeepFewWorkers(Experiment* e, size_t i) {
  const size_t few[] = {1, 2, 3, e->cluster.workers.size() / 2};
  if (i >= std::size(few)) return false;
  if (few[i] == 0 || few[i] >= e->cluster.workers.size()) return true;
  e->cluster.workers.resize(few[i]);
  for (Fault& f : e->faults.faults) f.worker %= static_cast<uint32_t>(few[i]);
  return true;
}

// Removes the i-th stage of all jobs. Stages that read only it read splits then.
bool CutStage(Experiment* e, size_t i) {
  for (JobModel& job : e->jobs) {
    if (i >= job.stages.size()) {
      i -= job.stages.size();
      continue;
    }
    if (job.stages.size() == 1) {
      ++i;  // keep it, and go on to the next stage
      i -= job.stages.size();
      continue;
    }
    job.stages.erase(job.stages.begin() + static_cast<std::ptrdiff_t>(i));
    job.prediction = nullptr;  // it belongs to the larger job
    for (StageModel& stage : job.stages) {
      std::erase_if(stage.inputs, [&](const auto& in) { return in.is_edge && in.upstream == i; });
      for (sched::StageInput& in : stage.inputs) in.upstream -= in.is_edge && in.upstream > i;
      if (stage.inputs.empty()) stage.inputs.push_back({});
    }
    return true;
  }
  return false;
}

// Halves all stages of a job together, so that one-to-one edges stay valid.
bool HalveTasks(Experiment* e, size_t i) {
  if (i >= e->jobs.size()) return false;
  for (StageModel& stage : e->jobs[i].stages) {
    stage.tasks = std::max(1u, stage.tasks / 2);
    if (!stage.task_bytes.empty()) stage.task_bytes.resize(stage.tasks);
    if (!stage.preferred.empty()) stage.preferred.resize(stage.tasks);
  }
  return true;
}

// Removes the i-th part of the list; commas in parentheses do not separate.
bool CutPolicy(Experiment* e, size_t i) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (const char c : e->policies) {
    depth += (c == '(') - (c == ')');
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  if (i >= parts.size() || parts.size() == 1) return false;
  parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i));
  std::string less;
  for (const std::string& part : parts) less += (less.empty() ? "" : ",") + part;
  // Another policy may need the removed one.
  if (sched::Scheduler::CheckPolicies(less).ok()) e->policies = less;
  return true;
}

bool CutSmall(Experiment* e, size_t i) {
  if (i == 0) return e->faults.late = 0, true;
  if (i == 1) return e->faults.lost = 0, true;
  if (i == 2) return e->faults.twice = 0, true;
  if (i == 3) return e->tasks = Steady(e->tasks), true;
  if (i == 4) return e->queues.clear(), true;
  if (i == 5) return e->tasks.report_period = Duration{}, true;
  if (i == 6) return e->learn = false, true;
  if (i > 6 + e->jobs.size()) return false;
  JobModel& job = e->jobs[i - 7];
  job.queue.clear();
  job.priority = 0;
  job.policies.clear();
  return true;
}

constexpr Cut kCuts[] = {&CutJob,     &KeepFewWorkers, &CutWorker, &CutFault,    &CutStage,
                         &HalveTasks, &CutPolicy,      &CutWish,   &CutDeadline, &CutSmall};

}  // namespace

std::string ClassOf(const std::string& wrong) {
  std::string text = wrong;
  // Skips "at 17 ns, event 3: ".
  if (text.rfind("at ", 0) == 0) text = text.substr(std::min(text.find(": ") + 2, text.size()));
  std::string kind;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0) kind += c;
  }
  return kind;
}

Shrunk Shrink(Experiment experiment, const Checker& check, uint32_t most) {
  Shrunk best{std::move(experiment), "", 1};
  best.wrong = check(best.experiment);
  const std::string kind = ClassOf(best.wrong);
  bool smaller = true;
  while (smaller) {
    smaller = false;
    for (const Cut cut : kCuts) {
      for (size_t i = 0; best.runs < most;) {
        Experiment less = best.experiment;
        if (!cut(&less, i)) break;
        if (Describe(less) == Describe(best.experiment)) {  // nothing to cut there
          ++i;
          continue;
        }
        ++best.runs;
        std::string wrong = check(less);
        if (ClassOf(wrong) != kind) {
          ++i;
          continue;
        }
        best.experiment = std::move(less);
        best.wrong = std::move(wrong);
        smaller = true;
      }
    }
  }
  return best;
}

std::string Describe(const Experiment& e) {
  std::string out = "policies " + e.policies + ", seed " + std::to_string(e.seed) + "\n";
  const auto print = [&out](const char* format, auto... values) {
    char line[256];
    std::snprintf(line, sizeof line, format, values...);
    out += line;
  };
  for (const sched::QueueSet& q : e.queues) {
    print("queue %s: weight %g, min share %u, max share %u\n", q.queue.c_str(), q.weight, q.min_share, q.max_share);
  }
  for (size_t w = 0; w < e.cluster.workers.size(); ++w) {
    const WorkerSpec& spec = e.cluster.workers[w];
    print("worker w%zu: rack %u, %u slots (%u map, %u reduce), speed %.2f\n", w + 1, spec.rack, spec.slots.total,
          spec.slots.map, spec.slots.reduce, spec.speed);
  }
  for (const JobModel& job : e.jobs) {
    print("job %s at %.3f s, priority %d%s%s\n", job.name.c_str(), job.submit, job.priority,
          job.queue.empty() ? "" : ", queue ", job.queue.c_str());
    if (job.deadline > 0) {
      print("  deadline %.3f s%s\n", job.deadline, job.prediction == nullptr ? "" : ", its time is predicted");
    }
    for (const std::string& policy : job.policies) print("  policy %s\n", policy.c_str());
    for (size_t s = 0; s < job.stages.size(); ++s) {
      const StageModel& stage = job.stages[s];
      print("  stage %zu: %u %s tasks of %s%s, reads", s, stage.tasks,
            stage.kind == sched::SlotKind::kMap ? "map" : "reduce", HumanBytes(stage.bytes / stage.tasks).c_str(),
            stage.durations.empty() ? "" : " (recorded times)");
      constexpr const char* kEdges[] = {"", "all-to-all", "many-to-one", "one-to-one", "broadcast"};
      for (const sched::StageInput& in : stage.inputs) {
        if (in.is_edge) print(" stage %u %s", in.upstream, kEdges[static_cast<size_t>(in.edge)]);
        if (!in.is_edge) print(" %s", "splits");
      }
      out += "\n";
    }
  }
  for (const Experiment::Wish& w : e.wishes) {
    print("wish at %.3f s: job %s has priority %d, deadline %.3f s\n", w.at, e.jobs[w.job].name.c_str(), w.priority,
          w.deadline);
  }
  if (e.learn) out += "jobs teach later ones of their name\n";
  constexpr const char* kFaults[] = {"crash", "an output is lost", "contention"};
  for (const Fault& f : e.faults.faults) {
    const auto kind = static_cast<size_t>(f.kind);
    print("fault at %.3f s on w%u: %s, %.3f s, factor %.2f\n", f.at, f.worker + 1,
          kind < std::size(kFaults) ? kFaults[kind] : "other", f.lasts, f.factor);
  }
  print("messages late %.3f, lost %.3f, twice %.3f\ntasks:", e.faults.late, e.faults.lost, e.faults.twice);
  const auto numbers = NumbersOf(e.tasks), defaults = NumbersOf({});
  for (size_t n = 0; n < numbers.size(); ++n) {
    if (numbers[n] != defaults[n]) print(" %s %.4g", std::string(numbers[n].first).c_str(), numbers[n].second);
  }
  out += "\n";
  return out;
}

std::string LastEvents(Experiment experiment, size_t most) {
  std::deque<std::string> lines;
  experiment.watch = [&](const sched::StampedEvent& e, const std::vector<sched::Decision>& decisions) {
    char at[32];
    std::snprintf(at, sizeof at, "%12.6f s ", e.at.ns * 1e-9);
    std::string line = at + Describe(e.event);
    for (const sched::Decision& d : decisions) line += "\n                 -> " + Describe(d);
    lines.push_back(line + "\n");
    if (lines.size() > most) lines.pop_front();
  };
  Simulation run(std::move(experiment));
  (void)run.Run(nullptr);
  std::string out;
  for (const std::string& line : lines) out += line;
  return out;
}

}  // namespace mr::sim
