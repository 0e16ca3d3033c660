#include "master/sim/studies/coupling_setups.h"

#include <algorithm>

namespace mr::sim {

namespace {

constexpr uint64_t kBlock = uint64_t{64} << 20;  // Hadoop's block at that time
constexpr double kMapSeconds = 48.5;             // the paper's 1 / mu

// Bytes out of a map per byte in, and out of a reduce per byte of shuffle. Guesses from what the programs do.
struct Ratios {
  double shuffle, output;
};
Ratios RatiosOf(CouplingKind kind) {
  switch (kind) {
    case CouplingKind::kGrep: return {.2, .2};
    case CouplingKind::kWordCount: return {.3, .2};
    case CouplingKind::kSort: return {1, 1};
    case CouplingKind::kQuasiMonteCarlo: return {.0001, 1};
    case CouplingKind::kRandomWriter: return {0, 0};
  }
  return {0, 0};
}

constexpr Duration kHeartbeat = Seconds(3);

}  // namespace

JobModel CouplingJob(double at, const std::string& name, CouplingKind kind, uint32_t maps, uint32_t reduces) {
  const Ratios r = RatiosOf(kind);
  const double input = static_cast<double>(maps * kBlock);
  const auto shuffle = static_cast<uint64_t>(input * r.shuffle);
  JobModel job = MapReduce(at, name, maps, maps * kBlock, reduces, shuffle,
                           static_cast<uint64_t>(static_cast<double>(shuffle) * r.output));
  return job;
}

Experiment CouplingRun(uint32_t nodes, uint32_t holders, std::vector<JobModel> jobs, const std::string& policies,
                       uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  WorkerSpec worker;
  worker.slots = {6, 4, 2};
  worker.cores = 4;
  worker.disk = 61.8e6;  // one of LATE's disks (OSDI'08, 5.1)
  e.cluster.workers.assign(nodes, worker);
  e.policies = policies;
  e.seed = seed;
  e.offer_period = e.tasks.report_period = kHeartbeat;
  e.tasks.report_share = 0;
  e.tasks.tail = 0;
  e.tasks.launch_delay = Seconds(3);
  e.tasks.map_cost = kMapSeconds / static_cast<double>(kBlock);
  e.tasks.map_disk = e.tasks.copy_disk = e.tasks.output_disk = 1;
  e.tasks.serve_disk = 1;
  Rng rng = Rng::Stream(seed, "blocks");
  for (JobModel& job : jobs) {
    StageModel& maps = job.stages[0];
    if (holders == 0) continue;
    for (uint32_t t = 0; t < maps.tasks; ++t) maps.preferred.push_back({static_cast<uint32_t>(rng.Below(holders))});
  }
  e.jobs = std::move(jobs);
  std::stable_sort(e.jobs.begin(), e.jobs.end(), [](const auto& a, const auto& b) { return a.submit < b.submit; });
  return e;
}

std::vector<JobModel> TableTwo() {
  using enum CouplingKind;
  return {CouplingJob(0, "Grep", kGrep, 148, 6), CouplingJob(0, "RandomWriter", kRandomWriter, 70, 0),
          CouplingJob(0, "QMC", kQuasiMonteCarlo, 50, 1), CouplingJob(0, "Sort1", kSort, 224, 12),
          CouplingJob(0, "Sort2", kSort, 352, 27)};
}

std::vector<JobModel> TableThree() {
  const double rows[][2] = {{0, 427},  {120, 15}, {240, 23}, {360, 45},  {480, 427},
                            {600, 15}, {720, 23}, {840, 30}, {960, 427}, {1080, 45}};
  std::vector<JobModel> jobs;
  for (const auto& [at, maps] : rows) {
    jobs.push_back(
        CouplingJob(at, "g" + std::to_string(jobs.size() + 1), CouplingKind::kGrep, static_cast<uint32_t>(maps), 0));
  }
  return jobs;
}

std::vector<JobModel> TableFour() {
  using enum CouplingKind;
  const struct {
    CouplingKind kind;
    double at;
    uint32_t maps, reduces;
  } rows[] = {{kGrep, 0, 148, 15},
              {kGrep, 30, 148, 15},
              {kQuasiMonteCarlo, 150, 5, 1},
              {kWordCount, 170, 8, 1},
              {kGrep, 190, 8, 2},
              {kGrep, 210, 8, 2},
              {kGrep, 230, 8, 3},
              {kGrep, 470, 427, 15},
              {kGrep, 500, 427, 15},
              {kSort, 800, 224, 27},
              {kGrep, 860, 15, 5},
              {kGrep, 880, 8, 3},
              {kGrep, 900, 8, 2},
              {kSort, 1020, 64, 27},
              {kGrep, 1140, 30, 2},
              {kWordCount, 1440, 15, 1},
              {kSort, 1710, 352, 27},
              {kQuasiMonteCarlo, 2110, 15, 1},
              {kGrep, 2125, 8, 3},
              {kSort, 2245, 64, 27},
              {kRandomWriter, 2365, 150, 0},
              {kQuasiMonteCarlo, 2485, 10, 1}};
  std::vector<JobModel> jobs;
  for (const auto& r : rows) {
    jobs.push_back(CouplingJob(r.at, "j" + std::to_string(jobs.size() + 1), r.kind, r.maps, r.reduces));
  }
  return jobs;
}

std::vector<JobModel> TenGreps() {
  std::vector<JobModel> jobs;
  for (int j = 0; j < 10; ++j)
    jobs.push_back(CouplingJob(300.0 * j, "g" + std::to_string(j + 1), CouplingKind::kGrep, 427, 8));
  return jobs;
}

std::vector<JobModel> GrepPair() {
  return {CouplingJob(0, "g1", CouplingKind::kGrep, 427, 30), CouplingJob(30, "g2", CouplingKind::kGrep, 148, 15)};
}

std::vector<JobModel> TwoHundred(uint64_t seed) {
  // The paper's 62-node load: 10 batches of 20 jobs, with a mean gap of 25 s, begin 20 minutes apart. Sizes are those
  // of the program in Table IV.
  Rng rng = Rng::Stream(seed, "200 jobs");
  const std::vector<JobModel> sizes = TableFour();
  std::vector<JobModel> jobs;
  for (int batch = 0; batch < 10; ++batch) {
    double at = 1200.0 * batch;
    for (int j = 0; j < 20; ++j) {
      const double u = rng.Uniform();
      using enum CouplingKind;
      const CouplingKind kind = u < .738 ? kGrep : u < .827 ? kWordCount : u < .895 ? kQuasiMonteCarlo : kSort;
      static const std::vector<std::pair<uint32_t, uint32_t>> kSizes[] = {{{148, 15},
                                                                           {148, 15},
                                                                           {8, 2},
                                                                           {8, 2},
                                                                           {8, 3},
                                                                           {427, 15},
                                                                           {427, 15},
                                                                           {15, 5},
                                                                           {8, 3},
                                                                           {8, 2},
                                                                           {30, 2},
                                                                           {8, 3}},
                                                                          {{8, 1}, {15, 1}},
                                                                          {{224, 27}, {64, 27}, {352, 27}, {64, 27}},
                                                                          {{5, 1}, {15, 1}, {10, 1}},
                                                                          {}};
      const auto& of = kSizes[static_cast<size_t>(kind)];
      const auto [maps, reduces] = of[rng.Below(of.size())];
      jobs.push_back(CouplingJob(at, "j" + std::to_string(jobs.size() + 1), kind, maps, reduces));
      at += rng.Exponential(25);
    }
  }
  return jobs;
}

}  // namespace mr::sim
