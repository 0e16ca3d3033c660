// Answers `mrctl explain`: the plan and the answer that a submit would get, without submitting. And the sizes of
// inputs, which a client needs before it has a spec.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/io/input_files.h"
#include "master/core/records.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/outlets.h"
#include "master/host/predictor.h"
#include "master/host/submit_checks.h"
#include "master/sched/policies/jockey/admission.h"

namespace mr::master {

struct Explained {
  Status status;                 // why it cannot be planned; then nothing below is set
  std::vector<Status> refusals;  // of a submit; the first is its answer
  JobPlan plan;
  struct Locality {
    uint32_t with_replica = 0;  // splits with a replica on a worker that lives
    uint32_t workers = 0;       // that have any of these replicas
  };
  std::vector<Locality> locality;  // by stage
  uint32_t slots = 0;              // of the cluster
  std::optional<Forecast> forecast;
  std::string no_forecast;                    // why there is none
  std::optional<sched::Admission> admission;  // of a job with a deadline, where there is a forecast
  bool steered = false;                       // a policy steers by deadlines: the admission's answer counts
};

// Thread: the master's; plans are made and directories are read on pool threads.
class Explainer {
 public:
  Explainer(Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets, SubmitChecks& checks, Forecasts& forecasts);

  // Replies with the plan and the answer that a submit would get. Does not need the operator library.
  void ExplainJob(const Caller& caller, const JobSpec& spec, std::function<void(Explained)> reply);
  // Replies with the sizes of the files behind each file:// and dfs:// URI, and each URL; nothing for one that a submit
  // could not read.
  using InputSizes = std::vector<std::optional<InputSize>>;
  void MeasureInputs(const Caller& caller, const std::vector<std::string>& uris, std::function<void(InputSizes)> reply);

 private:
  void Locate(Explained* out) const;
  void AddForecast(const JobSpec& spec, Result<Forecast> forecast, Explained* out);

  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Outlets& outlets_;
  SubmitChecks& checks_;
  Forecasts& forecasts_;
};

}  // namespace mr::master
