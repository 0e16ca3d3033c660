// A study: figures of one paper, with the paper's numbers and the runs that compute ours. Studies are files
// (README.md); those of the papers are compiled in.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "master/sim/studies/setups.h"

namespace mr::sim {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// One number of a figure. Its band is from low to high; -kNoBound or kNoBound: no such bound.
struct Line {
  std::string what;          // "none / LATE"
  double paper = kNoNumber;  // kNoNumber: the paper's number is not known
  double low = -kNoBound, high = kNoBound;
  std::string because;  // why the model misses the band
  bool mean = false;    // over the seeds, where the paper gives that; else the median
};
// Makes a line of a ratio of times. Its gain (ratio - 1) must be within a quarter of the paper's.
Line Gain(std::string what, double paper, std::string because = "");
// Makes a line whose number must be within `share` of `paper`.
Line Within(std::string what, double paper, double share, std::string because = "");

struct Figure {
  std::string id, what;
  std::vector<Line> lines;
  // Returns the numbers of the lines for one seed. Errors: kInternal: the simulation stopped; kInvalidArgument: a line
  // cannot be computed from its runs.
  std::function<Result<std::vector<double>>(RunContext)> run;
};

struct Parameter {
  std::string name, value, source;
};

struct Study {
  std::string name, title;
  std::vector<Parameter> parameters;
  std::vector<Figure> figures;
};

// Parses a study file and checks all of it. file: its name in messages.
// Errors: kInvalidArgument: names the file and the line.
Result<Study> ParseStudy(const std::string& text, const std::string& file);

// Makes a simulation of parts of a built-in study, for tests. list: as in its [lists], or a list.
// Errors: kInvalidArgument: there are no such parts.
Result<Experiment> ExperimentOf(const std::string& study, const std::string& cluster, const std::string& tasks,
                                const std::string& jobs, const std::string& list, RunContext context);

// A study that is compiled in, by the name of its file.
struct BuiltInStudy {
  std::string_view name, text;
};
// Returns the studies of the papers, ordered by name.
const std::vector<BuiltInStudy>& BuiltInStudies();

}  // namespace mr::sim
