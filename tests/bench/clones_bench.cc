// ./dev bench clones: small jobs on a real cluster of eight workers on this host, each with a fifth of a CPU. Workers
// are slow at times: by their quota, and some by their link. Each list of policies gets the same jobs and slow periods,
// and the lists take turns. Then it measures, on workers without a quota, how clones on idle slots delay first
// attempts. Needs root for the control groups. Prints tables and writes a picture; exits with 1 if a target is missed.
// Argument: number of jobs per list; default 40.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/rng.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "master/history/history.h"
#include "master/sim/studies/svg.h"
#include "tests/bench/cpu_group.h"
#include "tests/bench/lists.h"
#include "tests/bench/report.h"
#include "tests/bench/weather.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/wire.h"

namespace mr::bench {
namespace {

constexpr int kWorkers = 8, kSlots = 2;
constexpr double kCpus = 0.2, kAllCpus = 8;
// A worker is fast for kMeanWell seconds on average, then slow by this factor for 2 to 6 s: a fifth of the time.
constexpr double kMeanWell = 16, kLeastSlow = 2, kMostSlow = 6, kFactor = 10;
constexpr int kLinks[] = {2, 5};                  // workers whose link is also slow at times
constexpr double kSlowLink = 2e5, kWellLink = 0;  // bytes per second; 0: unlimited
constexpr int kJobsPerBatch = 10;
constexpr double kMeanGap = 2.5;                                 // seconds between jobs of a batch
constexpr uint64_t kMapBytes = 4'300'000;                        // half of what a map reads
constexpr int kLeastTasks = 2, kMostMaps = 6, kMostReduces = 4;  // per phase
constexpr uint64_t kSeed = 4;
// Slots of the budget, of 16: enough for one phase at a time of five tasks that run three times.
constexpr int kFloor = 10;
constexpr double kMostDelay = 0.020;

struct Policy {
  std::string name, list;
};
const std::string kLate = TunedLate("1s");
const std::string kDolly = "dolly(floor=" + std::to_string(kFloor) + ",tau=1,charge=extra),delay_assignment";
const std::vector<Policy> kPolicies = {{"none", "none"},
                                       {"late", kLate},
                                       {"mantri", "mantri_restart(min_age=1s)"},
                                       {"dolly", kDolly + "," + kLate},
                                       {"opportunistic", kDolly + ",opportunistic(attempts=3,tasks=150)," + kLate}};
const std::string kClones = "dolly", kLent = "opportunistic";

struct SmallJob {
  double at = 0;  // seconds after the begin of the batch
  int maps = 0, reduces = 0;
};
// Jobs, and changes of workers between slow and fast, in the order of time.
struct Batch {
  std::vector<SmallJob> jobs;
  std::vector<Spell> spells;
};

// Draws jobs of 4 to 10 tasks in two phases. Slow periods go on for as long as a batch may take.
Batch RandomBatch(uint64_t number, int jobs) {
  Rng rng = Rng::Stream(kSeed + number, "clones");
  Batch batch;
  double at = 0;
  for (int j = 0; j < jobs; ++j) {
    const int reduces = kLeastTasks + static_cast<int>(rng.Below(kMostReduces - kLeastTasks + 1));
    batch.jobs.push_back({at, kLeastTasks + static_cast<int>(rng.Below(kMostMaps - kLeastTasks + 1)), reduces});
    at += rng.Exponential(kMeanGap);
  }
  for (int w = 0; w < kWorkers; ++w) {
    for (double t = rng.Exponential(kMeanWell); t < 10 * at + 60;) {
      batch.spells.push_back({t, w, true});
      t += kLeastSlow + (kMostSlow - kLeastSlow) * rng.Uniform();
      batch.spells.push_back({t, w, false});
      t += rng.Exponential(kMeanWell);
    }
  }
  std::stable_sort(batch.spells.begin(), batch.spells.end(),
                   [](const Spell& x, const Spell& y) { return x.at < y.at; });
  return batch;
}

// Results of one job.
struct Outcome {
  double seconds = 0;                // by the master's clock
  std::vector<double> ratios;        // of each phase with clones: median progress rate / least progress rate
  double extra = 0, lent_extra = 0;  // slot-seconds of attempts that did not commit
  uint64_t clones = 0, clones_won = 0, lent = 0, lent_won = 0, lent_killed = 0, speculative = 0, speculative_won = 0;
  std::vector<double> delays;  // of first attempts: seconds from when they could run to when they ran
};

class Workers {
 public:
  Workers()
      : cluster_({.workers = kWorkers,
                  .slots = kSlots,
                  .master_flags = {"--scheduler=fair(slowstart=1)"},
                  .flags_of = Flags()}) {
    OrDie(cluster_.Start(), "the cluster");
    for (const int w : kLinks) {
      links_[w] = std::make_unique<test::Wire>(Host(w), cluster_.worker_port(w), kWellLink);
      links_[w]->LeadTo(cluster_.worker_port(w));
    }
    const int stale = RemoveStaleGroups(CpuGroup::Root());
    if (stale > 0) std::fprintf(stderr, "bench: removed %d control groups of a run that was killed\n", stale);
    for (int w = 0; w < cluster_.workers(); ++w) {
      groups_.push_back(OrDie(CpuGroup::Make(std::to_string(w)), "a limit of CPU"));
      OrDie(groups_.back().Take(cluster_.worker_pid(w)), "a limit of CPU");
    }
    client_.emplace(cluster_.master_address());
    Limit(kCpus);
  }

  void Limit(double cpus) {
    for (const CpuGroup& group : groups_) OrDie(group.Limit(cpus), "a limit of CPU");
    for (auto& [w, link] : links_) link->Limit(kWellLink);
  }

  void Set(const Spell& spell) {
    OrDie(groups_[static_cast<size_t>(spell.worker)].Limit(kCpus / (spell.slow ? kFactor : 1)), "a limit of CPU");
    if (const auto link = links_.find(spell.worker); link != links_.end())
      link->second->Limit(spell.slow ? kSlowLink : kWellLink);
  }

  struct Submission {
    std::string name, output;
    test::Process process;
  };
  Submission Submit(std::vector<std::string> args, const std::string& list) {
    Submission s;
    s.name = "b" + std::to_string(++jobs_);
    s.output = cluster_.directory() + "/out-" + s.name;
    args.insert(args.begin(), "submit");
    args.insert(args.end(), {"--name", s.name, "--output", "file://" + s.output, "--scheduler", list});
    s.process = OrDie(cluster_.MrctlInBackground(args, s.name), "submit");
    return s;
  }
  void Wait(Submission* s) {
    const auto code = s->process.Wait(Seconds(300));
    if (!code || *code != 0) Die("job " + s->name + " did not succeed\n" + cluster_.Logs());
  }

  // Returns results by the names of ended jobs.
  std::map<std::string, Outcome> Outcomes(const std::vector<std::string>& names) {
    std::map<std::string, Outcome> outcomes;
    for (const mr::JobStatus& job : OrDie(client_->Jobs(), "the jobs")) {
      if (std::find(names.begin(), names.end(), job.name) == names.end()) continue;
      outcomes[job.name] = OutcomeOf(OrDie(client_->Job(job.id), "the job"));
    }
    if (outcomes.size() != names.size()) Die("the master does not know all jobs of the batch");
    return outcomes;
  }
  const std::string& directory() const { return cluster_.directory(); }

 private:
  static std::string Host(int worker) { return "127.0.0." + std::to_string(worker + 2); }
  static std::vector<std::vector<std::string>> Flags() {
    std::vector<std::vector<std::string>> flags(kWorkers);
    for (const int w : kLinks) flags[static_cast<size_t>(w)] = {"--advertise", Host(w)};
    return flags;
  }

  Outcome OutcomeOf(const mr::JobStatus& status) {
    Outcome o;
    o.seconds = static_cast<double>(status.elapsed_us) * 1e-6;
    for (const mr::CauseStatus& c : status.causes) {
      if (c.cause != "speculative" && c.cause != "restart") continue;
      o.speculative += c.launched;
      o.speculative_won += c.won;
    }
    if (status.clones) {
      o.extra = static_cast<double>(status.clones->extra_us) * 1e-6;
      o.lent_extra = static_cast<double>(status.clones->lent_extra_us) * 1e-6;
      o.clones = status.clones->launched;
      o.clones_won = status.clones->won;
      o.lent = status.clones->lent_launched;
      o.lent_won = status.clones->lent_won;
      o.lent_killed = status.clones->lent_killed;
    }
    const ctl::JobHistory history = OrDie(client_->History(status.id), "its history");
    const history::Document document = OrDie(history::Read(history.head + history.text, status.name), "its history");
    Instant ready = document.jobs.at(0).submitted;
    for (const history::Stage& stage : document.jobs[0].stages) {
      Instant end;
      std::vector<double> took;
      bool cloned = false;
      for (const history::Task& task : stage.tasks) {
        const history::Attempt* winner = task.Winner();
        if (winner == nullptr) Die("a task of " + status.name + " has no winner");
        end = std::max(end, winner->ended);
        took.push_back((winner->ended - winner->started).seconds());  // all inputs were there
        for (const history::Attempt& a : task.attempts) {
          cloned |= a.cause == Cause::kClone;
          if (a.cause == Cause::kFirst) o.delays.push_back((a.started - ready).seconds());
        }
      }
      const double slowest = *std::max_element(took.begin(), took.end());
      if (cloned) o.ratios.push_back(slowest / Median(took));
      ready = end;
    }
    return o;
  }

  test::Cluster cluster_;
  std::map<int, std::unique_ptr<test::Wire>> links_;
  std::vector<CpuGroup> groups_;
  std::optional<ctl::Client> client_;
  int jobs_ = 0;
};

// Results of all jobs of one list.
struct Sum {
  std::vector<Outcome> jobs;
  double busy = 0;  // seconds that its batches took
  std::vector<double> seconds() const {
    std::vector<double> all;
    for (const Outcome& o : jobs) all.push_back(o.seconds);
    return all;
  }
  std::vector<double> ratios() const {
    std::vector<double> all;
    for (const Outcome& o : jobs) all.insert(all.end(), o.ratios.begin(), o.ratios.end());
    return all;
  }
  template <class F>
  double Total(F f) const {
    double sum = 0;
    for (const Outcome& o : jobs) sum += static_cast<double>(f(o));
    return sum;
  }
};

double Mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

// Text in a file per map, and the expected counts for the first files.
class Inputs {
 public:
  explicit Inputs(const std::string& directory) : directory_(directory + "/in") {
    for (int maps = 1; maps <= kMostMaps; ++maps) {
      OrDie(MakeDirectories(Path(maps)), "the inputs");
      for (int m = 0; m < maps; ++m) {
        const std::string file = Path(maps) + "/" + std::to_string(m);
        test::WriteBible(file + ".half", kMapBytes - 10'000 * static_cast<uint64_t>(m));
        test::Shell("cat '" + file + ".half' '" + file + ".half' > '" + file + "' && rm '" + file + ".half'");
      }
      const std::string all = directory + "/all" + std::to_string(maps);
      test::Shell("cat '" + Path(maps) + "'/* > '" + all + "'");
      expected_.push_back(test::ExpectedWordCount(all));
    }
  }
  std::string Path(int maps) const { return directory_ + std::to_string(maps); }
  const std::string& Expected(int maps) const { return expected_[static_cast<size_t>(maps - 1)]; }

 private:
  const std::string directory_;
  std::vector<std::string> expected_;
};

void RunBatch(const Batch& batch, const Policy& policy, const Inputs& inputs, Workers* workers, Sum* sum) {
  std::vector<Workers::Submission> running;
  const Instant begin = Now();
  {
    const Weather weather(batch.spells, begin, [workers](const Spell& spell) { workers->Set(spell); });
    for (const SmallJob& job : batch.jobs) {
      Until(begin, job.at);
      running.push_back(workers->Submit({"wordcount", "--input", "file://" + inputs.Path(job.maps), "--reduces",
                                         std::to_string(job.reduces), "--conf", "max_split_bytes=64m"},
                                        policy.list));
    }
    for (Workers::Submission& s : running) workers->Wait(&s);
    sum->busy += (Now() - begin).seconds();
  }
  workers->Limit(kCpus);  // all are fast again
  std::vector<std::string> names;
  for (size_t j = 0; j < running.size(); ++j) {
    names.push_back(running[j].name);
    if (test::SortedLines(test::ReadParts(running[j].output)) != inputs.Expected(batch.jobs[j].maps)) {
      Die("the answer of " + running[j].name + " is wrong under " + policy.name);
    }
    test::Shell("rm -r '" + running[j].output + "'");
  }
  for (auto& [name, outcome] : workers->Outcomes(names)) sum->jobs.push_back(std::move(outcome));
}

void Print(const std::map<std::string, Sum>& sums, Report* report) {
  std::printf("\n%zu word counts of 4 to 10 tasks under each list; workers slow a fifth of the time, by %g\n",
              sums.begin()->second.jobs.size(), kFactor);
  std::printf("%-14s %8s %8s %8s | %7s %5s %7s | %7s %5s %7s %7s | %7s %5s\n", "list", "mean s", "median", "p95",
              "clones", "won", "extra", "on idle", "won", "killed", "extra", "backups", "won");
  for (const Policy& policy : kPolicies) {
    const Sum& sum = sums.at(policy.name);
    const auto total = [&](auto field) { return sum.Total([&](const Outcome& o) { return o.*field; }); };
    std::printf("%-14s %8.2f %8.2f %8.2f | %7.0f %5.0f %5.1f s | %7.0f %5.0f %7.0f %5.1f s | %7.0f %5.0f\n",
                policy.name.c_str(), Mean(sum.seconds()), Median(sum.seconds()), Quantile(sum.seconds(), .95),
                total(&Outcome::clones), total(&Outcome::clones_won), total(&Outcome::extra), total(&Outcome::lent),
                total(&Outcome::lent_won), total(&Outcome::lent_killed), total(&Outcome::lent_extra),
                total(&Outcome::speculative), total(&Outcome::speculative_won));
  }
  const auto mean = [&](const std::string& name) { return Mean(sums.at(name).seconds()); };
  const auto p95 = [&](const std::string& name) { return Quantile(sums.at(name).seconds(), .95); };
  std::printf("\n");
  for (const std::string name : {"late", "mantri"}) {
    report->Row("mean, " + name + " / none", mean(name) / mean("none"), "x", 1, true);
    report->Row("p95, " + name + " / none", p95(name) / p95("none"), "x", 1, true);
    report->Row("mean, dolly / " + name, mean(kClones) / mean(name), "x", 1, true);
    report->Row("p95, dolly / " + name, p95(kClones) / p95(name), "x", 1, true);
  }
  report->Row("mean, with opportunistic / dolly", mean(kLent) / mean(kClones), "x", 1, true);
  for (const std::string& name : {kClones, kLent}) {
    const Sum& sum = sums.at(name);
    const std::vector<double> ratios = sum.ratios();
    std::printf("%s: %zu phases admitted, median / least progress rate %.2f, p95 %.2f\n", name.c_str(), ratios.size(),
                Median(ratios), Quantile(ratios, .95));
    report->Row("phases admitted, " + name, static_cast<double>(ratios.size()), "", 1, false);
    report->Row("median / least progress rate, " + name, Median(ratios), "x", 1.3, true);
    const double extra = sum.Total([](const Outcome& o) { return o.extra; });
    report->Row("extra slot-seconds of the budget's, " + name, extra, "s", kFloor * sum.busy, true);
  }
}

sim::Chart Draw(const std::map<std::string, Sum>& sums) {
  sim::Chart chart;
  chart.title = "Completion of small jobs, workers slow at times";
  chart.x.label = "seconds";
  chart.x.log = true;
  chart.y.label = "share of jobs";
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    chart.lines.push_back(sim::Cdf(kPolicies[i].name, sim::ChartColour(i), sums.at(kPolicies[i].name).seconds()));
  }
  return chart;
}

// A long job takes half of the slots, and its clones the others. Then short jobs come and need slots.
void BenchDelays(Workers* workers, int cycles, Report* report) {
  constexpr int kShort = 4;
  const std::string kFilled = "opportunistic(fill=1)";  // on every idle slot
  const auto naps = [](int tasks, int ms, int reduces) -> std::vector<std::string> {
    return {"sleep",
            "--ms",
            std::to_string(ms),
            "--tasks",
            std::to_string(tasks),
            "--reduces",
            std::to_string(reduces),
            "--reduce-ms",
            "100"};
  };
  workers->Limit(kAllCpus);
  std::map<std::string, std::vector<double>> delays;
  double lent = 0, killed = 0;
  for (int cycle = 0; cycle < cycles; ++cycle) {
    for (const std::string& list : {std::string("none"), kFilled}) {
      std::vector<Workers::Submission> running;
      const Instant begin = Now();
      running.push_back(workers->Submit(naps(kWorkers * kSlots / 2, 3000, 1), list));
      for (int j = 0; j < kShort; ++j) {
        Until(begin, 1 + 0.5 * j);
        running.push_back(workers->Submit(naps(4, 200, 2), list));
      }
      for (Workers::Submission& s : running) workers->Wait(&s);
      std::vector<std::string> names;
      for (const Workers::Submission& s : running) names.push_back(s.name);
      for (const auto& [name, outcome] : workers->Outcomes(names)) {
        lent += static_cast<double>(outcome.lent);
        killed += static_cast<double>(outcome.lent_killed);
        delays[list].insert(delays[list].end(), outcome.delays.begin(), outcome.delays.end());
      }
    }
  }
  std::printf("\nFirst attempts on workers without a quota: seconds from when they could run to when they did\n");
  std::printf("%-22s %9s %9s %9s %9s\n", "list", "attempts", "median", "p95", "most");
  for (const auto& [list, d] : delays) {
    std::printf("%-22s %9zu %9.3f %9.3f %9.3f\n", list.c_str(), d.size(), Median(d), Quantile(d, .95), Quantile(d, 1));
  }
  std::printf("%.0f clones on idle slots, %.0f of them ended before their time\n", lent, killed);
  for (const double share : {.5, .95, 1.}) {
    const std::string what = share == .5 ? "median" : share == 1 ? "longest" : "p95";
    report->Row("later with opportunistic clones, " + what,
                1e3 * (Quantile(delays[kFilled], share) - Quantile(delays["none"], share)), "ms", 1e3 * kMostDelay,
                true);
  }
}

int Main(int jobs) {
  Report report;
  Workers workers;
  const Inputs inputs(workers.directory());
  std::map<std::string, Sum> sums;
  for (int done = 0, number = 0; done < jobs; ++number) {
    const Batch batch = RandomBatch(static_cast<uint64_t>(number), std::min(kJobsPerBatch, jobs - done));
    done += static_cast<int>(batch.jobs.size());
    for (size_t i = 0; i < kPolicies.size(); ++i) {
      // Each batch begins with another list.
      const Policy& policy = kPolicies[(i + static_cast<size_t>(number)) % kPolicies.size()];
      Sum& sum = sums[policy.name];
      const size_t before = sum.jobs.size();
      RunBatch(batch, policy, inputs, &workers, &sum);
      std::vector<double> seconds;
      for (size_t j = before; j < sum.jobs.size(); ++j) seconds.push_back(sum.jobs[j].seconds);
      std::fprintf(stderr, "batch %d, %s: mean %.2f s\n", number + 1, policy.name.c_str(), Mean(seconds));
    }
  }
  Print(sums, &report);
  BenchDelays(&workers, std::max(1, jobs / 5), &report);
  const std::string picture = test::BinaryDirectory() + "/../clones.svg";
  OrDie(WriteFileDurably(picture, sim::Svg("Clones", {Draw(sums)})), "the picture");
  std::printf("\npicture: %s\n", picture.c_str());
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 40;
  if (jobs < 1) mr::bench::Die("the argument is how many jobs each list gets");
  return mr::bench::Main(jobs);
}
