#include "master/sim/grid/world.h"

#include <algorithm>
#include <cmath>

#include "master/sim/grid/expected.h"
#include "master/sim/traces/gaps.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

namespace {

// The largest job of the generators. One job must not be all of a run, so larger recorded ones are left out.
constexpr uint32_t kMostTasks = 5000;
// A map of the grid reads at the rate of the default model, 10 MB/s, up to a block of 128 MiB, Hadoop's; a longer one
// computes more per byte.
constexpr double kBlock = 128.0 * (1 << 20);
// Measured in FB-2009_0 (traces/generate.cc).
constexpr double kBursts = 3.7;
// Deadlines: one job in 20 is one of the generator's smaller recurring jobs. A prediction takes half a second of CPU,
// so more, or larger ones, would take most of a run. They get five times the least time of their longest path, the
// generator's factor.
constexpr uint32_t kDeadlineEvery = 20, kDeadlineTasks = 140;
constexpr double kDeadline = 5;
// The generator makes one recurring job in five, and half of them are small: with room for chance.
constexpr size_t kDrawnPerDeadline = 20, kDrawnMore = 100;
// Slow machines: two to four times as slow (LATE's contended machines, OSDI'08, 5.1), for 20 tasks and at least a
// minute: a guess. Mantri (OSDI'10) has contention for minutes to hours.
constexpr double kSlowCap = 4, kSlowTasks = 20, kSlowLeast = 60;
// A start-up that was recorded beside long tasks would hide short ones: at most a tenth of a task, a guess.
constexpr double kStartupShare = .1;
// Noise of reports: guesses, since no record has progress.
constexpr double kNoise = .2, kReportsLost = .02, kReportsLate = .05;
// The engine moves no flow by less than a byte per second, so a long task with few bytes would end early.
constexpr double kTimedBytes = 1e9;
// Below this share of a host's disk, the bytes that it serves to readers do not slow it. They are left out then, since
// the model charges each disk every second.
constexpr double kServed = .01;
// Reports per task at the most: with a period of a second, those of ten minutes would take nine tenths of a run. The
// model reports twentieths of a task at once.
constexpr double kReports = 40;
// Jobs from which the median of a generator's recorded times is taken, and their seed.
constexpr char kSample[] = ",jobs=1000";
constexpr uint64_t kSampleSeed = 1;

double MedianSeconds(const std::vector<JobModel>& jobs) {
  std::vector<float> all;
  for (const JobModel& job : jobs) {
    for (const StageModel& stage : job.stages) all.insert(all.end(), stage.durations.begin(), stage.durations.end());
  }
  if (all.empty()) return 0;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

double BlockOf(const TaskModel& usual, const GridCell& cell) {
  return std::min(kBlock, cell.task_seconds / usual.map_cost);
}

// Makes a job of as many tasks, of maps and reduces in the cell's proportion. A reduce takes in as much as a map.
JobModel Reshaped(const JobModel& job, const GridCell& cell, double block) {
  const uint32_t tasks = job.tasks();
  auto reduces = static_cast<uint32_t>(std::lround(tasks * cell.reduces / (1 + cell.reduces)));
  if (cell.reduces > 0 && tasks > 1) reduces = std::clamp(reduces, 1u, tasks - 1);
  if (tasks == 1) reduces = 0;
  const uint32_t maps = tasks - reduces;
  const auto bytes = [block](uint32_t n) { return static_cast<uint64_t>(n * block); };
  return MapReduce(0, job.name, maps, bytes(maps), reduces, bytes(reduces), bytes(reduces > 0 ? reduces : maps));
}

// Scales recorded times and, for tasks without them, bytes.
JobModel Scaled(JobModel job, double seconds, double bytes) {
  for (StageModel& stage : job.stages) {
    for (float& duration : stage.durations) duration = static_cast<float>(duration * seconds);
    stage.bytes = static_cast<uint64_t>(static_cast<double>(stage.bytes) * bytes);
    if (!stage.durations.empty() && stage.bytes > 0) {
      stage.bytes = std::max(stage.bytes, static_cast<uint64_t>(stage.tasks * kTimedBytes));
    }
    stage.output_bytes = static_cast<uint64_t>(static_cast<double>(stage.output_bytes) * bytes);
  }
  return job;
}

Result<std::vector<JobModel>> JobsOf(const Grid& grid, const GridCell& cell, const SourceJobs& from, uint64_t seed) {
  const GridSource& source = grid.sources.find(cell.workload)->second;
  std::vector<JobModel> jobs;
  if (source.generated()) {
    MR_ASSIGN_OR_RETURN(jobs, Generate(source.workload + ",jobs=" + std::to_string(cell.jobs), seed));
  } else {
    Rng rng = Rng::Stream(seed, "jobs of a trace");
    for (uint32_t j = 0; j < cell.jobs; ++j) jobs.push_back(from.recorded[rng.Below(from.recorded.size())]);
  }
  const double block = BlockOf(grid.tasks, cell);
  for (JobModel& job : jobs) {
    job.queue.clear();
    job.deadline = 0;
    job = source.recorded ? Scaled(std::move(job), cell.task_seconds / from.median, 1) : Reshaped(job, cell, block);
  }
  return jobs;
}

// Replaces one job in 20 by a recurring one with a deadline.
Status MixDeadlines(double block, uint64_t seed, std::vector<JobModel>* jobs) {
  const auto wanted = jobs->size() / kDeadlineEvery;
  const auto spec = "generate:recurring,jobs=" + std::to_string(wanted * kDrawnPerDeadline + kDrawnMore);
  MR_ASSIGN_OR_RETURN(std::vector<JobModel> all, Generate(spec, seed));
  std::erase_if(all, [](const JobModel& job) { return job.deadline == 0 || job.tasks() > kDeadlineTasks; });
  for (size_t n = 0; n < std::min<size_t>(wanted, all.size()); ++n) {
    JobModel job = Scaled(std::move(all[n]), 1, block / kBlock);
    job.queue.clear();  // the generator's deadline marks the job; SetDeadlines replaces it
    (*jobs)[n * kDeadlineEvery + kDeadlineEvery - 1] = std::move(job);
  }
  return Status::Ok();
}

void SetDeadlines(const TaskModel& tasks, const ClusterSpec& cluster, std::vector<JobModel>* jobs) {
  const WorkerSpec& worker = cluster.workers.front();
  const TaskModel plain = Steady(tasks);
  for (JobModel& job : *jobs) {
    if (job.deadline == 0) continue;
    double path = 0;  // the recurring jobs are chains
    for (const StageModel& stage : job.stages) path += ExpectedSeconds(stage, plain, {worker.disk, worker.down, 1});
    job.deadline = kDeadline * path;
  }
}

ClusterSpec ClusterOf(const GridCell& cell) {
  ClusterSpec cluster;
  cluster.racks.push_back({});
  WorkerSpec worker;
  worker.slots.total = cell.slots;
  if (cell.network > 0) worker.up = worker.down = cell.network;
  if (cell.disk > 0) worker.disk = cell.disk;
  cluster.workers.assign(cell.workers, worker);
  return cluster;
}

}  // namespace

Result<SourceJobs> LoadSource(const GridSource& source, const std::string& data) {
  SourceJobs found;
  if (source.generated()) {
    MR_ASSIGN_OR_RETURN(const std::vector<JobModel> sample, Generate(source.workload + kSample, kSampleSeed));
    found.median = MedianSeconds(sample);
  } else {
    MR_ASSIGN_OR_RETURN(Trace trace, LoadTrace({source.workload, data, source.format}));
    found.recorded = std::move(trace.jobs);
    std::erase_if(found.recorded, [](const JobModel& job) { return job.tasks() == 0 || job.tasks() > kMostTasks; });
    if (found.recorded.empty()) return InvalidArgument(source.workload + ": it has no job of at most 5000 tasks");
    found.median = MedianSeconds(found.recorded);
  }
  if (source.recorded && found.median <= 0) {
    return InvalidArgument(source.workload + ": its tasks have no recorded times; leave out 'recorded'");
  }
  return found;
}

TaskModel TasksOf(const Grid& grid, const GridCell& cell) {
  const auto model = grid.stragglers.find(cell.stragglers);
  TaskModel tasks = model == grid.stragglers.end() ? grid.tasks : model->second.tasks;
  const double times = cell.task_seconds / (BlockOf(grid.tasks, cell) * grid.tasks.map_cost);
  tasks.map_cost *= times;
  tasks.sort_cost *= times;
  tasks.reduce_cost *= times;
  tasks.startup = std::min(tasks.startup, kStartupShare * cell.task_seconds);
  const double disk = cell.disk > 0 ? cell.disk : WorkerSpec().disk;
  if (BlockOf(grid.tasks, cell) / cell.task_seconds * cell.slots < kServed * disk) tasks.serve_disk = 0;
  tasks.report_period = std::max(tasks.report_period, FromSeconds(cell.task_seconds / kReports));
  if (cell.slow > 0) {
    // Beside the spread of a calibrated model, whose own tail goes.
    tasks.machine.tail = cell.slow;
    tasks.machine.tail_cap = kSlowCap;
    tasks.machine_lasts = std::max(kSlowLeast, kSlowTasks * cell.task_seconds);
  }
  if (cell.noise) {
    tasks.report_noise = kNoise;
    tasks.report_lost = kReportsLost;
    tasks.report_late = kReportsLate;
  }
  return tasks;
}

Result<Experiment> MakeWorld(const Grid& grid, const GridCell& cell, const SourceJobs& source, uint64_t seed) {
  Experiment e;
  e.seed = seed;
  e.learn = true;
  e.cluster = ClusterOf(cell);
  e.tasks = TasksOf(grid, cell);
  MR_ASSIGN_OR_RETURN(e.jobs, JobsOf(grid, cell, source, seed));
  if (cell.deadlines) {
    MR_RETURN_IF_ERROR(MixDeadlines(BlockOf(grid.tasks, cell), seed, &e.jobs));
    SetDeadlines(e.tasks, e.cluster, &e.jobs);
  }
  const WorkerSpec& worker = e.cluster.workers.front();
  const Surroundings around{worker.disk, worker.down, 1 + cell.load * (cell.slots - 1)};
  double work = 0, at = 0;
  for (const JobModel& job : e.jobs) work += ExpectedSlotSeconds(job, e.tasks, around);
  const double span = work * cell.slot_time / (cell.load * e.cluster.slots());
  Rng rng = Rng::Stream(seed, "arrivals");
  for (size_t j = 0; j < e.jobs.size(); ++j) {
    if (j > 0) at += RandomGap(rng, 1, cell.bursts ? kBursts : 1);
    e.jobs[j].submit = at;
  }
  for (JobModel& job : e.jobs) job.submit *= at > 0 ? span / at : 0;
  return e;
}

}  // namespace mr::sim
