// ./dev bench --peers: our jobs beside Spark's (PySpark's DataFrames in a warm session, local[2] and standalone with
// two workers) and DuckDB's; select and parse beside DuckDB's alone. Ratios are of medians. The answers of a run are
// compared.
//   peers_bench [--scale S] [--runs N] [--data DIRECTORY] [wordcount|grep|terasort|join|aggregate|select|parse|
//               latency ...]
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/bench/peer.h"
#include "tests/bench/racetrack.h"
#include "tests/support/process.h"

namespace mr::bench {
namespace {

class Peers {
 public:
  Peers(SpeedData data, int runs) : data_(std::move(data)), track_(runs) {}

  void WordCount() {
    const std::string path = data_.Linux();
    Race("wordcount", {"wordcount", "--input", track_.Put(path)}, {path}, "", {.least = 5, .ascii = true});
  }
  void Grep() {
    const std::string path = data_.Linux(), pattern = "(mutex|spin)_(un)?lock[a-z_]*\\(&[a-z_]+->lock\\)";
    Race("grep", {"grep", "-e", pattern, "--input", track_.Put(path)}, {path}, pattern, {.least = 5, .ordered = true});
  }
  void TeraSort() {
    const std::string path = data_.TeraSort();
    Race("sort", {"sort", "--format", "fixed:100", "--input", track_.Put(path)}, {path}, "",
         {.least = 2.5, .ordered = true});
  }
  void Join() {
    const std::string left = data_.Left(), right = data_.Right();
    Race("join", {"join", "--no-output-header", "--left", track_.Put(left), "--right", track_.Put(right), "--on", "id"},
         {left, right}, "", {.least = 8, .duckdb = 1});
  }
  void Aggregate() {
    const std::string right = data_.Right();
    Race(
        "aggregate",
        {"aggregate", "--no-output-header", "--by", "note", "--agg", "count,sum(amount)", "--input", track_.Put(right)},
        {right}, "", {.least = 8, .duckdb = 1});
  }
  void Select() {
    const std::string right = data_.Right();
    Race("select", {"select", "--no-output-header", "--where", "amount > 9000", "--input", track_.Put(right)}, {right},
         "", {.spark = false, .duckdb = kReported});
  }
  void Parse() {
    const std::string log = data_.Log();
    Race("parse",
         {"parse", "--apache", "--no-output-header", "--select", "host, time, method, path, status, bytes", "--input",
          track_.Put(log)},
         {log}, "", {.spark = false, .duckdb = kReported});
  }
  // Counts the words of 4 MB.
  void Latency() {
    const std::string path = track_.directory() + "/small.txt";
    const auto made =
        test::RunProgram({"/bin/sh", "-c", "head -c 4194304 '" + data_.FewWords() + "' > '" + path + "'"}, Seconds(60));
    if (made.exit != 0) Die(made.err);
    Race("wordcount", {"wordcount", "--input", track_.Put(path)}, {path}, "",
         {.least = 10, .least_standalone = 15, .what = "small wordcount"});
  }
  bool all_met() const { return report_.all_met(); }

 private:
  struct Named {
    std::string name;
    std::unique_ptr<Peer> peer;
  };
  static constexpr double kReported = -1;  // in place of a target: the ratio is printed alone
  struct Shape {
    double least = 0;             // target: times as fast as either Spark
    double least_standalone = 0;  // the target beside the standalone one, if it is another
    std::string what = {};        // instead of the job's name
    bool ordered = false;
    bool ascii = false;  // drops words that are not ASCII, since Spark decodes words
    bool spark = true;   // Spark runs
    double duckdb = 0;   // target: times as fast as DuckDB, or kReported; 0: it does not run
  };

  // The engines start when the first race needs them.
  const std::vector<Named>& Sparks() {
    if (!sparks_.empty()) return sparks_;
    for (const auto& [name, mode] : {std::pair{"Spark local[2]", "local[2]"}, {"Spark standalone", "standalone"}}) {
      sparks_.push_back({name, std::make_unique<Peer>(std::vector<std::string>{"peer_spark.py", mode},
                                                      track_.directory() + "/peer_" + std::string(mode, 5))});
    }
    return sparks_;
  }
  const Named& DuckDb() {
    if (duckdb_.peer == nullptr) {
      duckdb_ = {"DuckDB", std::make_unique<Peer>(std::vector<std::string>{"peer_duckdb.py"},
                                                  track_.directory() + "/peer_duckdb")};
    }
    return duckdb_;
  }

  Contestant Theirs(const Named& named, const std::string& job, const std::vector<std::string>& inputs,
                    const std::string& pattern) {
    const std::string output = track_.directory() + "/theirs.d", file = track_.directory() + "/theirs";
    Contestant c;
    c.name = named.name + " " + job;
    Peer* peer = named.peer.get();
    c.run = [=] { peer->Run(job, inputs, output, pattern); };
    c.answer = [=] {
      const auto run =
          test::RunProgram({"/bin/sh", "-c", "cat '" + output + "'/part-* > '" + file + "'"}, Seconds(600));
      if (run.exit != 0) Die(run.err);
      std::filesystem::remove_all(output);
      return file;
    };
    return c;
  }
  static Contestant Ascii(Contestant c) {
    const auto whole = c.answer;
    c.answer = [whole] {
      const std::string file = whole(), kept = file + ".ascii";
      const auto run = test::RunProgram(
          {"/bin/bash", "-c", "LC_ALL=C grep -av $'[\\x80-\\xff]' '" + file + "' > '" + kept + "'"}, Seconds(600));
      if (run.exit != 0) Die("no line of " + file + " is ASCII: " + run.err);
      std::filesystem::remove(file);
      return kept;
    };
    return c;
  }
  void Race(const std::string& job, const std::vector<std::string>& ours, const std::vector<std::string>& inputs,
            const std::string& pattern, const Shape& shape) {
    std::vector<Contestant> all = {track_.Ours(job, ours)};
    const size_t sparks = shape.spark ? Sparks().size() : 0;
    for (size_t i = 0; i < sparks; ++i) all.push_back(Theirs(sparks_[i], job, inputs, pattern));
    if (shape.duckdb != 0) all.push_back(Theirs(DuckDb(), job, inputs, pattern));
    for (Contestant& c : all) {
      c.ordered = shape.ordered;
      if (shape.ascii) c = Ascii(std::move(c));
    }
    track_.Race(&all, inputs.back());
    const std::string what = shape.what.empty() ? job : shape.what;
    for (size_t i = 0; i < sparks; ++i) {
      const double least = i > 0 && shape.least_standalone > 0 ? shape.least_standalone : shape.least;
      report_.Row(what + ": " + sparks_[i].name + " / ours", Racetrack::Ratio(all[1 + i], all[0]), "", least, false);
    }
    if (shape.duckdb == kReported) {
      std::printf("%-58s %8.2f  reported\n", (what + ": DuckDB / ours").c_str(), Racetrack::Ratio(all.back(), all[0]));
    } else if (shape.duckdb > 0) {
      report_.Row(what + ": DuckDB / ours", Racetrack::Ratio(all.back(), all[0]), "", shape.duckdb, false);
    }
  }

  const SpeedData data_;
  Racetrack track_;
  std::vector<Named> sparks_;
  Named duckdb_;
  Report report_;
};

int Main(int argc, char** argv) {
  const RaceOptions options = ParseRaceOptions(
      argc, argv, {"wordcount", "grep", "terasort", "join", "aggregate", "select", "parse", "latency"});
  Peers peers(options.data, options.runs);
  for (const std::string& name : options.names) {
    if (name == "wordcount") peers.WordCount();
    if (name == "grep") peers.Grep();
    if (name == "terasort") peers.TeraSort();
    if (name == "join") peers.Join();
    if (name == "aggregate") peers.Aggregate();
    if (name == "select") peers.Select();
    if (name == "parse") peers.Parse();
    if (name == "latency") peers.Latency();
  }
  return peers.all_met() ? 0 : 1;
}

}  // namespace
}  // namespace mr::bench

int main(int argc, char** argv) { return mr::bench::Main(argc, argv); }
