#include "master/sim/studies/setups.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "master/sched/job_bins.h"
#include "master/sim/traces/generate_measured.h"
#include "master/sim/traces/generate_swim.h"
#include "master/sim/traces/workload.h"

namespace mr::sim {

namespace {

// Limits of a file's numbers: larger ones would end in hours of simulation, or in sums that are not exact enough.
constexpr double kMostBytes = 1e15, kMostSeconds = 1e9;
constexpr uint32_t kMostTasks = 1'000'000, kMostWorkers = 100'000, kMostSlots = 10'000;
constexpr double kHour = 3600;  // seconds

// A group of equal workers.
struct Group {
  uint32_t count = 1;
  WorkerSpec worker;
  std::string rack;
  std::vector<double> slow;  // slowdowns; with several, each worker draws one
};

Group ParseGroup(const Node& table, FirstError* error) {
  Fields f(table, "a group of workers", error);
  Group g;
  uint32_t maps = 0, reduces = 0;
  f.Whole("count", &g.count, 1, kMostWorkers);
  f.Whole("slots", &g.worker.slots.total, 1, kMostSlots);
  f.Whole("map_slots", &maps, 1, kMostSlots);
  f.Whole("reduce_slots", &reduces, 1, kMostSlots);
  g.worker.slots.map = maps, g.worker.slots.reduce = reduces;
  f.Number("cores", &g.worker.cores, 0, kMostSlots);
  f.Number("disk", &g.worker.disk, 1, kMostBytes);
  f.Number("up", &g.worker.up, 1, kMostBytes);
  f.Number("down", &g.worker.down, 1, kMostBytes);
  f.Number("loss", &g.worker.loss, 0, .9);
  f.Numbers("slow", &g.slow, 1e-3, 1e3);
  f.Text("rack", &g.rack);
  f.Require("slots");
  f.Done();
  return g;
}

struct Machines {
  std::vector<RackSpec> racks;
  std::vector<Group> groups;
  uint32_t repeat = 1;
  bool in_turn = false;
  std::string draw;
  std::vector<uint32_t> hosts;
  std::vector<double> host_disk;
  uint32_t stragglers = 0, hogs = 0;
  double hog_weight = 1;
};

// Puts virtual machines on hosts: hosts[n - 1] hosts have n of them. They come in random order, the stragglers first.
void AddVirtualMachines(const Machines& m, Experiment* e) {
  std::vector<WorkerSpec>& vms = e->cluster.workers;
  for (uint32_t load = 1; load <= m.hosts.size(); ++load) {
    for (uint32_t n = 0; n < m.hosts[load - 1]; ++n) {
      WorkerSpec w = m.groups[0].worker;
      w.host = static_cast<uint32_t>(e->cluster.hosts.size());
      e->cluster.hosts.push_back({m.host_disk});
      vms.insert(vms.end(), load, w);
    }
  }
  Rng rng = Rng::Stream(e->seed, "virtual machines");
  for (size_t i = vms.size(); i > 1; --i) std::swap(vms[i - 1], vms[rng.Below(i)]);
  for (uint32_t n = 0; n < m.stragglers && n < vms.size(); ++n) {
    vms[n].cpu_hogs = vms[n].disk_hogs = m.hogs;
    vms[n].hog_weight = m.hog_weight;
  }
}

Status AddMachines(const Machines& m, Experiment* e) {
  ClusterSpec& cluster = e->cluster;
  cluster.racks = m.racks;
  if (cluster.racks.empty()) cluster.racks.push_back({});
  if (!m.hosts.empty()) {
    AddVirtualMachines(m, e);
    return Status::Ok();
  }
  Rng rng = Rng::Stream(e->seed, m.draw);
  for (uint32_t r = 0; r < m.repeat; ++r) {
    for (const Group& g : m.groups) {
      for (uint32_t n = 0; n < g.count; ++n) {
        WorkerSpec w = g.worker;
        if (m.in_turn) w.rack = static_cast<uint32_t>(cluster.workers.size() % cluster.racks.size());
        while (!m.in_turn && !g.rack.empty() && cluster.racks[w.rack].name != g.rack) ++w.rack;
        if (g.slow.size() == 1) w.speed = 1 / g.slow[0];
        if (g.slow.size() > 1) {
          w.speed = 1 / g.slow[static_cast<size_t>(rng.Uniform() * static_cast<double>(g.slow.size()))];
        }
        cluster.workers.push_back(w);
      }
    }
  }
  return Status::Ok();
}

// One or two replicas of each block, on different ones of the first `on` workers (0: of all).
Status DrawBlocks(uint32_t replicas, uint32_t on, Experiment* e) {
  const uint64_t workers = on > 0 ? on : e->cluster.workers.size();
  if (workers < replicas || workers > e->cluster.workers.size()) {
    return InvalidArgument("the blocks are on more workers than there are");
  }
  Rng rng = Rng::Stream(e->seed, "blocks");
  for (JobModel& job : e->jobs) {
    StageModel& maps = job.stages[0];
    for (uint32_t t = 0; t < maps.tasks; ++t) {
      const auto first = static_cast<uint32_t>(rng.Below(workers));
      maps.preferred.push_back({first});
      if (replicas < 2) continue;
      maps.preferred.back().push_back(static_cast<uint32_t>((first + 1 + rng.Below(workers - 1)) % workers));
    }
  }
  return Status::Ok();
}

// Block t is in rack pattern[t modulo its length], on its workers in turn.
Status BlocksByRack(const std::vector<uint32_t>& pattern, Experiment* e) {
  std::vector<std::vector<uint32_t>> workers(e->cluster.racks.size());
  for (uint32_t w = 0; w < e->cluster.workers.size(); ++w) workers[e->cluster.workers[w].rack].push_back(w);
  for (JobModel& job : e->jobs) {
    for (uint32_t t = 0; t < job.stages[0].tasks; ++t) {
      const uint32_t rack = pattern[t % pattern.size()] - 1;
      if (rack >= workers.size() || workers[rack].empty())
        return InvalidArgument("a block is in a rack without workers");
      job.stages[0].preferred.push_back({workers[rack][t / pattern.size() % workers[rack].size()]});
    }
  }
  return Status::Ok();
}

// One row of jobs: `count` of them, `every` seconds apart.
struct Row {
  double at = 0, every = 0;
  uint32_t count = 1;
  std::string name = "job";
  Program program;
  uint32_t maps = 0, reduces = 0;
  double bytes = 0, shuffle_bytes = -1, output_bytes = -1;
  std::vector<double> map_seconds;
  double median = 0, sigma = 0;  // of drawn map times
  bool same_everywhere = false;
  uint32_t naps = 0;
  double longest_nap = 0;
};

const Program& ProgramOf(Fields* f, const std::map<std::string, Program>& programs) {
  static const Program plain;
  std::string name;
  f->Text("program", &name);
  if (name.empty()) return plain;
  const auto it = programs.find(name);
  if (it != programs.end()) return it->second;
  f->Wrong("program", "is '" + name + "': there is no [program." + name + "]");
  return plain;
}

JobModel JobOf(const Program& program, double at, std::string name, uint32_t maps, double block, uint32_t reduces) {
  const auto bytes = static_cast<uint64_t>(maps * block);
  const auto shuffle = static_cast<uint64_t>(static_cast<double>(bytes) * program.shuffle);
  const double from = static_cast<double>(program.of_shuffle ? shuffle : bytes);
  return MapReduce(at, std::move(name), maps, bytes, reduces, shuffle, static_cast<uint64_t>(from * program.output));
}

Row ParseRow(const Node& table, const std::map<std::string, Program>& programs, double block, FirstError* error) {
  Fields f(table, "a row of jobs", error);
  Row r;
  f.Number("at", &r.at, 0, kMostSeconds);
  f.Number("every", &r.every, 0, kMostSeconds);
  f.Whole("count", &r.count, 1, kMostTasks);
  f.Text("name", &r.name);
  r.program = ProgramOf(&f, programs);
  f.Whole("maps", &r.maps, 1, kMostTasks);
  f.Whole("reduces", &r.reduces, 0, kMostTasks);
  f.Number("bytes", &r.bytes, 1, kMostBytes);
  f.Number("shuffle_bytes", &r.shuffle_bytes, 0, kMostBytes);
  f.Number("output_bytes", &r.output_bytes, 0, kMostBytes);
  f.Numbers("map_seconds", &r.map_seconds, 1e-6, kMostSeconds);
  f.Number("median_seconds", &r.median, 1e-6, kMostSeconds);
  f.Number("sigma_seconds", &r.sigma, 0, 10);
  f.Flag("same_everywhere", &r.same_everywhere);
  f.Whole("naps", &r.naps, 0, kMostTasks);
  f.Number("longest_nap", &r.longest_nap, 0, kMostSeconds);
  f.Exclude("map_seconds", "median_seconds");
  if (r.maps == 0 && r.bytes == 0) f.Wrong("wants 'maps' or 'bytes'");
  if (r.maps == 0) r.maps = static_cast<uint32_t>(std::min<double>(kMostTasks, std::ceil(r.bytes / block)));
  if (r.bytes == 0) r.bytes = r.maps * block;
  if (r.naps > 0 && r.reduces == 0) f.Wrong("naps", "are a reduce's, and there is none");
  f.Done();
  return r;
}

void AddRow(const Row& r, Experiment* e) {
  for (uint32_t n = 0; n < r.count; ++n) {
    JobModel job = JobOf(r.program, r.at + r.every * n, r.count > 1 ? r.name + std::to_string(n) : r.name, r.maps,
                         r.bytes / r.maps, r.reduces);
    const auto bytes = static_cast<uint64_t>(r.bytes);
    uint64_t shuffle = static_cast<uint64_t>(r.program.shuffle * static_cast<double>(bytes));
    if (r.shuffle_bytes >= 0) shuffle = static_cast<uint64_t>(r.shuffle_bytes);
    const double from = static_cast<double>(r.program.of_shuffle ? shuffle : bytes);
    uint64_t output = static_cast<uint64_t>(r.program.output * from);
    if (r.output_bytes >= 0) output = static_cast<uint64_t>(r.output_bytes);
    job = MapReduce(job.submit, job.name, r.maps, bytes, r.reduces, shuffle, output);
    StageModel& maps = job.stages[0];
    maps.durations.assign(r.map_seconds.begin(), r.map_seconds.end());
    maps.same_everywhere = r.same_everywhere;
    if (r.median > 0) {
      Rng rng = Rng::Stream(e->seed, "durations");
      for (uint32_t t = 0; t < r.maps; ++t) {
        double normal = -6;  // the sum of twelve uniform draws, less their mean
        for (int k = 0; k < 12; ++k) normal += rng.Uniform();
        maps.durations.push_back(static_cast<float>(r.median * std::exp(r.sigma * normal)));
      }
    }
    if (r.reduces > 0) {
      job.stages[1].naps = r.naps;
      job.stages[1].longest_nap = r.longest_nap;
    }
    e->jobs.push_back(std::move(job));
  }
  if (r.program.map_cost > 0) e->tasks.map_cost = r.program.map_cost;
  if (r.program.reduce_cost > 0) e->tasks.reduce_cost = r.program.reduce_cost;
}

// Jobs in the shape of SWIM's, with these shares of jobs in the bins of 1-10, 11-50, 51-150, 151-500 and more tasks.
struct MixSetup {
  std::vector<double> shares;
  uint32_t count = 1000;
  double block = 0;
  double gap = 1;    // factor on the seconds between submits
  double large = 1;  // factor on the bytes of a task in jobs of more than 150 tasks
  double reads = 1;  // blocks that a task reads from the phase before, in small jobs that are chains
  // Small jobs (the first two bins) as chains of `phases` phases; 0: as in SWIM, with or without reduces.
  uint32_t phases = 0;
  // The bins of small jobs count the tasks of each phase, from any number of the bin alike. false: SWIM's sizes.
  bool per_phase = false;
  sched::EdgeKind edge = sched::EdgeKind::kAllToAll;  // between phases
};

constexpr size_t kSmallBins = 2, kLargeBins = 2;  // the first and the last bins
constexpr uint32_t kManyToOne = 4;                // outputs that a task of a many-to-one edge reads: a guess
constexpr double kUsualPhases = 2;  // jobs with more phases come less often in proportion, so that the load stays

// Makes phases of equally many tasks, or fewer where a task reads several of the phase before.
JobModel ChainOf(double at, std::string name, uint32_t tasks, uint32_t phases, const MixSetup& mix) {
  const auto block = static_cast<uint64_t>(mix.block);
  const auto output = static_cast<uint64_t>(mix.block * mix.reads);
  JobModel job = MapReduce(at, std::move(name), tasks, tasks * block, 0, 0, tasks * output);
  for (uint32_t p = 1; p < phases; ++p) {
    const uint32_t before = tasks;
    if (mix.edge == sched::EdgeKind::kManyToOne) tasks = std::max(1u, tasks / kManyToOne);
    StageModel stage{"phase" + std::to_string(p),
                     sched::SlotKind::kReduce,
                     tasks,
                     before * output,
                     tasks * output,
                     {{true, mix.edge, p - 1}},
                     {}};
    job.stages.push_back(std::move(stage));
  }
  return job;
}

// Draws the number of tasks of a phase of a small job, each of the bin's numbers alike.
uint32_t TasksOfPhase(size_t bin, Rng& rng) {
  const uint32_t least = bin == 0 ? 1 : sched::kBinEnds[bin - 1] + 1;
  return least + static_cast<uint32_t>(rng.Below(sched::kBinEnds[bin] - least + 1));
}

void AddMix(const MixSetup& mix, Experiment* e) {
  Rng rng = Rng::Stream(e->seed, "dolly");
  double at = 0;
  for (uint32_t j = 0; j < mix.count; ++j) {
    if (j > 0) at += SwimGap(rng) * mix.gap * std::max(1.0, mix.phases / kUsualPhases);
    double u = rng.Uniform();
    size_t bin = 0;
    while (bin + 1 < kDollyBins && u >= mix.shares[bin]) u -= mix.shares[bin++];
    const auto [maps, reduces] = SwimSizeIn(bin, rng);
    const std::string name = "d" + std::to_string(j);
    if (bin < kSmallBins && (mix.phases > 0 || mix.per_phase)) {
      const uint32_t usual = reduces > 0 ? 2 : 1;
      const uint32_t tasks = mix.per_phase ? TasksOfPhase(bin, rng) : maps;
      e->jobs.push_back(ChainOf(at, name, tasks, mix.phases > 0 ? mix.phases : usual, mix));
      continue;
    }
    const auto block = static_cast<uint64_t>(mix.block * (bin + kLargeBins < kDollyBins ? 1 : mix.large));
    e->jobs.push_back(
        MapReduce(at, name, maps, maps * block, reduces, reduces * block, (reduces > 0 ? reduces : maps) * block));
  }
}

// Batches of jobs of random programs and sizes.
struct BatchSetup {
  struct Kind {
    double share = 0;
    Program program;
    std::vector<std::pair<uint32_t, uint32_t>> sizes;  // maps, reduces
  };
  uint32_t batches = 1, jobs = 1;
  double every = 0, gap = 0;  // seconds between batches; mean seconds between jobs of a batch
  double block = 0;
  std::vector<Kind> kinds;
};

BatchSetup::Kind ParseKind(const Node& table, const std::map<std::string, Program>& programs, FirstError* error) {
  Fields f(table, "a kind of jobs", error);
  BatchSetup::Kind kind;
  kind.program = ProgramOf(&f, programs);
  f.Number("share", &kind.share, 0, 1);
  f.Require("program");
  f.Require("share");
  f.Require("sizes");
  const Node* sizes = f.Any("sizes");
  if (sizes != nullptr) {
    for (const Node& size : sizes->items) {
      const auto whole = [](const Node& n, double lowest) {
        return n.kind == Node::Kind::kNumber && n.number == std::floor(n.number) && n.number >= lowest &&
               n.number <= kMostTasks;
      };
      if (size.items.size() != 2 || !whole(size.items[0], 1) || !whole(size.items[1], 0)) {
        error->At(size.line, "a kind of jobs: sizes must be pairs of whole numbers, [maps, reduces]");
        continue;
      }
      kind.sizes.emplace_back(size.items[0].number, size.items[1].number);
    }
  }
  if (kind.sizes.empty()) f.Wrong("sizes", "must be a list of pairs [maps, reduces]");
  f.Done();
  return kind;
}

void AddBatches(const BatchSetup& setup, Experiment* e) {
  Rng rng = Rng::Stream(e->seed, "200 jobs");
  uint32_t number = 0;
  for (uint32_t batch = 0; batch < setup.batches; ++batch) {
    double at = setup.every * batch;
    for (uint32_t j = 0; j < setup.jobs; ++j) {
      const double u = rng.Uniform();
      size_t kind = 0;
      for (double below = setup.kinds[0].share; kind + 1 < setup.kinds.size() && u >= below;) {
        below += setup.kinds[++kind].share;
      }
      const auto& sizes = setup.kinds[kind].sizes;
      const auto [maps, reduces] = sizes[rng.Below(sizes.size())];
      e->jobs.push_back(
          JobOf(setup.kinds[kind].program, at, "j" + std::to_string(++number), maps, setup.block, reduces));
      at += rng.Exponential(setup.gap);
    }
  }
}

// A generated or recorded workload.
struct LoadSetup {
  std::string workload, format, otherwise, why;
  std::vector<double> hours;  // from, to: submits outside are left out
  double scale = 1;           // factor on all bytes of a swim trace
  uint32_t wider_than = 0;    // keeps jobs with a phase of more tasks whose times are recorded; 0: all
  uint32_t most = 0;          // keeps at most this many jobs, evenly spaced; 0: all
};

struct Loaded {
  std::vector<JobModel> jobs;
  std::string used;
};

Status KeepSome(const LoadSetup& setup, Loaded* loaded) {
  std::vector<JobModel>& jobs = loaded->jobs;
  if (setup.wider_than > 0) {
    std::vector<JobModel> kept;
    for (JobModel& job : jobs) {
      const auto wide = [&](const StageModel& s) { return s.tasks > setup.wider_than && !s.durations.empty(); };
      if (std::any_of(job.stages.begin(), job.stages.end(), wide)) kept.push_back(std::move(job));
    }
    jobs = std::move(kept);
  }
  if (setup.most > 0) {
    const size_t all = jobs.size(), step = (all + setup.most - 1) / setup.most;
    for (size_t j = 1; step > 1 && j * step < all; ++j) jobs[j] = std::move(jobs[j * step]);
    if (step > 1) jobs.resize((all + step - 1) / step);
    loaded->used += ", " + std::to_string(jobs.size()) + " of " + std::to_string(all) + " jobs";
  }
  if (setup.hours.empty()) return Status::Ok();
  std::erase_if(jobs, [&](const JobModel& job) {
    return job.submit < setup.hours[0] * kHour || job.submit >= setup.hours[1] * kHour;
  });
  for (JobModel& job : jobs) job.submit -= setup.hours[0] * kHour;
  char text[400];
  std::snprintf(text, sizeof text,
                "%s: hours %g to %g (%s), %zu jobs submitted as recorded; bytes x %g, 128 MiB a map, 1 GiB a reduce",
                setup.workload.c_str(), setup.hours[0], setup.hours[1], setup.why.c_str(), jobs.size(), setup.scale);
  loaded->used = text;
  return Status::Ok();
}

Result<Loaded> Load(const LoadSetup& setup, const RunContext& c) {
  Loaded loaded{{}, setup.workload};
  const bool generated = setup.workload.starts_with("generate:");
  Result<Trace> trace = NotFound(kNoTraces);
  if (generated || !c.data.empty()) trace = LoadTrace({setup.workload, c.data, setup.format, c.seed, setup.scale});
  if (!trace.ok() && trace.status().code() == Code::kNotFound && !setup.otherwise.empty()) {
    loaded.used = setup.otherwise + ", made by the generator (" + setup.workload + " was not found)";
    trace = LoadTrace({setup.otherwise, c.data, "", c.seed});
  }
  MR_RETURN_IF_ERROR(trace.status());
  loaded.jobs = std::move(trace->jobs);
  MR_RETURN_IF_ERROR(KeepSome(setup, &loaded));
  return loaded;
}

Status AddLoaded(const LoadSetup& setup, const std::string& name, const RunContext& c, Experiment* e) {
  if (c.data.empty() && setup.otherwise.empty() && !setup.workload.starts_with("generate:")) {
    *c.skipped = kNoTraces;
    return NotFound(kNoTraces);
  }
  std::shared_ptr<const void>& kept = (*c.memory)["jobs " + name];
  if (kept == nullptr) {
    MR_ASSIGN_OR_RETURN(Loaded loaded, Load(setup, c));
    kept = std::make_shared<const Loaded>(std::move(loaded));
  }
  const Loaded& loaded = *static_cast<const Loaded*>(kept.get());
  *c.used = loaded.used;
  e->jobs = loaded.jobs;
  return Status::Ok();
}

Part ParseRows(Fields* f, const std::map<std::string, Program>& programs, double block) {
  std::vector<Row> rows;
  for (const Node* row : f->Tables("rows")) rows.push_back(ParseRow(*row, programs, block, f->error()));
  if (rows.empty()) f->Wrong("rows", "must be a list of tables");
  return [rows](const RunContext&, Experiment* e) {
    for (const Row& row : rows) AddRow(row, e);
    return Status::Ok();
  };
}

Part ParseMix(Fields* f, double block) {
  MixSetup mix;
  mix.block = block;
  f->Numbers("mix", &mix.shares, 0, 1);
  f->Whole("count", &mix.count, 1, kMostTasks);
  f->Number("gap", &mix.gap, 1e-3, 1e3);
  f->Number("large", &mix.large, 1e-3, 1e3);
  f->Number("reads", &mix.reads, 1e-3, 1e3);
  f->Whole("phases", &mix.phases, 0, 1000);
  f->Flag("per_phase", &mix.per_phase);
  constexpr sched::EdgeKind kEdges[] = {sched::EdgeKind::kAllToAll, sched::EdgeKind::kManyToOne,
                                        sched::EdgeKind::kOneToOne};
  mix.edge = kEdges[f->Choice("edge", {"all-to-all", "many-to-one", "one-to-one"}, 0)];
  if (mix.shares.size() != kDollyBins) f->Wrong("mix", "must have five shares, one for each bin of job sizes");
  return [mix](const RunContext&, Experiment* e) {
    AddMix(mix, e);
    return Status::Ok();
  };
}

Part ParseBatches(Fields* f, const std::map<std::string, Program>& programs, double block) {
  BatchSetup setup;
  setup.block = block;
  f->Whole("batches", &setup.batches, 1, kMostTasks);
  f->Whole("jobs", &setup.jobs, 1, kMostTasks);
  f->Number("every", &setup.every, 0, kMostSeconds);
  f->Number("gap", &setup.gap, 0, kMostSeconds);
  for (const Node* kind : f->Tables("kinds")) setup.kinds.push_back(ParseKind(*kind, programs, f->error()));
  if (setup.kinds.empty()) f->Wrong("has no 'kinds'");
  return [setup](const RunContext&, Experiment* e) {
    AddBatches(setup, e);
    return Status::Ok();
  };
}

Part ParseLoad(Fields* f, const std::string& name) {
  LoadSetup setup;
  f->Text("workload", &setup.workload);
  f->Text("format", &setup.format);
  f->Text("otherwise", &setup.otherwise);
  f->Text("why", &setup.why);
  f->Numbers("hours", &setup.hours, 0, 1e6);
  f->Number("scale", &setup.scale, 1e-6, 1e6);
  f->Whole("wider_than", &setup.wider_than, 1, kMostTasks);
  f->Whole("most", &setup.most, 1, kMostTasks);
  if (!setup.hours.empty() && (setup.hours.size() != 2 || setup.hours[0] >= setup.hours[1])) {
    f->Wrong("hours", "must be [from, to]");
  }
  return [setup, name](const RunContext& c, Experiment* e) { return AddLoaded(setup, name, c, e); };
}

}  // namespace

ClusterSetup ParseClusterSetup(Fields* f) {
  Machines m;
  for (const Node* table : f->Tables("racks")) {
    Fields rack(*table, "a rack", f->error());
    RackSpec& spec = m.racks.emplace_back();
    rack.Text("name", &spec.name);
    rack.Number("up", &spec.up, 0, kMostBytes);
    rack.Number("down", &spec.down, 0, kMostBytes);
    rack.Done();
  }
  for (const Node* table : f->Tables("workers")) m.groups.push_back(ParseGroup(*table, f->error()));
  f->Whole("repeat", &m.repeat, 1, kMostWorkers);
  f->Flag("racks_in_turn", &m.in_turn);
  f->Text("draw", &m.draw);
  f->Wholes("hosts", &m.hosts, 0, kMostWorkers);
  f->Numbers("host_disk", &m.host_disk, 1, kMostBytes);
  f->Whole("stragglers", &m.stragglers, 0, kMostWorkers);
  f->Whole("hogs", &m.hogs, 0, 1000);
  f->Number("hog_weight", &m.hog_weight, .01, 1000);
  f->Exclude("repeat", "hosts");
  if (m.groups.empty()) f->Wrong("has no 'workers'");
  if (!m.hosts.empty() && (m.groups.size() != 1 || m.host_disk.empty())) {
    f->Wrong("hosts", "want one group of workers, for their machines, and 'host_disk'");
  }
  for (const Group& g : m.groups) {
    const auto same = [&](const RackSpec& rack) { return rack.name == g.rack; };
    if (!g.rack.empty() && std::none_of(m.racks.begin(), m.racks.end(), same)) {
      f->Wrong("workers", "are in the rack '" + g.rack + "', which is not among the racks");
    }
  }
  ClusterSetup setup;
  setup.machines = [m](const RunContext&, Experiment* e) { return AddMachines(m, e); };
  if (const Node* blocks = f->Any("blocks")) {
    Fields b(*blocks, "blocks", f->error());
    uint32_t replicas = 1, on = 0;
    std::vector<uint32_t> racks;
    b.Whole("replicas", &replicas, 1, 2);
    b.Whole("on", &on, 1, kMostWorkers);
    b.Wholes("racks", &racks, 1, kMostWorkers);
    b.Exclude("replicas", "racks");
    b.Done();
    setup.blocks = [replicas, on, racks](const RunContext&, Experiment* e) {
      return racks.empty() ? DrawBlocks(replicas, on, e) : BlocksByRack(racks, e);
    };
  }
  f->Done();
  return setup;
}

Part ParseTaskSetup(Fields* f) {
  bool exact = false;
  f->Flag("exact", &exact);
  TaskModel m = exact ? Exact() : TaskModel();
  VisitNumbers(&m, [f](std::string_view key, auto& value, double lowest, double highest) {
    double number = AsNumber(value);
    f->Number(key, &number, lowest, highest);
    SetNumber(number, &value);
  });
  double offer = Experiment().offer_period.seconds();
  f->Number("offer_period", &offer, 0, kHour);
  std::vector<std::string_view> sources = {"none", "google"};
  if (f->Choice("factors", sources, 0) == 1) m.factors = GoogleFactors();
  if (offer <= 0) f->Wrong("offer_period", "must be above 0");
  f->Done();
  return [m, offer](const RunContext&, Experiment* e) {
    e->tasks = m;
    e->offer_period = FromSeconds(offer);
    return Status::Ok();
  };
}

Part ParseJobSetup(Fields* f, const std::string& name, const std::map<std::string, Program>& programs) {
  double block = 128.0 * (1 << 20);
  f->Number("block", &block, 1, kMostBytes);
  Part part;
  if (f->Has("rows")) {
    part = ParseRows(f, programs, block);
  } else if (f->Has("mix")) {
    part = ParseMix(f, block);
  } else if (f->Has("batches")) {
    part = ParseBatches(f, programs, block);
  } else if (f->Has("workload")) {
    part = ParseLoad(f, name);
  } else {
    f->Wrong("has none of 'rows', 'mix', 'batches' and 'workload'");
  }
  f->Done();
  return part;
}

}  // namespace mr::sim
