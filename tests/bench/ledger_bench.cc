// ./dev bench ledger: how often each place of the data path passes over the bytes of a job, per byte of its input
// (common/io/ledger.h). The jobs are those of ./dev bench speed, with workers that count. A pass costs from .03 ns per
// byte in a core's cache to .2 ns in memory, and several times that where the kernel allocates pages.
//   ledger_bench [--scale S] [--data DIRECTORY] [terasort|wordcount|join|aggregate ...]
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/io/files.h"
#include "common/io/ledger.h"
#include "tests/bench/racetrack.h"
#include "tests/bench/report.h"
#include "tests/support/http_get.h"

namespace mr::bench {
namespace {

// The goal for TeraSort.
constexpr double kMostPasses = 8;

using Counts = std::map<std::string, double>;  // bytes by place

class Passes {
 public:
  explicit Passes(SpeedData data)
      : data_(std::move(data)),
        cluster_({.workers = 2, .slots = 1, .master_flags = {"--replication=1"}, .worker_flags = {"--ledger"}}) {
    OrDie(cluster_.Start(), "starting the cluster");
  }

  // Runs a job over these files, named as the options say, and prints its passes. Returns their sum.
  double Run(const std::string& name, std::vector<std::string> job,
             const std::vector<std::pair<std::string, std::string>>& inputs) {
    double bytes = 0;
    for (const auto& [option, path] : inputs) {
      const std::string stored = "/" + name + option;
      Mrctl({"fs", "put", path, stored});
      job.insert(job.end(), {option, stored});
      bytes += static_cast<double>(OrDie(FileSize(path), path));
    }
    const Counts before = OfWorkers();
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", "/out"});
    Mrctl(job);
    Counts passes = OfWorkers();
    for (auto& [place, count] : passes) count -= before.at(place);
    for (const auto& [place, count] : OfTasks()) passes[place] += count;
    Mrctl({"fs", "rm", "-r", "/out"});
    double all = 0;
    std::printf("%s, %.2f GB: passes per byte of input\n", name.c_str(), bytes / 1e9);
    for (int i = 0; i < Ledger::kPlaces; ++i) {
      const auto place = Ledger::Place(i);
      const double share = passes[Ledger::Name(place)] / bytes;
      all += share;
      if (share >= .005) std::printf("  %-16s %6.2f  %s\n", Ledger::Name(place), share, Ledger::What(place));
    }
    std::printf("  %-16s %6.2f\n", "all", all);
    return all;
  }

  void TeraSort() {
    const double all = Run("terasort", {"sort", "--format", "fixed:100"}, {{"--input", data_.TeraSort()}});
    report_.Row("TeraSort: passes per byte", all, "", kMostPasses, true);
  }
  void WordCount() { Run("wordcount", {"wordcount"}, {{"--input", data_.Linux()}}); }
  void Join() {
    Run("join", {"join", "--no-output-header", "--on", "id"}, {{"--left", data_.Left()}, {"--right", data_.Right()}});
  }
  void Aggregate() {
    Run("aggregate", {"aggregate", "--no-output-header", "--by", "note", "--agg", "count,sum(amount)"},
        {{"--input", data_.Right()}});
  }
  bool all_met() const { return report_.all_met(); }

 private:
  std::string Mrctl(const std::vector<std::string>& args) {
    const auto run = cluster_.Mrctl(args, Seconds(1800));
    if (run.exit != 0) Die("mrctl " + args[0] + ": " + run.err + cluster_.Logs());
    return run.out;
  }

  Counts OfWorkers() const {
    Counts counts;
    for (int worker = 0; worker < cluster_.workers(); ++worker) {
      const std::string text = test::HttpGet(cluster_.worker_http_port(worker), "/metrics");
      for (int i = 0; i < Ledger::kPlaces; ++i) {
        const std::string name = Ledger::Name(Ledger::Place(i));
        const std::string sample = "mr_worker_ledger_bytes_total{place=\"" + name + "\"} ";
        const size_t at = text.find(sample);
        if (at == std::string::npos) Die("a worker's metrics have no " + sample);
        counts[name] += std::strtod(text.c_str() + at + sample.size(), nullptr);
      }
    }
    return counts;
  }

  // Returns the counts that the tasks of the last job reported.
  Counts OfTasks() {
    Counts counts;
    const auto job = nlohmann::json::parse(Mrctl({"job", "counters", "last", "-o", "json"}));
    for (const auto& counter : job.at("counters")) {
      if (counter.at("group") == "ledger") counts[counter.at("name")] += counter.at("value").get<double>();
    }
    return counts;
  }

  const SpeedData data_;
  test::Cluster cluster_;
  Report report_;
};

int Main(int argc, char** argv) {
  const RaceOptions options = ParseRaceOptions(argc, argv, {"terasort", "wordcount", "join", "aggregate"});
  Passes passes(options.data);
  for (const std::string& name : options.names) {
    if (name == "terasort") passes.TeraSort();
    if (name == "wordcount") passes.WordCount();
    if (name == "join") passes.Join();
    if (name == "aggregate") passes.Aggregate();
  }
  return passes.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
