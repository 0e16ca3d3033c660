// The plan and the answer that a submit would get, without submitting.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "master/core/records.h"
#include "master/host/predictor.h"
#include "master/sched/policies/jockey/admission.h"

namespace mr::master {

struct Explained {
  Status status;                 // it cannot be planned, and why; then nothing below is set
  std::vector<Status> refusals;  // that a submit would meet; the first is its answer
  JobPlan plan;
  struct Locality {
    uint32_t with_replica = 0;  // splits of which a worker that lives has a replica
    uint32_t workers = 0;       // on so many workers in all
  };
  std::vector<Locality> locality;  // by stage
  uint32_t slots = 0;              // of the cluster
  std::optional<Forecast> forecast;
  std::string no_forecast;                    // why there is none
  std::optional<sched::Admission> admission;  // of a job with a deadline, where there is a forecast
  bool steered = false;                       // a policy steers by deadlines: the admission's answer counts
};

}  // namespace mr::master
