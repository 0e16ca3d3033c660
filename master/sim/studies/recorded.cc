// Recorded jobs, each alone on a cluster of its own: completion, and its cost in slots. A recorded time of a reduce
// already includes its wait for the maps, so the phases of a job run one after the other.
#include <algorithm>
#include <cmath>

#include "common/base/rng.h"
#include "master/sim/studies/run_kinds.h"

namespace mr::sim {

namespace {

// Delta, the time between two reports: min(10 s, life / 10), and at least life / 100, else five seeds of a figure take
// hours.
constexpr double kLongestReport = 10, kReportsPerLife = 10, kMostReports = 100, kOffersPerLife = 100;
double ReportSeconds(double life) {
  return std::max(life / kMostReports, std::min(kLongestReport, life / kReportsPerLife));
}

// Attempts of a task at the most.
constexpr double kMostAttempts = 3;

struct RanAlone {
  double seconds = 0, slot_seconds = 0;
};

// Slots of a job that is alone: `each` per task of its largest stage, at most `most`, at least one per task.
struct Room {
  double each = 1, most = 0;
  size_t Slots(double tasks) const {
    return static_cast<size_t>(std::ceil(each < 1 ? each * tasks : std::max(tasks, std::min(each * tasks, most))));
  }
};
Result<RanAlone> RunAlone(JobModel job, const std::string& list, const Room& room, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec worker;
  worker.slots.total = 1;
  double most = 1, life = 1e18;
  for (const StageModel& s : job.stages) {
    most = std::max(most, static_cast<double>(s.tasks));
    if (!s.durations.empty()) life = std::min(life, std::max(.1, MedianOf(s.durations)));
  }
  e.cluster.workers.assign(room.Slots(most), worker);
  job.submit = 0;
  e.jobs = {std::move(job)};
  e.tasks = Exact();
  e.tasks.report_period = FromSeconds(ReportSeconds(life));
  e.offer_period = FromSeconds(life / kOffersPerLife);
  e.policies = list;
  e.seed = seed;
  Simulation run(std::move(e));
  const std::string wrong = run.Run(nullptr);
  if (!wrong.empty()) return Internal("the simulation stopped " + wrong);
  return RanAlone{run.jobs()[0].ended, run.totals().busy};
}

// Makes one phase a job of its own.
JobModel PhaseAlone(const StageModel& stage) {
  JobModel job;
  job.name = stage.name;
  job.stages = {stage};
  job.stages[0].inputs = {sched::StageInput{}};
  job.stages[0].kind = sched::SlotKind::kMap;
  job.stages[0].shares.clear();
  job.stages[0].task_bytes.clear();
  job.stages[0].bytes = 0;
  return job;
}

// Runs a job's phases one after the other: a recorded reduce's time already includes its wait for the maps.
Result<RanAlone> RunPhases(const JobModel& job, const std::string& list, const Room& room, uint64_t seed) {
  RanAlone sum;
  for (size_t s = 0; s < job.stages.size(); ++s) {
    MR_ASSIGN_OR_RETURN(const RanAlone ran, RunAlone(PhaseAlone(job.stages[s]), list, room, seed * 100 + s));
    sum.seconds += ran.seconds;
    sum.slot_seconds += ran.slot_seconds;
  }
  return sum;
}

// Returns a bound that no policy can beat, with room for all attempts. An attempt's end is known from its first report
// on. Then three attempts of the task run, and all but the best are drawn anew at each report.
double BestSeconds(const JobModel& job, uint64_t seed) {
  double sum = 0;
  Rng rng = Rng::Stream(seed, "best");
  for (const StageModel& s : job.stages) {
    const double report = std::max(1e-3, ReportSeconds(MedianOf(s.durations)));
    double stage = 0;
    for (double end : s.durations) {
      double at = report;
      while (at < end) {
        for (int attempts = 1; attempts < kMostAttempts; ++attempts) {
          end = std::min(end, at + s.durations[rng.Below(s.durations.size())]);
        }
        at += report;
      }
      stage = std::max(stage, end);
    }
    sum += stage;
  }
  return sum;
}

// Returns the jobs, or with `phases` each phase of several tasks with recorded times as a job.
Result<std::vector<JobModel>> JobsOf(const Part& jobs, bool phases, const RunContext& c) {
  Experiment e;
  e.seed = c.seed;
  MR_RETURN_IF_ERROR(jobs(c, &e));
  if (!phases) return std::move(e.jobs);
  std::vector<JobModel> out;
  for (const JobModel& job : e.jobs) {
    for (const StageModel& s : job.stages) {
      if (s.tasks > 1 && !s.durations.empty()) out.push_back(PhaseAlone(s));
    }
  }
  return out;
}

// The seed of job number `job` of a run.
uint64_t LuckOf(const RunContext& c, size_t job) { return c.seed * 1000 + job; }

}  // namespace

double MedianOf(std::vector<double> v) {
  if (v.empty()) return 0;
  std::sort(v.begin(), v.end());
  return (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double MedianOf(const std::vector<float>& v) { return MedianOf(std::vector<double>(v.begin(), v.end())); }

JobModel Ideal(JobModel job) {
  for (StageModel& s : job.stages) {
    const float median = static_cast<float>(MedianOf(s.durations));
    for (float& d : s.durations) d = std::min(d, median);
  }
  return job;
}

MeasuredRun ParseAlone(Fields* f, const StudyParts& parts) {
  const Part* jobs = FindPart(f, "jobs", parts.jobs);
  const std::string list = ParseList(f, parts);
  Room room;
  bool phases = false, ideal = false;
  f->Number("slots_per_task", &room.each, 1e-3, kMostAttempts);
  f->Number("most_slots", &room.most, 1, 1e6);
  f->Flag("phases", &phases);
  f->Flag("ideal", &ideal);
  return [jobs = jobs == nullptr ? Part() : *jobs, list, room, phases, ideal](const RunContext& c) -> Result<Measures> {
    MR_ASSIGN_OR_RETURN(const std::vector<JobModel> all, JobsOf(jobs, phases, c));
    Measures m;
    for (size_t j = 0; j < all.size(); ++j) {
      MR_ASSIGN_OR_RETURN(const RanAlone ran, RunPhases(ideal ? Ideal(all[j]) : all[j], list, room, LuckOf(c, j)));
      m["seconds"].push_back(ran.seconds);
      m["slot_seconds"].push_back(ran.slot_seconds);
    }
    return m;
  };
}

MeasuredRun ParseBestPossible(Fields* f, const StudyParts& parts) {
  const Part* jobs = FindPart(f, "jobs", parts.jobs);
  bool phases = false;
  f->Flag("phases", &phases);
  return [jobs = jobs == nullptr ? Part() : *jobs, phases](const RunContext& c) -> Result<Measures> {
    MR_ASSIGN_OR_RETURN(const std::vector<JobModel> all, JobsOf(jobs, phases, c));
    Measures m;
    for (size_t j = 0; j < all.size(); ++j) m["seconds"].push_back(BestSeconds(all[j], LuckOf(c, j)));
    return m;
  };
}

}  // namespace mr::sim
