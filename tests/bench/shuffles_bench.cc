// ./dev bench shuffles: jobs with heavy shuffles on a real cluster of eight workers on this host, each with a fifth of
// a CPU and a narrow link (tbf). Workers compute slowly at times. Each list of policies gets a cluster of its own, the
// same jobs and the same slow periods. The simulator runs them, too: both should agree on the ratios between lists.
// Needs root, for control groups and network namespaces. Exits with 1 if a target is missed.
// Argument: number of jobs per list; default 60.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "jobs/mrctl/client.h"
#include "master/history/history.h"
#include "master/sched/defaults.h"
#include "tests/bench/cpu_group.h"
#include "tests/bench/lists.h"
#include "tests/bench/report.h"
#include "tests/bench/shuffles.h"
#include "tests/bench/weather.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/narrow_network.h"

namespace mr::bench {
namespace {

constexpr double kCpus = 0.2;
// A worker is fast for kMeanWell seconds on average, then slow for 3 to 10.
constexpr double kMeanWell = 25, kLeastSlow = 3, kMostSlow = 10;
constexpr double kMeanGap = 3;  // seconds between jobs
constexpr int kLeastTasks = 3, kMostMaps = 5, kMostReduces = 4;
constexpr int kCalibrationJobs = 6;
constexpr uint64_t kSeed = 7;
constexpr double kAgreement = 20;  // %: of the simulator with the cluster, on the ratio between two lists

struct Policy {
  std::string name, list;
};
const std::string kLate = TunedLate("1s");
const std::vector<Policy> kPolicies = {{"fair", "fair"},
                                       {"late", "fair," + kLate},
                                       {"dolly", "fair,dolly(floor=10,tau=1,charge=extra),delay_assignment," + kLate},
                                       {"default", sched::kDefaultPolicies}};

ShuffleLoad RandomLoad(int jobs) {
  Rng rng = Rng::Stream(kSeed, "shuffles");
  const auto between = [&](int least, int most) {
    return least + static_cast<int>(rng.Below(static_cast<uint64_t>(most) - static_cast<uint64_t>(least) + 1));
  };
  ShuffleLoad load;
  double at = 0;
  for (int j = 0; j < jobs; ++j) {
    const int maps = between(kLeastTasks, kMostMaps);
    load.jobs.push_back({at, maps, between(kLeastTasks, kMostReduces)});
    at += rng.Exponential(kMeanGap);
  }
  for (int w = 0; w < kShuffleWorkers; ++w) {
    for (double t = rng.Exponential(kMeanWell); t < 3 * at + 60;) {
      const double lasts = kLeastSlow + (kMostSlow - kLeastSlow) * rng.Uniform();
      load.spells.push_back({t, lasts, w});
      t += lasts + rng.Exponential(kMeanWell);
    }
  }
  std::sort(load.spells.begin(), load.spells.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return load;
}

// One file of random lines per map: they compress little, and no line occurs twice.
class Inputs {
 public:
  Inputs() {
    for (int maps = kLeastTasks; maps <= kMostMaps; ++maps) {
      std::filesystem::create_directories(Path(maps));
      for (int m = 0; m < maps; ++m) {
        Write(Path(maps) + "/" + std::to_string(m), 100 * static_cast<uint64_t>(maps) + static_cast<uint64_t>(m));
      }
      sorted_.push_back(test::Shell("cat '" + Path(maps) + "'/* | sort -u | md5sum"));
    }
  }
  std::string Path(int maps) const { return directory_ / std::to_string(maps); }
  bool IsAnswer(int maps, const std::string& parts) const {
    return test::Shell("cat '" + parts + "'/part-* | sort | md5sum") ==
           sorted_[static_cast<size_t>(maps - kLeastTasks)];
  }

 private:
  static void Write(const std::string& path, uint64_t seed) {
    constexpr char kDigits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";
    Rng rng = Rng::Stream(seed, "lines");
    std::string text;
    while (text.size() < kMapBytes) {
      for (int i = 0; i < 90; ++i) text += kDigits[rng.Below(64)];
      text += '\n';
    }
    OrDie(WriteFileDurably(path, text), "an input");
  }
  test::TempDirectory directory_;
  std::vector<std::string> sorted_;
};

class Workers {
 public:
  Workers(test::NarrowNetwork* network, const std::string& list)
      : network_(*network), cluster_(Options(*network, list)) {
    OrDie(cluster_.Start(), "the cluster");
    for (int w = 0; w < kShuffleWorkers; ++w) {
      groups_.push_back(OrDie(CpuGroup::Make(std::to_string(w)), "a limit of CPU"));
      OrDie(groups_.back().Take(cluster_.worker_pid(w)), "a limit of CPU");
      SetSlow(w, false);
    }
    client_.emplace(cluster_.master_address());
  }
  ~Workers() { OrDie(network_.Limit(0), "the links"); }

  void Narrow(bool narrow) { OrDie(network_.Limit(narrow ? kLinkRate : 0), "the links"); }
  void SetSlow(int worker, bool slow) const {
    OrDie(groups_[static_cast<size_t>(worker)].Limit(kCpus / (slow ? kSpellFactor : 1)), "a limit of CPU");
  }

  struct Submission {
    int maps = 0;
    std::string name, output;
    test::Process process;
  };
  Submission Submit(const Inputs& inputs, int maps, int reduces) {
    Submission s;
    s.maps = maps;
    s.name = "b" + std::to_string(++jobs_);
    s.output = cluster_.directory() + "/out-" + s.name;
    s.process =
        OrDie(cluster_.MrctlInBackground({"submit", "distinct", "--input", "file://" + inputs.Path(maps), "--reduces",
                                          std::to_string(reduces), "--output", "file://" + s.output, "--name", s.name,
                                          "--conf", "max_split_bytes=8m"},  // a map per file
                                         s.name),
              "submit");
    return s;
  }
  void Finish(const Inputs& inputs, Submission* s) {
    const auto code = s->process.Wait(Seconds(600));
    if (!code || *code != 0) Die("job " + s->name + " did not succeed\n" + cluster_.Logs());
    if (!inputs.IsAnswer(s->maps, s->output)) Die("the answer of " + s->name + " is wrong");
    test::Shell("rm -r '" + s->output + "'");
  }
  // Returns all jobs in the order of their submission.
  std::vector<mr::JobStatus> Jobs() {
    std::vector<mr::JobStatus> jobs = OrDie(client_->Jobs(), "the jobs");
    std::sort(jobs.begin(), jobs.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return jobs;
  }
  history::Job History(const mr::JobStatus& job) {
    const ctl::JobHistory history = OrDie(client_->History(job.id), "its history");
    return OrDie(history::Read(history.head + history.text, job.name), "its history").jobs.at(0);
  }

 private:
  static test::ClusterOptions Options(const test::NarrowNetwork& network, const std::string& list) {
    test::ClusterOptions o;
    o.workers = kShuffleWorkers;
    o.slots = kShuffleSlots;
    o.master_flags = {"--scheduler=" + list};
    o.host = network.host();
    for (int w = 0; w < kShuffleWorkers; ++w) {
      o.flags_of.push_back({"--bind", network.address(w)});
      o.networks.push_back(network.network(w));
    }
    return o;
  }

  test::NarrowNetwork& network_;
  test::Cluster cluster_;
  std::vector<CpuGroup> groups_;
  std::optional<ctl::Client> client_;
  int jobs_ = 0;
};

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Returns the bytes of the maps' outputs that reduces on other workers read.
double ReadFromOthers(const history::Job& job) {
  double bytes = 0;
  const auto& reduces = job.stages.at(1).tasks;
  for (const history::Task& map : job.stages.at(0).tasks) {
    for (const history::Task& reduce : reduces) {
      if (reduce.Winner()->worker == map.Winner()->worker) continue;
      bytes += static_cast<double>(map.output_bytes) / static_cast<double>(reduces.size());
    }
  }
  return bytes;
}

// Runs jobs one after the other, on links without a limit. The first one starts the children and loads the library, and
// is left out.
ShuffleCosts Measure(test::NarrowNetwork* network, const Inputs& inputs) {
  Workers workers(network, "fair(slowstart=1)");
  double sent = 0;
  for (int j = 0; j < kCalibrationJobs; ++j) {
    if (j == 1) sent = -OrDie(network->Sent(), "the links");
    auto job = workers.Submit(inputs, kMostMaps, kMostReduces);
    workers.Finish(inputs, &job);
  }
  sent += OrDie(network->Sent(), "the links");
  std::vector<double> maps, around, outputs;
  double from_others = 0, reducing = 0, reduced = 0;  // seconds, bytes
  const auto jobs = workers.Jobs();
  for (size_t j = 1; j < jobs.size(); ++j) {
    const history::Job job = workers.History(jobs[j]);
    from_others += ReadFromOthers(job);
    double bytes = 0, longest[2] = {0, 0};
    Instant last_map;
    for (size_t s = 0; s < job.stages.size(); ++s) {
      const Instant made = last_map;  // of the inputs of reduces, which may have started before
      for (const history::Task& task : job.stages[s].tasks) {
        const history::Attempt& a = *task.Winner();
        const double took = (a.ended - std::max(a.started, made)).seconds();
        longest[s] = std::max(longest[s], took);
        if (s == 0) {
          last_map = std::max(last_map, a.ended);
          maps.push_back(took);
          bytes += static_cast<double>(task.output_bytes);
        } else {
          reducing += (a.ended - std::max(a.started, a.inputs_done)).seconds();
        }
      }
    }
    reduced += bytes;
    outputs.push_back(bytes / (kMapBytes * kMostMaps));
    around.push_back(static_cast<double>(jobs[j].elapsed_us) * 1e-6 - longest[0] - longest[1]);
  }
  const double packed = sent / from_others;  // bytes on the links per byte of output: they are compressed
  return {Mean(maps), reducing / (packed * reduced), Median(around), packed * Mean(outputs)};
}

// Returns the changes of workers, in the order of time.
std::vector<Spell> ChangesOf(const ShuffleLoad& load) {
  std::vector<Spell> changes;
  for (const SlowSpell& spell : load.spells) {
    changes.push_back({spell.at, spell.worker, true});
    changes.push_back({spell.at + spell.lasts, spell.worker, false});
  }
  std::stable_sort(changes.begin(), changes.end(), [](const Spell& a, const Spell& b) { return a.at < b.at; });
  return changes;
}

struct Outcome {
  std::vector<double> seconds;  // of each job, by the master's clock
  double slot_seconds = 0;
  int attempts = 0;  // that did not commit
};

Outcome RunLoad(test::NarrowNetwork* network, const Inputs& inputs, const ShuffleLoad& load, const Policy& policy) {
  Workers workers(network, policy.list);
  workers.Narrow(true);
  std::vector<Workers::Submission> running;
  const Instant begin = Now();
  {
    const Weather weather(ChangesOf(load), begin, [&](const Spell& s) { workers.SetSlow(s.worker, s.slow); });
    for (const ShuffleJob& job : load.jobs) {
      Until(begin, job.at);
      running.push_back(workers.Submit(inputs, job.maps, job.reduces));
    }
    for (Workers::Submission& s : running) workers.Finish(inputs, &s);
  }
  Outcome outcome;
  for (const mr::JobStatus& status : workers.Jobs()) {
    outcome.seconds.push_back(static_cast<double>(status.elapsed_us) * 1e-6);
    for (const history::Stage& stage : workers.History(status).stages) {
      for (const history::Task& task : stage.tasks) {
        for (const history::Attempt& a : task.attempts) {
          if (a.started.ns == 0 || a.ended.ns == 0) continue;  // it is still being stopped
          outcome.slot_seconds += (a.ended - a.started).seconds();
          outcome.attempts += a.number != task.winner;
        }
      }
    }
  }
  return outcome;
}

int Main(int jobs) {
  Report report;
  const auto network = OrDie(test::NarrowNetwork::Make(kShuffleWorkers), "the narrow network");
  const int stale = RemoveStaleGroups(CpuGroup::Root());
  if (stale > 0) std::fprintf(stderr, "bench: removed %d control groups of a run that was killed\n", stale);
  const Inputs inputs;
  const ShuffleLoad load = RandomLoad(jobs);
  const ShuffleCosts costs = Measure(network.get(), inputs);
  std::fprintf(stderr,
               "alone: a map %.2f s, a reduce %.2f s per MB, around %.2f s, %.2f bytes on the links per byte read\n",
               costs.map, 1e6 * costs.reduce, costs.around, costs.shuffled);
  std::map<std::string, Outcome> outcomes;
  for (const Policy& policy : kPolicies) {
    outcomes[policy.name] = RunLoad(network.get(), inputs, load, policy);
    std::fprintf(stderr, "%s: mean %.2f s\n", policy.name.c_str(), Mean(outcomes[policy.name].seconds));
  }
  std::printf("\n%d jobs of 6 to 9 tasks under each list, links of %.0f MB/s, workers slow at times by %g\n", jobs,
              kLinkRate / 1e6, kSpellFactor);
  std::printf("%-10s %9s %8s %8s %14s %9s %8s\n", "list", "mean s", "median", "p95", "simulated mean", "attempts",
              "slot-s");
  std::map<std::string, double> simulated;
  for (const auto& [name, list] : kPolicies) {
    const Outcome& o = outcomes[name];
    simulated[name] = PredictShuffles(load, list, costs);
    std::printf("%-10s %9.2f %8.2f %8.2f %14.2f %9d %8.0f\n", name.c_str(), Mean(o.seconds), Median(o.seconds),
                Quantile(o.seconds, .95), simulated[name], o.attempts, o.slot_seconds);
  }
  std::printf("\n");
  for (const Policy& policy : kPolicies) {
    if (policy.name == "fair") continue;
    const double here = Mean(outcomes[policy.name].seconds) / Mean(outcomes["fair"].seconds);
    const double there = simulated[policy.name] / simulated["fair"];
    std::printf("%-52s %8.2f x      simulated %.2f\n", (policy.name + " / fair").c_str(), here, there);
    report.Row("simulator off by, " + policy.name + " / fair", 100 * std::abs(there / here - 1), "%", kAgreement, true);
  }
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 60;
  if (jobs < 1) mr::bench::Die("the argument is how many jobs each list gets");
  return mr::bench::Main(jobs);
}
