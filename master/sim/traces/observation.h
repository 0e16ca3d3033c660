// Attempts as a trace recorded them, with what the simulator does not replay: failures, workers, repeated runs. Readers
// fill them only when asked (WorkloadSpec::observe). `mrsim calibrate` reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace mr::sim {

enum class ObservedEnd : uint8_t { kSucceeded, kFailed, kKilled };

inline constexpr double kStartUnknown = -1;

struct ObservedAttempt {
  std::string task;    // "": the record does not name tasks
  std::string worker;  // the machine; "": the record does not name it
  uint32_t number = 0;
  double start = kStartUnknown;  // seconds on one clock for all attempts of the record
  double seconds = 0;            // 0: the record has no duration, or a wrong one
  uint64_t bytes = 0;            // of input; 0: not recorded
  ObservedEnd end = ObservedEnd::kSucceeded;
};

enum class ObservedKind : uint8_t {
  kUsual,
  kNoWork,  // attempts that read and compute nothing: their time is that of starting and ending
  kFresh,   // first attempts of new executors, in the stage of the same job and name; they pay for the start
};

struct ObservedStage {
  std::string job, name;
  std::string family;    // the program: each family is calibrated by itself; "": one family
  std::string workflow;  // jobs of one workflow run the same tasks, by name, again; "": the job does not recur
  ObservedKind kind = ObservedKind::kUsual;
  std::vector<ObservedAttempt> attempts;
};

// Collects attempts by stage, in the order of each stage's first attempt.
class Observations {
 public:
  // Returns the stage; adds it at its first call. The reference holds until the next call.
  ObservedStage& At(const std::string& job, const std::string& name, ObservedKind kind = ObservedKind::kUsual) {
    const auto [it, added] = number_of_.emplace(std::make_pair(job, std::make_pair(name, kind)), stages_.size());
    if (added) stages_.push_back({.job = job, .name = name, .kind = kind});
    return stages_[it->second];
  }
  std::vector<ObservedStage> Take() { return std::move(stages_); }

 private:
  std::map<std::pair<std::string, std::pair<std::string, ObservedKind>>, size_t> number_of_;
  std::vector<ObservedStage> stages_;
};

}  // namespace mr::sim
