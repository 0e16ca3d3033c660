// Fills the answers to clients that ask for lists: jobs, tasks, attempts, decisions, counters, workers, queues. Lists
// come in pages that fit into a message; `from` and `after` are as in client.capnp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/model/caller.h"
#include "master/core/master_core.h"
#include "master/host/host_clock.h"
#include "master/host/job_reader.h"
#include "master/host/rows.h"
#include "schema/client.capnp.h"

namespace mr::master {

// Thread: the master's. Jobs that do not exist for the caller are left out of lists, and NotFound by name.
// Errors of all: kNotFound; kRejected: the job ended so long ago that only its summary is kept.
class Lists {
 public:
  Lists(MasterCore& core, HostClock& clock, const JobReader& reader, Rows& rows, uint64_t cluster_id);

  void FillJobs(const Caller& caller, uint64_t from, rpc::MasterForClient::JobsResults::Builder out);
  Status FillJob(const Caller& caller, JobId job, rpc::MasterForClient::JobResults::Builder out);
  Status FillTasks(const Caller& caller, JobId job, uint64_t from, rpc::MasterForClient::TasksResults::Builder out);
  Status FillAttempts(const Caller& caller, JobId job, const AttemptId& after,
                      rpc::MasterForClient::AttemptsResults::Builder out);
  // from: the page's first decision.
  Status FillDecisions(const Caller& caller, JobId job, uint32_t from,
                       rpc::MasterForClient::DecisionsResults::Builder out);
  Status FillSpec(const Caller& caller, JobId job, rpc::JobSpec::Builder out);
  // Fills in the launch that the attempt's worker received.
  Status FillLaunched(const Caller& caller, const AttemptId& attempt,
                      rpc::MasterForClient::LaunchedResults::Builder out);
  // Fills in the run of an ended job, for `mrctl whatif` (history.cc).
  Status FillHistory(const Caller& caller, JobId job, uint32_t from, rpc::MasterForClient::HistoryResults::Builder out);
  Status FillCounters(const Caller& caller, JobId job, uint64_t from,
                      rpc::MasterForClient::CountersResults::Builder out);
  void FillWorkers(uint64_t from, rpc::MasterForClient::WorkersResults::Builder out);
  void FillQueues(rpc::MasterForClient::QueuesResults::Builder out);

 private:
  MasterCore& core_;
  HostClock& clock_;
  const JobReader& reader_;
  Rows& rows_;
  const uint64_t cluster_id_;
  std::pair<JobId, std::vector<CounterValue>> counted_;  // of the answer whose pages are being fetched
};

}  // namespace mr::master
