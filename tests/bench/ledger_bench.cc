// ./dev bench ledger: how often each place of the data path passes over the bytes of a job, per byte of its input
// (common/io/ledger.h), and where the CPU time goes (perf). The jobs are those of ./dev bench speed, with workers that
// count. A pass costs from .03 ns per byte in a core's cache to .2 ns in memory, and several times that where the
// kernel allocates pages. Each job runs twice: the first run warms its memory. Prints tables for docs/benchmarks.md.
//   ledger_bench [--scale S] [--data DIRECTORY] [terasort|wordcount|join|aggregate ...]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "common/io/files.h"
#include "common/io/ledger.h"
#include "tests/bench/cpu_shares.h"
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
    job.insert(job.begin(), "submit");
    job.insert(job.end(), {"--output", "/out"});
    Mrctl(job);
    Mrctl({"fs", "rm", "-r", "/out"});
    const Counts before = OfWorkers();
    std::optional<CpuSampler> sampler;
    if (samples_) sampler.emplace(Pids(), cluster_.directory() + "/perf");
    Mrctl(job);
    names_.push_back(name);
    if (sampler.has_value()) cpu_.push_back(sampler->Stop());
    Counts passes = OfWorkers();
    for (auto& [place, count] : passes) count -= before.at(place);
    for (const auto& [place, count] : OfTasks()) passes[place] += count;
    Mrctl({"fs", "rm", "-r", "/out"});
    double all = 0;
    for (auto& [place, count] : passes) all += count /= bytes;
    passes_.push_back(std::move(passes));
    return all;
  }

  // Prints the tables of all jobs that ran.
  void Tables() {
    if (names_.empty()) return;
    Head("passes per byte of input");
    for (int i = 0; i < Ledger::kPlaces; ++i) {
      const auto place = Ledger::Place(i);
      const auto most = std::max_element(passes_.begin(), passes_.end(), [&](const Counts& a, const Counts& b) {
        return a.at(Ledger::Name(place)) < b.at(Ledger::Name(place));
      });
      if (most->at(Ledger::Name(place)) < .005) continue;
      std::printf("| `%s`: %s |", Ledger::Name(place), Ledger::What(place));
      for (const Counts& passes : passes_) std::printf(" %.2f |", passes.at(Ledger::Name(place)));
      std::printf("\n");
    }
    if (!samples_) return (void)std::printf("no CPU times: perf is not installed, or may not sample here\n");
    std::printf("\n");
    Head("share of the CPU time");
    for (size_t i = 0; i < static_cast<size_t>(CpuPlace::kPlaces); ++i) {
      std::printf("| %s |", WhatOf(CpuPlace(i)));
      for (const CpuShares& shares : cpu_) std::printf(" %.1f %% |", shares[i]);
      std::printf("\n");
    }
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

  void Head(const char* what) const {
    std::printf("| %s |", what);
    for (const std::string& name : names_) std::printf(" %s |", name.c_str());
    std::printf("\n|---|");
    for (size_t i = 0; i < names_.size(); ++i) std::printf("---|");
    std::printf("\n");
  }

  // Returns the daemons and the processes that they have started.
  std::vector<int> Pids() const {
    std::vector<int> pids = {cluster_.master_pid()};
    for (int worker = 0; worker < cluster_.workers(); ++worker) {
      pids.push_back(cluster_.worker_pid(worker));
      const auto children =
          test::RunProgram({"/usr/bin/pgrep", "-P", std::to_string(cluster_.worker_pid(worker))}, Seconds(20));
      std::istringstream list(children.out);
      for (int pid = 0; list >> pid;) pids.push_back(pid);
    }
    return pids;
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
  const bool samples_ = CpuSampler::Works();
  test::Cluster cluster_;
  Report report_;
  // By the jobs that ran, in order:
  std::vector<std::string> names_;
  std::vector<Counts> passes_;
  std::vector<CpuShares> cpu_;
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
  std::printf("\n");
  passes.Tables();
  return passes.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
