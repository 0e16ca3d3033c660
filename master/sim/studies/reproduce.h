// Figures of papers, reproduced in the simulator: the paper's numbers, ours, and the parameters. A study is one paper,
// with one set of parameters for all its figures.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::sim {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// One number of a figure. Its band is from low to high; -kNoBound or kNoBound: no such bound.
struct Line {
  std::string what;          // "none / LATE"
  double paper = kNoNumber;  // kNoNumber: the paper's number is not known
  double low = -kNoBound, high = kNoBound;
  std::string because;  // why the model misses the band, or exceeds the paper's number
};
// Makes a line of a ratio of times. Its gain (ratio - 1) must be at least three quarters of the paper's.
Line Gain(std::string what, double paper, std::string because = "");
// Makes a line whose number must be within `share` of `paper`.
Line Within(std::string what, double paper, double share, std::string because = "");

struct RunContext {
  uint64_t seed = 1;
  std::string data;                // where traces are; may be ""
  std::string* used = nullptr;     // a figure may name its workload here (a trace, the generator); not null
  std::string* skipped = nullptr;  // why a figure cannot run; then its numbers do not count; not null
};

struct Figure {
  std::string id, what;
  std::vector<Line> lines;
  // Returns the numbers of the lines for one seed. Errors: kInternal: the simulation stopped.
  std::function<Result<std::vector<double>>(const RunContext&)> run;
};

struct Parameter {
  std::string name, value, source;
};

struct Study {
  std::string name, title;
  std::vector<Parameter> parameters;
  std::vector<Figure> figures;
};
// Zaharia et al., OSDI 2008 (reproduce_late.cc).
Study LateStudy();
// Ananthanarayanan et al., OSDI 2010 (reproduce_mantri.cc).
Study MantriStudy();
// Ananthanarayanan et al., NSDI 2013 (reproduce_dolly.cc).
Study DollyStudy();
// Tan et al., INFOCOM 2013 (reproduce_coupling.cc).
Study CouplingStudy();
// Ferguson et al., EuroSys 2012 (reproduce_jockey.cc).
Study JockeyStudy();

struct ReproduceOptions {
  std::string figure;  // "late", "late:fig10"
  std::string data;
  uint32_t seeds = 5;
  std::function<void(const std::string&)> progress;  // may be null
};

enum class Verdict : uint8_t { kShown, kMet, kAbove, kMissed };  // kShown: no band
struct LineResult {
  Line line;
  double ours = 0;  // median over seeds
  Verdict verdict = Verdict::kShown;
};
struct FigureResult {
  std::string id, what, used;
  std::string skipped;  // why there are no lines, or ""
  std::vector<LineResult> lines;
};
struct Reproduction {
  std::string study, title;
  uint32_t seeds = 0;
  std::vector<Parameter> parameters;
  std::vector<FigureResult> figures;
  size_t missed() const;  // number of lines
};

// Judges a line. kAbove: met, and above the paper's number in a band without upper bound.
Verdict Judge(const Line& line, double ours);
// Runs a study or a figure. Errors: kInvalidArgument: no such study or figure.
Result<Reproduction> Reproduce(const ReproduceOptions& options);
std::string Table(const Reproduction& r);
std::string Json(const Reproduction& r);

}  // namespace mr::sim
