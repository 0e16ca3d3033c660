// ./dev bench stragglers: a real cluster of eight workers on this host, each with a fifth of a CPU. Some are slow, and
// one has a slow link. Two jobs run under each policy, interleaved; results are medians of five, beside those of the
// simulator. Needs root for the control groups. Prints tables and writes a picture; exits with 1 if a target is missed.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "jobs/mrctl/client.h"
#include "master/sim/studies/svg.h"
#include "tests/bench/cpu_group.h"
#include "tests/bench/lists.h"
#include "tests/bench/recorded_bands.h"
#include "tests/bench/report.h"
#include "tests/bench/stragglers.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"
#include "tests/support/wire.h"

namespace mr::bench {
namespace {

constexpr double kCpus = 0.2;
constexpr int kSlowLink = 2;                 // index of a worker that is not slow itself
constexpr double kLinkBytesPerSecond = 1e6;  // slow against memory speed
constexpr int kRounds = 5;
// LATE's 60 s, scaled like the job.
const std::string kMinAge = "3s";
// The word count: copies of the Bible, in maps of one block each.
constexpr int kBibles = 200, kCalibrationBibles = 50, kReduces = 4;
constexpr int kBlockMiB = 32;

struct Policy {
  std::string name, list;  // list: of the job's --scheduler
};
const std::vector<Policy> kPolicies = {{"none", ""},
                                       {"hadoop_speculation", "hadoop_speculation(min_age=" + kMinAge + ")"},
                                       {"late", TunedLate(kMinAge)},
                                       {"mantri", "mantri_restart(min_age=" + kMinAge + ")"}};
std::string InSimulator(const Policy& policy) { return policy.list.empty() ? "fifo" : "fifo," + policy.list; }

// The workers of this benchmark.
class Workers {
 public:
  explicit Workers(int slots)
      : cluster_({.workers = static_cast<int>(kFactors.size()),
                  .slots = 2 * slots,
                  .master_flags = {"--scheduler=fifo", "--block_size=" + std::to_string(kBlockMiB) + "m"},
                  .worker_flags = {"--map_slots=" + std::to_string(slots), "--reduce_slots=" + std::to_string(slots)},
                  .flags_of = Flags(),
                  .labels = Labels()}) {
    OrDie(cluster_.Start(), "the cluster");
    link_.emplace(kLinkHost, cluster_.worker_port(kSlowLink), kLinkBytesPerSecond);
    link_->LeadTo(cluster_.worker_port(kSlowLink));
    const int stale = RemoveStaleGroups(CpuGroup::Root());
    if (stale > 0) std::fprintf(stderr, "bench: removed %d control groups of a run that was killed\n", stale);
    for (int w = 0; w < cluster_.workers(); ++w) {
      groups_.push_back(OrDie(CpuGroup::Make(std::to_string(w)), "a limit of CPU"));
      OrDie(groups_.back().Take(cluster_.worker_pid(w)), "a limit of CPU");
    }
    client_.emplace(cluster_.master_address());
  }

  // by_factor: a worker's factor also divides its CPU. Naps are stretched by its label.
  void Limit(bool by_factor) {
    for (size_t w = 0; w < groups_.size(); ++w)
      OrDie(groups_[w].Limit(kCpus / (by_factor ? kFactors[w] : 1)), "a limit of CPU");
  }

  struct Outcome {
    std::string job;     // its id
    double seconds = 0;  // by the master's clock
    int extra = 0, won = 0;
    double wasted = 0;                  // slot-seconds of attempts that did not commit
    std::vector<double> maps, reduces;  // seconds of attempts that committed
  };
  Outcome Run(std::vector<std::string> args, const Policy& policy) {
    const std::string out = cluster_.directory() + "/out" + std::to_string(++jobs_);
    args.insert(args.begin(), "submit");
    args.insert(args.end(), {"--output", "file://" + out});
    if (!policy.list.empty()) args.insert(args.end(), {"--scheduler", policy.list});
    const auto run = cluster_.Mrctl(args, Seconds(600));
    if (run.exit != 0) Die(run.err + cluster_.Logs());
    output_ = out;
    Outcome outcome;
    const JobId id{1, static_cast<uint32_t>(jobs_)};
    outcome.job = Name(id);
    outcome.seconds = static_cast<double>(OrDie(client_->Job(id), "the job").elapsed_us) * 1e-6;
    for (const AttemptStatus& a : OrDie(client_->Attempts(id), "its attempts")) {
      const bool won = a.state == "committed", extra = a.cause != "first" && a.cause != "retry";
      outcome.extra += extra;
      outcome.won += extra && won;
      const double ran = static_cast<double>(a.ran_us) * 1e-6;
      if (!won) outcome.wasted += ran;
      if (won) (a.id.find("_m_") != std::string::npos ? outcome.maps : outcome.reduces).push_back(ran);
    }
    return outcome;
  }
  // Returns the answer of the last run.
  std::string Answer() const { return test::SortedLines(test::ReadParts(output_)); }
  const std::string& directory() const { return cluster_.directory(); }
  const test::Cluster& cluster() const { return cluster_; }

 private:
  static constexpr const char* kLinkHost = "127.0.0.2";
  static std::vector<std::vector<std::string>> Flags() {
    std::vector<std::vector<std::string>> flags(kFactors.size());
    flags[kSlowLink] = {"--advertise", kLinkHost};
    return flags;
  }
  static std::vector<std::string> Labels() {
    std::vector<std::string> labels;
    for (const double factor : kFactors) labels.push_back("slowdown=" + std::to_string(factor));
    return labels;
  }

  test::Cluster cluster_;
  std::optional<test::Wire> link_;
  std::vector<CpuGroup> groups_;
  std::optional<ctl::Client> client_;
  int jobs_ = 0;
  std::string output_;
};

// Outcomes by policy.
using Outcomes = std::map<std::string, std::vector<Workers::Outcome>>;
double SecondsOf(const std::vector<Workers::Outcome>& runs) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(run.seconds);
  return Median(values);
}
double WasteOf(const std::vector<Workers::Outcome>& runs) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(run.wasted);
  return Median(values);
}

void Print(const char* job, const Outcomes& outcomes, Report* report) {
  std::printf("\n%s, medians of %d (times as slow: ", job, kRounds);
  for (const double factor : kFactors) std::printf("%g ", factor);
  std::printf(")\n%-20s %9s %19s %8s %5s %13s\n", "policy", "seconds", "each", "extra", "won", "wasted slot-s");
  for (const Policy& policy : kPolicies) {
    const auto& runs = outcomes.at(policy.name);
    std::string each;
    double extra = 0, won = 0;
    for (const auto& run : runs) {
      char text[16];
      std::snprintf(text, sizeof text, "%.0f ", run.seconds);
      each += text;
      extra += run.extra;
      won += run.won;
    }
    const double n = static_cast<double>(runs.size());
    std::printf("%-20s %9.2f %19s %8.1f %5.1f %13.1f  %s\n", policy.name.c_str(), SecondsOf(runs), each.c_str(),
                extra / n, won / n, WasteOf(runs),
                std::string(static_cast<size_t>(SecondsOf(runs) * 1.5), '#').substr(0, 80).c_str());
  }
  const double none = SecondsOf(outcomes.at("none"));
  for (const Policy& policy : kPolicies) {
    if (policy.name != "none")
      report->Row("none / " + policy.name, none / SecondsOf(outcomes.at(policy.name)), "x", 1.3, false);
  }
  report->Row("late / hadoop_speculation",
              SecondsOf(outcomes.at("late")) / SecondsOf(outcomes.at("hadoop_speculation")), "x", 1, true);
  report->Row("waste of late / of hadoop_speculation",
              WasteOf(outcomes.at("late")) / WasteOf(outcomes.at("hadoop_speculation")), "x", 1, true);
}

void PrintBands(const Workers& workers, const Outcomes& outcomes, Report* report) {
  std::vector<RecordedRun> runs;
  std::vector<std::string> lists;
  for (const Policy& policy : kPolicies) {
    for (const auto& run : outcomes.at(policy.name)) runs.push_back({run.job, lists.size(), run.seconds});
    lists.push_back(InSimulator(policy));
  }
  CheckBands(workers.cluster(), runs, lists, report);
}

void PrintPredictions(const char* job, const Outcomes& outcomes, const std::map<std::string, double>& predicted,
                      double within, Report* report) {
  std::printf("\n%s, the simulator against the cluster\n", job);
  for (const auto& [policy, seconds] : predicted) {
    const double measured = SecondsOf(outcomes.at(policy));
    std::printf("%-20s %9.2f s simulated, %9.2f s measured\n", policy.c_str(), seconds, measured);
    report->Row("off by, " + policy, 100 * std::abs(seconds / measured - 1), "%", within, true);
  }
}

sim::Chart Draw(const std::string& job, const Outcomes& outcomes) {
  std::vector<std::string> names;
  std::vector<std::vector<double>> seconds;
  for (const Policy& policy : kPolicies) {
    names.push_back(policy.name);
    seconds.emplace_back();
    for (const auto& run : outcomes.at(policy.name)) seconds.back().push_back(run.seconds);
  }
  return sim::Strip(job + ": each run, and their median", "seconds", names, seconds);
}

std::vector<std::string> Naps(int maps, int reduces, double map_seconds, double reduce_seconds) {
  const auto ms = [](double s) { return std::to_string(static_cast<int>(s * 1000)); };
  return {"sleep",
          "--ms",
          ms(map_seconds),
          "--tasks",
          std::to_string(maps),
          "--reduces",
          std::to_string(reduces),
          "--reduce-ms",
          ms(reduce_seconds),
          "--steps",
          std::to_string(kNapSteps)};
}

void BenchNaps(Report* report, std::vector<sim::Chart>* charts) {
  Workers workers(kNapSlots);
  workers.Limit(false);
  const Policy none = kPolicies[0];
  // Measures the time around the naps, on jobs without any.
  std::vector<double> around;
  for (int i = 0; i < kRounds; ++i) around.push_back(workers.Run(Naps(kNapMaps, kNapReduces, 0, 0), none).seconds);
  std::string expected;
  for (int r = 0; r < kNapReduces; ++r) expected += std::to_string(r) + "\t" + std::to_string(kNapSteps) + "\n";
  expected = test::SortedLines(expected);
  Outcomes outcomes;
  for (int round = 0; round < kRounds; ++round) {
    for (const Policy& policy : kPolicies) {
      outcomes[policy.name].push_back(
          workers.Run(Naps(kNapMaps, kNapReduces, kNapMapSeconds, kNapReduceSeconds), policy));
      if (workers.Answer() != expected) Die("the naps' answer is wrong under " + policy.name);
      std::fprintf(stderr, "naps, round %d, %s: %.1f s\n", round + 1, policy.name.c_str(),
                   outcomes[policy.name].back().seconds);
    }
  }
  Print("Naps: the job of LATE 5.4, twenty times as fast", outcomes, report);
  std::map<std::string, double> predicted;
  for (const Policy& policy : kPolicies) {
    if (policy.name != "hadoop_speculation") predicted[policy.name] = PredictNaps(InSimulator(policy), Median(around));
  }
  PrintPredictions("Naps", outcomes, predicted, 15, report);
  PrintBands(workers, outcomes, report);
  charts->push_back(Draw("Naps", outcomes));
}

// Writes the Bible `times` times. Returns its word count.
std::string WriteBibles(const std::string& path, int times) {
  test::WriteBible(path + ".one");
  const std::string one = OrDie(ReadFile(path + ".one"), "the Bible");
  const UniqueFd out = OrDie(OpenFile(path, O_WRONLY | O_CREAT | O_TRUNC), "the input");
  for (int i = 0; i < times; ++i) OrDie(WriteAll(out.get(), one), "the input");
  std::string expected;
  const std::string counts = test::ExpectedWordCount(path + ".one");
  for (size_t at = 0; at < counts.size();) {
    const size_t tab = counts.find('\t', at), end = counts.find('\n', at);
    expected += counts.substr(at, tab + 1 - at) + std::to_string(times * std::atoll(counts.c_str() + tab + 1)) + "\n";
    at = end + 1;
  }
  return test::SortedLines(expected);
}

void BenchWords(Report* report, std::vector<sim::Chart>* charts) {
  Workers workers(1);
  const auto words = [](const std::string& path) -> std::vector<std::string> {
    return {"wordcount", "--input", "file://" + path, "--reduces", std::to_string(kReduces)};
  };
  const auto mean = [](const std::vector<double>& v) {
    double sum = 0;
    for (const double x : v) sum += x;
    return sum / static_cast<double>(v.size());
  };
  const std::string small = workers.directory() + "/small", large = workers.directory() + "/large";
  (void)WriteBibles(small, kCalibrationBibles);
  const std::string expected = WriteBibles(large, kBibles);

  // Calibrates on less text, on workers of equal speed.
  workers.Limit(false);
  Calibration calibration;
  (void)workers.Run(words(small), kPolicies[0]);  // starts the children and loads the library
  const auto learnt = workers.Run(words(small), kPolicies[0]);
  calibration.map_seconds = mean(learnt.maps);
  calibration.reduce_seconds = mean(learnt.reduces);
  const double small_bytes = static_cast<double>(OrDie(ReadFile(small), "the input").size());
  calibration.map_bytes = small_bytes / static_cast<double>(learnt.maps.size());

  workers.Limit(true);
  Outcomes outcomes;
  for (int round = 0; round < kRounds; ++round) {
    for (const Policy& policy : kPolicies) {
      outcomes[policy.name].push_back(workers.Run(words(large), policy));
      if (workers.Answer() != expected) Die("the word count is wrong under " + policy.name);
      std::fprintf(stderr, "words, round %d, %s: %.1f s\n", round + 1, policy.name.c_str(),
                   outcomes[policy.name].back().seconds);
    }
  }
  Print("Word count, CPU quotas divided by the factor", outcomes, report);
  const int maps = static_cast<int>(outcomes["none"][0].maps.size());
  const double bytes = small_bytes / kCalibrationBibles * kBibles;
  std::map<std::string, double> predicted;
  for (const Policy& policy : kPolicies) {
    if (policy.name != "hadoop_speculation")
      predicted[policy.name] = PredictWords(InSimulator(policy), calibration, bytes / maps, maps, kReduces);
  }
  PrintPredictions("Word count", outcomes, predicted, 30, report);
  charts->push_back(Draw("Word count", outcomes));
}

int Main(const std::string& only) {
  Report report;
  std::vector<sim::Chart> charts;
  if (only.empty() || only == "naps") BenchNaps(&report, &charts);
  if (only.empty() || only == "words") BenchWords(&report, &charts);
  const std::string picture = test::BinaryDirectory() + "/../stragglers.svg";
  OrDie(WriteFileDurably(picture, sim::Svg("Stragglers", charts)), "the picture");
  std::printf("\npicture: %s\n", picture.c_str());
  return report.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc > 1 ? argv[1] : ""); }
