// Figures of papers, run in the simulator: what the paper printed, what comes out here, and what it was
// run with. A study is one paper; its parameters are one set for all of its figures.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace mr::sim {

inline constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

// One number of a figure. It is met from low to high; -/+kNoBound where there is no such bound.
struct Line {
  std::string what;          // "none / LATE"
  double paper = kNoNumber;  // kNoNumber: papers.md has none
  double low = -kNoBound, high = kNoBound;
  std::string because;  // what in the model keeps it out of its band or takes it above the paper's number
};
// A ratio of times whose gain (ratio - 1) is to be at least three quarters of the paper's.
Line Gain(std::string what, double paper, std::string because = "");
// Ours is to be within `share` of `paper`.
Line Within(std::string what, double paper, double share, std::string because = "");

struct RunContext {
  uint64_t seed = 1;
  std::string data;                // where traces are; may be empty
  std::string* used = nullptr;     // a figure may say here what it ran on (a trace, the generator); not null
  std::string* skipped = nullptr;  // or why it cannot run here; what it returns counts for nothing then. Not null
};

struct Figure {
  std::string id, what;
  std::vector<Line> lines;
  // The numbers of the lines, for one seed; kInternal where the simulation stopped.
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

enum class Verdict : uint8_t { kShown, kMet, kAbove, kMissed };  // kShown: there is no band
struct LineResult {
  Line line;
  double ours = 0;  // median over seeds
  Verdict verdict = Verdict::kShown;
};
struct FigureResult {
  std::string id, what, used;
  std::string skipped;  // why there are no lines; else ""
  std::vector<LineResult> lines;
};
struct Reproduction {
  std::string study, title;
  uint32_t seeds = 0;
  std::vector<Parameter> parameters;
  std::vector<FigureResult> figures;
  size_t missed() const;  // lines
};

// kAbove: met, and more than the paper's number in a band without upper bound.
Verdict Judge(const Line& line, double ours);
// kInvalidArgument: no such study or figure.
Result<Reproduction> Reproduce(const ReproduceOptions& options);
std::string Table(const Reproduction& r);
std::string Json(const Reproduction& r);

}  // namespace mr::sim
