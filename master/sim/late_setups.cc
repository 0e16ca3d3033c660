#include "master/sim/late_setups.h"

namespace mr::sim {

namespace {

// Two maps and two reduces at a time on each node, Hadoop's default then.
constexpr sched::Slots kSlots{4, 2, 2};
constexpr uint64_t kMebi = uint64_t{1} << 20;

// What all runs have in common.
Experiment Plain(const std::string& policies, uint64_t seed) {
  Experiment e;
  e.cluster.racks.push_back({});
  e.policies = policies;
  e.seed = seed;
  e.offer_period = Seconds(3);  // Hadoop's heartbeat
  e.tasks.report_period = Seconds(3);
  e.tasks.report_share = 0;
  return e;
}

}  // namespace

std::string LateWith(const std::string& parameters) {
  return parameters.empty() ? "fifo,late" : "fifo,late(" + parameters + ")";
}

Experiment SleepJob(const std::string& policies, uint64_t seed) {
  constexpr uint32_t kNodes = 40, kThrice = 5, kMaps = 80, kReduces = 76;
  constexpr double kMapSeconds = 15, kLongestNap = 1.4;  // 2t, t = 0.7 s
  Experiment e = Plain(policies, seed);
  Rng rng = Rng::Stream(seed, "sleep job nodes");
  for (uint32_t n = 0; n < kNodes; ++n) {
    WorkerSpec w;
    w.slots = kSlots;
    w.speed = n == 0 ? 1.0 / 10 : n <= kThrice ? 1.0 / 3 : rng.Uniform() < .5 ? 1 : 1 / 1.5;
    e.cluster.workers.push_back(w);
  }
  // Bytes only count progress here.
  e.jobs = {MapReduce(0, "sleep", kMaps, kMaps * kMebi, kReduces, kReduces * kMebi, 0)};
  StageModel& maps = e.jobs[0].stages[0];
  maps.durations = {kMapSeconds};
  maps.same_everywhere = true;
  StageModel& reduces = e.jobs[0].stages[1];
  reduces.naps = 100;
  reduces.longest_nap = kLongestNap;
  return e;
}

}  // namespace mr::sim
