// Races of whole jobs. Ours run in a cluster of one master and two workers of one slot, with one replica, from the
// block store to the block store. Others run from file to file. Contestants take turns, and all answers of a run are
// compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/bench/report.h"
#include "tests/bench/speed_data.h"
#include "tests/support/cluster.h"

namespace mr::bench {

struct Contestant {
  std::string name;
  std::function<void()> run;            // timed
  std::function<std::string()> answer;  // returns a file with the answer; not timed
  bool ordered = false;                 // the order of the answer counts
  std::vector<double> seconds;
};

struct RaceOptions {
  SpeedData data{"", 1};
  int runs = 3;
  std::string other;  // directory of the binaries of another build; empty: none
  std::vector<std::string> names;
};
// Parses [--scale S] [--runs N] [--data DIRECTORY] [--other DIRECTORY] [NAME...]; default: all `names`. Ends the
// process on other arguments.
RaceOptions ParseRaceOptions(int argc, char** argv, std::vector<std::string> names);

class Racetrack {
 public:
  // binaries: directory of another build, whose cluster runs ours; empty: this build's.
  explicit Racetrack(int runs, const std::string& binaries = "");

  // Returns the file's place in the block store. Copies it there the first time.
  std::string Put(const std::string& path);
  // Returns a contestant that runs `job` with an --output of its own.
  Contestant Ours(const std::string& name, std::vector<std::string> job);
  // Returns a contestant that runs a line of bash, which writes $OUT.
  Contestant Tool(const std::string& name, const std::string& script);
  // Runs the race. input: the file whose size gives speeds.
  void Race(std::vector<Contestant>* all, const std::string& input);

  static std::string Quoted(const std::string& s) { return "'" + s + "'"; }
  static double Ratio(const Contestant& a, const Contestant& b) { return Median(a.seconds) / Median(b.seconds); }
  const std::string& directory() const { return cluster_.directory(); }

 private:
  void Mrctl(const std::vector<std::string>& args);

  const int runs_;
  test::Cluster cluster_;
  std::vector<std::string> put_;
};

}  // namespace mr::bench
