// ./dev bench speed: whole jobs, from the start of mrctl to its exit, beside what people use on one machine. One
// master, two workers of one slot, one replica; inputs are in the block store, as are our outputs, while the others
// read and write files. Contestants take turns, ratios are of medians, and all answers of a run are compared.
//   speed_bench [--scale S] [--runs N] [--data DIRECTORY] [wordcount|grep|terasort|join ...]
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "tests/bench/report.h"
#include "tests/bench/speed_data.h"
#include "tests/support/answers.h"
#include "tests/support/cluster.h"

namespace mr::bench {
namespace {

struct Contestant {
  std::string name;
  std::function<void()> run;              // timed
  std::function<std::string()> answer;    // a file with what it gave; not timed
  bool ordered = false;                   // the answer's order is part of it
  std::vector<double> seconds;
};

class Speed {
 public:
  Speed(SpeedData data, int runs) : data_(std::move(data)), runs_(runs), cluster_({.workers = 2, .slots = 1, .master_flags = {"--replication=1"}}) {
    OrDie(cluster_.Start(), "starting the cluster");
  }

  void WordCount() {
    for (const auto& [what, path] : {std::pair{"12 M distinct words", data_.Linux()}, std::pair{"50,000 distinct words", data_.FewWords()}}) {
      const std::string in = Put(path);
      std::vector<Contestant> all;
      all.push_back(Ours("wordcount", {"wordcount", "--input", in}));
      all.push_back(Tool("two threads, absl + XXH3", Quoted(test::BinaryDirectory() + "/count_words_peer") + " 2 " + Quoted(path) + " $OUT"));
      all.push_back(Tool("GNU parallel + mawk",
                         "parallel --will-cite -j2 --pipepart --block -1 -a " + Quoted(path) +
                             " \"mawk '{for(i=1;i<=NF;i++)c[\\$i]++} END{for(k in c)print k \\\"\\t\\\" c[k]}'\" | "
                             "mawk -F'\\t' '{c[$1]+=$2} END{for(k in c)print k \"\\t\" c[k]}' > $OUT"));
      Race(&all, path);
      const std::string name = std::string("wordcount, ") + what;
      report_.Row(name + ": time / two threads'", Ratio(all[0], all[1]), "", 3, true);
      report_.Row(name + ": parallel + mawk / ours", Ratio(all[2], all[0]), "", 3, false);
    }
  }

  void Grep() {
    const std::string path = data_.Linux(), in = Put(path);
    for (const auto& [what, pattern] : {std::pair{"literal", "kmalloc_array"},
                                        std::pair{"regex", "(mutex|spin)_(un)?lock[a-z_]*\\(&[a-z_]+->lock\\)"}}) {
      std::vector<Contestant> all;
      all.push_back(Ours("grep", {"grep", "-e", pattern, "--input", in}));
      all.push_back(Tool("GNU grep", "grep -a -E -e " + Quoted(pattern) + " " + Quoted(path) + " > $OUT"));
      all[0].ordered = all[1].ordered = true;
      Race(&all, path);
      report_.Row(std::string("grep, ") + what + ": time / GNU grep's", Ratio(all[0], all[1]), "", 2, true);
    }
  }

  void TeraSort() {
    const std::string path = data_.TeraSort(), in = Put(path);
    std::vector<Contestant> all;
    all.push_back(Ours("sort", {"sort", "--format", "fixed:100", "--input", in}));
    all.push_back(Tool("GNU sort", "sort --parallel=2 -S 4G -o $OUT " + Quoted(path)));
    all[0].ordered = all[1].ordered = true;
    Race(&all, path);
    report_.Row("TeraSort: time / GNU sort's", Ratio(all[0], all[1]), "", 1, true);
  }

  void Join() {
    const std::string left = data_.Left(), right = data_.Right();
    const std::string in_left = Put(left), in_right = Put(right);
    std::vector<Contestant> all;
    all.push_back(Ours("join", {"join", "--left", in_left, "--right", in_right, "--on", "id"}));
    const auto sorted = [](const std::string& path) {
      return "<(tail -n +2 " + Quoted(path) + " | sort -S 2G -t, -k1,1)";
    };
    all.push_back(Tool("sort + join", "join -t, " + sorted(left) + " " + sorted(right) + " > $OUT"));
    Race(&all, right);
    report_.Row("join: sort + join / ours", Ratio(all[1], all[0]), "", 4, false);
  }

  bool all_met() const { return report_.all_met(); }

 private:
  static std::string Quoted(const std::string& s) { return "'" + s + "'"; }
  static double Ratio(const Contestant& a, const Contestant& b) { return Median(a.seconds) / Median(b.seconds); }

  // The file in the block store.
  std::string Put(const std::string& path) {
    const std::string name = "/" + std::filesystem::path(path).filename().string();
    if (std::find(put_.begin(), put_.end(), name) == put_.end()) {
      Mrctl({"fs", "put", path, name});
      put_.push_back(name);
    }
    return name;
  }
  void Mrctl(const std::vector<std::string>& args) {
    const auto run = cluster_.Mrctl(args, Seconds(1800));
    if (run.exit != 0) Die("mrctl " + args[0] + ": " + run.err + cluster_.Logs());
  }

  Contestant Ours(const std::string& name, std::vector<std::string> job) {
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
  Contestant Tool(const std::string& name, const std::string& script) {
    Contestant c;
    c.name = name;
    const std::string file = cluster_.directory() + "/theirs";
    c.run = [script, file] {
      const auto run = test::RunProgram({"/bin/bash", "-c", "set -eo pipefail; export LC_ALL=C OUT=" + Quoted(file) + "; " + script}, Seconds(1800));
      if (run.exit != 0) Die(script + ": " + run.err);
    };
    c.answer = [file] { return file; };
    return c;
  }

  void Race(std::vector<Contestant>* all, const std::string& input) {
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

  const SpeedData data_;
  const int runs_;
  test::Cluster cluster_;
  std::vector<std::string> put_;
  Report report_;
};

int Main(int argc, char** argv) {
  SpeedData data{test::BinaryDirectory() + "/../bench_data", 1};
  int runs = 5;
  std::vector<std::string> names;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const auto value = [&] {
      if (i + 1 == argc) Die(arg + " wants a value");
      return std::string(argv[++i]);
    };
    if (arg == "--scale") {
      data.scale = std::atof(value().c_str());
    } else if (arg == "--runs") {
      runs = std::atoi(value().c_str());
    } else if (arg == "--data") {
      data.directory = value();
    } else {
      names.push_back(arg);
    }
  }
  if (data.scale <= 0 || runs < 1) Die("--scale and --runs must be above 0");
  if (names.empty()) names = {"wordcount", "grep", "terasort", "join"};
  Speed speed(data, runs);
  for (const std::string& name : names) {
    if (name == "wordcount") speed.WordCount();
    else if (name == "grep") speed.Grep();
    else if (name == "terasort") speed.TeraSort();
    else if (name == "join") speed.Join();
    else Die("there is no race '" + name + "'; there are wordcount, grep, terasort and join");
  }
  return speed.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
