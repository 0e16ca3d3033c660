// Reproduces figures of papers in the simulator: the paper's numbers, ours, and the parameters. It runs all studies
// (study.h).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/sim/studies/study.h"

namespace mr::sim {

struct ReproduceOptions {
  std::string figure;  // "late", "late:fig10", or with a study's file "mine.toml", "mine.toml:fig1"
  std::string data;
  uint32_t seeds = 5;
  std::function<void(const std::string&)> progress;  // may be null
};

enum class Verdict : uint8_t { kShown, kMet, kMissed };  // kShown: no band
struct LineResult {
  Line line;
  double ours = 0;  // median or mean over seeds
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

// Judges a line.
Verdict Judge(const Line& line, double ours);
// Runs a study or a figure. Errors: kInvalidArgument: no such study or figure, or a fault in the file, with its line;
// kNotFound: no such file.
Result<Reproduction> Reproduce(const ReproduceOptions& options);
std::string Table(const Reproduction& r);
std::string Json(const Reproduction& r);

}  // namespace mr::sim
