// Takes submissions: refuses them, or plans, predicts, admits and accepts them. Jobs that have been accepted are the
// core's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/exec/loop.h"
#include "common/model/caller.h"
#include "common/model/changed.h"
#include "master/host/driver.h"
#include "master/host/forecasts.h"
#include "master/host/host_clock.h"
#include "master/host/input_pins.h"
#include "master/host/libraries.h"
#include "master/host/outlets.h"
#include "master/host/submit_checks.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's; plans are made on pool threads.
class Submissions {
 public:
  Submissions(const HostOptions& options, Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets,
              Watchers& watchers, SubmitChecks& checks, InputPins& pins, Forecasts& forecasts,
              const Libraries& libraries);

  using Reply = std::function<void(Changed, JobId)>;
  // Replies when the job's record is durable, or with the refusal. The job belongs to the caller. A repeat by the same
  // owner with the same id gets the same job. spec_bytes: the spec in canonical wire form. submission_id: "" for none.
  void Submit(const Caller& caller, std::string spec_bytes, JobSpec spec, const std::string& submission_id,
              Reply reply);
  // Calls `fn` for the spec of each submission that is not accepted yet.
  void ForEachPlanned(const std::function<void(const JobSpec&)>& fn) const;

 private:
  struct Planning {
    Caller caller;
    std::string spec_bytes, submission_id;
    JobSpec spec;
    std::vector<Reply> replies;
    JobPlan plan;
    std::shared_ptr<Forecast> forecast;
    uint64_t pin = 0;  // of its inputs in the block store
  };
  void Planned(const std::string& key, Result<JobPlan> plan);
  void Predicted(const std::string& key, Result<Forecast> forecast);
  void AdmitPredicted(const std::string& key);
  void AcceptPredicted(const std::string& key);
  void Accept(const std::string& key, std::optional<sched::Prediction> prediction);
  void Refuse(const Planning& planning, const Status& status);
  Planning Take(const std::string& key);

  const HostOptions& options_;
  Driver& driver_;
  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Outlets& outlets_;
  Watchers& watchers_;
  SubmitChecks& checks_;
  InputPins& pins_;
  Forecasts& forecasts_;
  const Libraries& libraries_;
  std::map<std::string, Planning> planning_;   // by "id:", owner, a line break and submission id, or "no:" and a number
  std::map<std::string, size_t> planning_of_;  // how many of them, by owner
  uint64_t next_planning_ = 1;
};

}  // namespace mr::master
