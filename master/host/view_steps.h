// Reads views of the master for pages, in steps that each take a small part of a millisecond, so that other work goes
// on between them. A view may thus show different parts at slightly different times, as the lists that mrctl reads do.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "master/core/master_core.h"
#include "master/host/block_store.h"
#include "master/host/drain_status.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/job_reader.h"
#include "master/host/kept_logs.h"
#include "master/host/options.h"
#include "master/host/rows.h"
#include "master/host/safe_mode.h"
#include "master/host/usage.h"
#include "master/host/why.h"
#include "master/web/topic.h"
#include "master/web/views.h"

namespace mr::master {

// The parts of the host that views are read from.
struct ViewParts {
  const HostOptions& options;
  Driver& driver;
  HostClock& clock;
  JobReader& reader;
  DrainReader& drains;
  Rows& rows;
  WhyReader& why;
  BlockStore& block_store;
  const SafeMode& safe_mode;
  const Usage& usage;
  const KeptLogs& logs;
  MasterCore& core() const { return driver.core(); }
};

// Thread: the master's.
class ViewSteps {
 public:
  virtual ~ViewSteps() = default;
  // Reads the next part. Returns true at the end. Errors: kNotFound, also where only a summary of the job is kept.
  virtual Result<bool> Next() = 0;
  // Returns the whole view, once, after the last step.
  virtual web::View Take() = 0;
  // Whether the view will never change again.
  virtual bool final() const { return false; }
};

// Returns whether the job exists in a document of this topic.
inline bool Shows(const web::Topic& topic, const JobView& job) {
  return topic.owner.empty() || topic.owner == job.owner;
}

// Returns the steps of a topic other than kLog, which is read from a file (ViewReader).
std::unique_ptr<ViewSteps> StepsFor(const web::Topic& topic, const ViewParts& parts);

// The views of jobs are in run_steps.cc, jobs_steps.cc, that of a worker in worker_steps.cc.
std::unique_ptr<ViewSteps> RunStepsFor(const web::Topic& topic, const ViewParts& parts);
std::unique_ptr<ViewSteps> JobsStepsFor(const web::Topic& topic, const ViewParts& parts);
std::unique_ptr<ViewSteps> SearchStepsFor(const web::Topic& topic, const ViewParts& parts);
std::unique_ptr<ViewSteps> WorkerStepsFor(const web::Topic& topic, const ViewParts& parts);

}  // namespace mr::master
