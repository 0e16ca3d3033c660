// Two builds beside each other, for pairs.sh: jobs of speed_bench that both know, from the start of mrctl to its exit.
// The builds have a cluster each and take turns; their answers are compared.
//   speed_pairs --other DIRECTORY_OF_BINARIES [--scale S] [--runs N] [--data DIRECTORY]
//   [words|wordcount|grep|terasort|...]
// Prints one line per run, job and build, with tabs: run, `other` or `this`, job, milliseconds, `ms`.
#include <cstdio>
#include <string>
#include <vector>

#include "tests/bench/racetrack.h"
#include "tests/support/answers.h"

namespace mr::bench {
namespace {

class Pairs {
 public:
  explicit Pairs(const RaceOptions& options)
      : data_(options.data), other_(options.runs, options.other), this_(options.runs) {}

  void Run(const std::string& name) {
    if (name == "words") {
      const std::string few = this_.directory() + "/words";
      test::Shell("head -c 4000000 " + Racetrack::Quoted(data_.FewWords()) + " > " + Racetrack::Quoted(few),
                  Seconds(60));
      Race("word count of 4 MB", few, {"wordcount", "--input", Put(few)});
    } else if (name == "wordcount") {
      Race("word count, 12 M distinct words", data_.Linux(), {"wordcount", "--input", Put(data_.Linux())});
      Race("word count, 50,000 distinct words", data_.FewWords(), {"wordcount", "--input", Put(data_.FewWords())});
    } else if (name == "grep") {
      Race("grep, literal", data_.Linux(), {"grep", "-e", "kmalloc_array", "--input", Put(data_.Linux())});
      Race("grep, regex", data_.Linux(),
           {"grep", "-e", "(mutex|spin)_(un)?lock[a-z_]*\\(&[a-z_]+->lock\\)", "--input", Put(data_.Linux())});
    } else if (name == "terasort") {
      Race("TeraSort", data_.TeraSort(), {"sort", "--format", "fixed:100", "--input", Put(data_.TeraSort())});
    } else if (name == "join") {
      const std::string left = Put(data_.Left()), right = Put(data_.Right());
      Race("join", data_.Right(), {"join", "--no-output-header", "--left", left, "--right", right, "--on", "id"});
    } else if (name == "aggregate") {
      Race("aggregate", data_.Right(),
           {"aggregate", "--no-output-header", "--by", "note", "--agg", "count,sum(amount)", "--input",
            Put(data_.Right())});
    }
  }

 private:
  std::string Put(const std::string& path) {
    other_.Put(path);
    return this_.Put(path);  // the same place in both
  }

  void Race(const char* what, const std::string& input, const std::vector<std::string>& job) {
    std::vector<Contestant> both = {other_.Ours(std::string(what) + ", other", job), this_.Ours(what, job)};
    this_.Race(&both, input);
    for (size_t run = 0; run < both[0].seconds.size(); ++run) {
      std::printf("%zu\tother\t%s\t%.2f\tms\n", run, what, both[0].seconds[run] * 1000);
      std::printf("%zu\tthis\t%s\t%.2f\tms\n", run, what, both[1].seconds[run] * 1000);
    }
    std::fflush(stdout);
  }

  const SpeedData data_;
  Racetrack other_, this_;
};

int Main(int argc, char** argv) {
  const RaceOptions options =
      ParseRaceOptions(argc, argv, {"words", "wordcount", "grep", "terasort", "join", "aggregate"});
  if (options.other.empty()) Die("--other is missing: the directory of the other build's binaries");
  Pairs pairs(options);
  for (const std::string& name : options.names) pairs.Run(name);
  return 0;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
