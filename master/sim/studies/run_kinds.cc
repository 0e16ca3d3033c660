#include "master/sim/studies/run_kinds.h"

#include <algorithm>

#include "common/base/text.h"
#include "master/sched/policies/mantri/rack_shares.h"
#include "master/sched/scheduler.h"
#include "master/sim/studies/measures.h"

namespace mr::sim {

namespace {

// Returns the share of factors above twice the median: Dolly's p (NSDI'13, 3.1).
double StragglerShare(const std::vector<float>& factors) {
  constexpr float kStraggles = 2;
  double n = 0;
  for (const float f : factors) n += f > kStraggles;
  return n / static_cast<double>(factors.size());
}

// Returns the straggler factors that attempts draw from: the model's own list, or a sample of its distribution of luck.
std::vector<float> FactorsOf(const TaskModel& model) {
  if (!model.factors.empty()) return model.factors;
  constexpr int kSample = 20'000;  // 1,000 of a tail of 5 %
  std::vector<float> factors;
  factors.reserve(kSample);
  for (int i = 0; i < kSample; ++i) {
    factors.push_back(static_cast<float>(Draw(model.luck, Rng::Stream(static_cast<uint64_t>(i), "factors"))));
  }
  return factors;
}

struct SimulationSetup {
  ClusterSetup cluster;
  Part tasks, jobs;
  std::string list;
  uint32_t job = 0;  // only this row of the jobs, from 1; 0: all
  bool ideal = false, stragglers = true, strands = false;
};

Result<Measures> RunSimulation(const SimulationSetup& setup, const RunContext& c) {
  MR_ASSIGN_OR_RETURN(Experiment e, MakeExperiment(setup.cluster, setup.tasks, setup.jobs, setup.job, setup.list, c));
  if (setup.ideal) {
    for (JobModel& job : e.jobs) job = Ideal(std::move(job));
  }
  if (!setup.stragglers) {
    e.tasks.factors = FactorsOf(e.tasks);
    for (float& f : e.tasks.factors) f = std::min(f, 1.0f);
  }
  if (setup.strands) {
    e.strands.emplace();
    e.strands->p = StragglerShare(FactorsOf(e.tasks));
  }
  return RunMeasured(std::move(e));
}

ClusterSetup FindCluster(Fields* f, const StudyParts& parts) {
  std::string name;
  f->Text("cluster", &name);
  Result<ClusterSetup> setup = ClusterNamed(name, parts);
  if (setup.ok()) return std::move(*setup);
  f->Wrong("cluster", setup.status().message());
  return {};
}

MeasuredRun ParseSimulation(Fields* f, const StudyParts& parts) {
  SimulationSetup setup;
  setup.cluster = FindCluster(f, parts);
  if (const Part* tasks = FindPart(f, "tasks", parts.tasks)) setup.tasks = *tasks;
  if (const Part* jobs = FindPart(f, "jobs", parts.jobs)) setup.jobs = *jobs;
  setup.list = ParseList(f, parts);
  f->Whole("job", &setup.job, 1, 1'000'000);
  f->Flag("ideal", &setup.ideal);
  f->Flag("stragglers", &setup.stragglers);
  f->Flag("strands", &setup.strands);
  return [setup = std::move(setup)](const RunContext& c) { return RunSimulation(setup, c); };
}

// The best shares of a shuffle's readers for racks that hold these loads (Mantri, OSDI'10, 5.3), and equal shares.
MeasuredRun ParseRackShares(Fields* f, const StudyParts&) {
  std::vector<double> loads;
  f->Numbers("loads", &loads, 0, 1e15);
  if (loads.empty()) f->Wrong("has no 'loads'");
  return [loads](const RunContext&) -> Result<Measures> {
    std::vector<sched::RackLoad> racks;
    racks.reserve(loads.size());
    for (const double load : loads) racks.push_back({load});
    const std::vector<double> best = sched::BestShares(racks);
    const std::vector<double> equal(loads.size(), 1 / static_cast<double>(loads.size()));
    return Measures{{"best_cost", {sched::ShuffleCost(racks, best)}},
                    {"best_shares", best},
                    {"equal_cost", {sched::ShuffleCost(racks, equal)}}};
  };
}

}  // namespace

// The order fixes the random draws: jobs as they are listed, then their blocks.
Result<Experiment> MakeExperiment(const ClusterSetup& cluster, const Part& tasks, const Part& jobs, uint32_t job,
                                  const std::string& list, const RunContext& c) {
  Experiment e;
  e.policies = list;
  e.seed = c.seed;
  MR_RETURN_IF_ERROR(tasks(c, &e));
  MR_RETURN_IF_ERROR(cluster.machines(c, &e));
  MR_RETURN_IF_ERROR(jobs(c, &e));
  if (job > e.jobs.size()) return InvalidArgument("there is no job " + std::to_string(job));
  if (job > 0) e.jobs = {JobModel(e.jobs[job - 1])};
  if (cluster.blocks) MR_RETURN_IF_ERROR(cluster.blocks(c, &e));
  std::stable_sort(e.jobs.begin(), e.jobs.end(), [](const auto& a, const auto& b) { return a.submit < b.submit; });
  return e;
}

Result<ClusterSetup> ClusterNamed(const std::string& name, const StudyParts& parts) {
  const auto it = parts.clusters.find(name);
  if (it != parts.clusters.end()) return it->second;
  const Result<ClusterSpec> spec = ParseCluster(name);
  if (!spec.ok()) {
    return InvalidArgument("is '" + name + "': there is no [cluster." + name + "], and it is not as 150x12");
  }
  const auto machines = [spec = *spec](const RunContext&, Experiment* e) {
    e->cluster = spec;
    return Status::Ok();
  };
  return ClusterSetup{machines, nullptr};
}

const Part* FindPart(Fields* f, std::string_view key, const std::map<std::string, Part>& parts) {
  std::string name;
  f->Text(key, &name);
  const auto it = parts.find(name);
  if (it != parts.end()) return &it->second;
  std::vector<std::string_view> names;
  names.reserve(parts.size());
  for (const auto& [known, part] : parts) names.push_back(known);
  const std::string section(key);
  f->Wrong(key, name.empty()
                    ? "is missing"
                    : "is '" + name + "': there is no [" + section + "." + name + "]" + DidYouMean(name, names));
  return nullptr;
}

std::string ParseList(Fields* f, const StudyParts& parts) {
  std::string name;
  f->Text("name", &name);
  f->Text("list", &name);
  const auto it = parts.lists.find(name);
  if (it != parts.lists.end()) return it->second;
  const Status right = sched::Scheduler::CheckPolicies(name);
  if (!right.ok()) f->Wrong("list", "is '" + name + "', which is not in [lists]: " + right.message());
  return name;
}

Program ParseProgram(Fields* f) {
  constexpr double kMostRatio = 1e6;
  Program p;
  f->Number("shuffle", &p.shuffle, 0, kMostRatio);
  f->Number("output", &p.output, 0, kMostRatio);
  f->Number("output_of_shuffle", &p.output, 0, kMostRatio);
  f->Number("map_cost", &p.map_cost, 1e-15, 1);
  f->Number("reduce_cost", &p.reduce_cost, 1e-15, 1);
  p.of_shuffle = f->Has("output_of_shuffle");
  f->Exclude("output", "output_of_shuffle");
  f->Done();
  return p;
}

const std::vector<RunKind>& RunKinds() {
  static const std::vector<RunKind> kinds = {
      {"simulation", MeasureNames(), {"cluster", "tasks", "jobs"}, &ParseSimulation},
      {"alone", {"seconds", "slot_seconds"}, {"jobs", "slots_per_task", "most_slots", "phases"}, &ParseAlone},
      {"best_possible", {"seconds"}, {"jobs", "phases"}, &ParseBestPossible},
      {"rack_shares", {"best_cost", "best_shares", "equal_cost"}, {}, &ParseRackShares},
      {"prediction", {"errors", "amdahl_errors"}, {}, &ParsePrediction},
      {"indicators", {"constant", "jump"}, {}, &ParseIndicators},
      {"deadlines",
       {"missed", "worst", "median", "above", "variation"},
       {"count", "deadlines", "queries"},
       &ParseDeadlines},
      {"deadline_changes", {"missed", "unchanged", "changed"}, {}, &ParseDeadlineChanges}};
  return kinds;
}

}  // namespace mr::sim
