// The kinds of runs that study files name: a simulation of a cluster, and computations of papers that are no simulation
// of a cluster with jobs. Each kind lists its measurements.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "master/sim/studies/expression.h"
#include "master/sim/studies/jockey_setups.h"
#include "master/sim/studies/setups.h"

namespace mr::sim {

// The parts that the tables of a study define, by name.
struct StudyParts {
  std::map<std::string, ClusterSetup> clusters;
  std::map<std::string, Part> tasks, jobs;
  std::map<std::string, std::string> lists, reasons;
  std::vector<JockeyShape> recurring;  // jobs of runs with deadlines, in the file's order
};

using MeasuredRun = std::function<Result<Measures>(const RunContext&)>;

struct RunKind {
  const char* name;
  std::vector<std::string_view> measures;
  std::vector<std::string_view> from_figure;  // keys that a figure may give for all its runs
  // Parses a run's table but for its name and kind.
  MeasuredRun (*parse)(Fields* fields, const StudyParts& parts);
};
const std::vector<RunKind>& RunKinds();

// Reads the key `list`: a policy list, or the name of one in [lists]. Without the key, the run's name is that name.
std::string ParseList(Fields* fields, const StudyParts& parts);
// Reads a key with the name of a part. Returns null, and makes it an error, if there is none.
const Part* FindPart(Fields* fields, std::string_view key, const std::map<std::string, Part>& parts);

// Returns a cluster of the study, or one as 150x12. Errors: kInvalidArgument: neither.
Result<ClusterSetup> ClusterNamed(const std::string& name, const StudyParts& parts);
// Makes what a simulation runs. job: only this one of the jobs, from 1; 0: all. Errors: those of the parts;
// kInvalidArgument: no such job.
Result<Experiment> MakeExperiment(const ClusterSetup& cluster, const Part& tasks, const Part& jobs, uint32_t job,
                                  const std::string& list, const RunContext& c);

// Jockey's kinds (jockey_measures.cc).
MeasuredRun ParsePrediction(Fields* fields, const StudyParts& parts);
MeasuredRun ParseIndicators(Fields* fields, const StudyParts& parts);
MeasuredRun ParseDeadlines(Fields* fields, const StudyParts& parts);
MeasuredRun ParseDeadlineChanges(Fields* fields, const StudyParts& parts);
// Recorded jobs, each alone (recorded.cc).
MeasuredRun ParseAlone(Fields* fields, const StudyParts& parts);
MeasuredRun ParseBestPossible(Fields* fields, const StudyParts& parts);

}  // namespace mr::sim
