#include "tests/bench/racetrack.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/support/answers.h"

namespace mr::bench {

RaceOptions ParseRaceOptions(int argc, char** argv, std::vector<std::string> names) {
  RaceOptions options;
  options.data.directory = test::BinaryDirectory() + "/../bench_data";
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) Die(arg + " wants a value");
      return std::string(argv[++i]);
    };
    if (arg == "--scale") {
      options.data.scale = std::atof(value().c_str());
    } else if (arg == "--runs") {
      options.runs = std::atoi(value().c_str());
    } else if (arg == "--data") {
      options.data.directory = value();
    } else if (arg == "--other") {
      options.other = value();
    } else if (std::find(names.begin(), names.end(), arg) == names.end()) {
      std::string all;
      for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
      Die("there is no race '" + arg + "'; there are " + all);
    } else {
      options.names.push_back(arg);
    }
  }
  if (options.data.scale <= 0 || options.runs < 1) Die("--scale and --runs must be above 0");
  if (options.names.empty()) options.names = std::move(names);
  return options;
}

Racetrack::Racetrack(int runs, const std::string& binaries)
    : runs_(runs), cluster_({.workers = 2, .slots = 1, .master_flags = {"--replication=1"}, .binaries = binaries}) {
  OrDie(cluster_.Start(), "starting the cluster");
}

std::string Racetrack::Put(const std::string& path) {
  const std::string name = "/" + std::filesystem::path(path).filename().string();
  if (std::find(put_.begin(), put_.end(), name) == put_.end()) {
    Mrctl({"fs", "put", path, name});
    put_.push_back(name);
  }
  return name;
}

void Racetrack::Mrctl(const std::vector<std::string>& args) {
  const auto run = cluster_.Mrctl(args, Seconds(1800));
  if (run.exit != 0) Die("mrctl " + args[0] + ": " + run.err + cluster_.Logs());
}

Contestant Racetrack::Ours(const std::string& name, std::vector<std::string> job) {
  job.insert(job.begin(), "submit");
  job.insert(job.end(), {"--output", "/out"});
  Contestant c;
  c.name = "paceline " + name;
  c.run = [this, job] { Mrctl(job); };
  c.answer = [this] {
    const std::string file = cluster_.directory() + "/ours";
    Mrctl({"fs", "getmerge", "/out", file});
    Mrctl({"fs", "rm", "-r", "/out"});
    return file;
  };
  return c;
}

Contestant Racetrack::Tool(const std::string& name, const std::string& script) {
  Contestant c;
  c.name = name;
  const std::string file = cluster_.directory() + "/theirs";
  c.run = [script, file] {
    const auto run = test::RunProgram(
        {"/bin/bash", "-c", "set -eo pipefail; export LC_ALL=C OUT=" + Quoted(file) + "; " + script}, Seconds(1800));
    if (run.exit != 0) Die(script + ": " + run.err);
  };
  c.answer = [file] { return file; };
  return c;
}

void Racetrack::Race(std::vector<Contestant>* all, const std::string& input) {
  const double gigabytes = static_cast<double>(OrDie(FileSize(input), input)) / 1e9;
  for (int run = 0; run < runs_; ++run) {
    LinesDigest first;
    std::string ordered;
    for (size_t i = 0; i < all->size(); ++i) {
      Contestant& c = (*all)[(i + static_cast<size_t>(run)) % all->size()];
      const Instant begin = Now();
      c.run();
      c.seconds.push_back((Now() - begin).seconds());
      const std::string file = c.answer();
      const LinesDigest digest = DigestOfLines(file);
      if (i > 0 && !(digest == first)) Die(c.name + " gave another answer than the one before it");
      first = digest;
      if (c.ordered) {
        const std::string sum = test::Shell("sha256sum < " + Quoted(file), Seconds(300));
        if (!ordered.empty() && sum != ordered) Die(c.name + " gave its answer in another order");
        ordered = sum;
      }
      std::filesystem::remove(file);
      std::fprintf(stderr, "run %d of %d, %s: %.2f s, %llu lines\n", run + 1, runs_, c.name.c_str(), c.seconds.back(),
                   static_cast<unsigned long long>(digest.lines));
    }
  }
  for (const Contestant& c : *all) {
    std::printf("%-40s %8.2f s  %7.0f MB/s\n", c.name.c_str(), Median(c.seconds), gigabytes * 1000 / Median(c.seconds));
  }
}

}  // namespace mr::bench
