#include "master/sim/engine/model.h"

#include <cctype>

#include "common/io/files.h"

namespace mr::sim {

namespace {

constexpr uint32_t kMaxWorkers = 100'000, kMaxSlots = 10'000;

// Parses digits at *at and moves it behind them. Returns 0 if there are none.
uint32_t Digits(const std::string& text, size_t* at) {
  uint64_t n = 0;
  while (*at < text.size() && std::isdigit(static_cast<unsigned char>(text[*at])) != 0 && n < 1'000'000) {
    n = n * 10 + static_cast<uint64_t>(text[(*at)++] - '0');
  }
  return static_cast<uint32_t>(n);
}

}  // namespace

uint32_t ClusterSpec::slots() const {
  uint32_t n = 0;
  for (const WorkerSpec& w : workers) n += w.slots.total;
  return n;
}

uint32_t JobModel::tasks() const {
  uint32_t n = 0;
  for (const StageModel& s : stages) n += s.tasks;
  return n;
}

Result<ClusterSpec> ParseCluster(const std::string& spec) {
  if (spec.size() > 5 && spec.substr(spec.size() - 5) == ".toml") {
    auto text = ReadFile(spec);
    if (!text.ok()) return text.status().With("cannot read the cluster file '" + spec + "'");
    return ParseClusterToml(*text, spec);
  }
  const Status wrong = InvalidArgument("'" + spec +
                                       "' is not a cluster; write WORKERSxSLOTS as 150x12, caps per kind as "
                                       "62x4m2r, or the path of a .toml file");
  size_t at = 0;
  const uint32_t workers = Digits(spec, &at);
  if (workers == 0 || at >= spec.size() || spec[at] != 'x') return wrong;
  ++at;
  WorkerSpec worker;
  worker.slots.total = Digits(spec, &at);
  if (at < spec.size() && spec[at] == 'm') {
    worker.slots.map = worker.slots.total;
    ++at;
    worker.slots.reduce = Digits(spec, &at);
    if (worker.slots.reduce == 0 || at >= spec.size() || spec[at] != 'r') return wrong;
    ++at;
    worker.slots.total += worker.slots.reduce;
  }
  if (at != spec.size() || worker.slots.total == 0) return wrong;
  if (workers > kMaxWorkers || worker.slots.total > kMaxSlots) {
    return InvalidArgument("'" + spec + "': at most 100000 workers and 10000 slots of each can be simulated");
  }
  ClusterSpec cluster;
  cluster.racks.push_back({"", 0, 0});
  cluster.workers.assign(workers, worker);
  return cluster;
}

JobModel MapReduce(double submit, std::string name, uint32_t maps, uint64_t input, uint32_t reduces, uint64_t shuffle,
                   uint64_t output) {
  JobModel job{submit, std::move(name), {}};
  StageModel map{"map", sched::SlotKind::kMap, maps, input, reduces > 0 ? shuffle : output, {{}}, {}};
  job.stages.push_back(std::move(map));
  if (reduces == 0) return job;
  StageModel reduce{
      "reduce", sched::SlotKind::kReduce, reduces, shuffle, output, {{true, sched::EdgeKind::kAllToAll, 0}}, {}};
  job.stages.push_back(std::move(reduce));
  return job;
}

}  // namespace mr::sim
