// Races of whole jobs: ours in a cluster of one master and two workers of one slot, one replica, from the block store
// to the block store; others from file to file. Contestants take turns, and all answers of a run are compared.
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
  std::function<std::string()> answer;  // a file with what it gave; not timed
  bool ordered = false;                 // the answer's order is part of it
  std::vector<double> seconds;
};

struct RaceOptions {
  SpeedData data{"", 1};
  int runs = 5;
  std::vector<std::string> names;
};
// [--scale S] [--runs N] [--data DIRECTORY] [NAME...]; `names` where none is given. Ends the program on others.
RaceOptions ParseRaceOptions(int argc, char** argv, std::vector<std::string> names);

class Racetrack {
 public:
  explicit Racetrack(int runs);

  // The file's place in the block store; copied there the first time.
  std::string Put(const std::string& path);
  // `job` with an --output of its own.
  Contestant Ours(const std::string& name, std::vector<std::string> job);
  // A line of bash that writes $OUT.
  Contestant Tool(const std::string& name, const std::string& script);
  // input: what speeds are of.
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
