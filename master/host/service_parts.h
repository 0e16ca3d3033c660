// The parts of the host that services ask, by role of the peer. References only: the host owns the parts.
#pragma once

#include "master/host/block_store.h"
#include "master/host/drain_status.h"
#include "master/host/driver.h"
#include "master/host/explain.h"
#include "master/host/job_requests.h"
#include "master/host/kept_logs.h"
#include "master/host/libraries.h"
#include "master/host/lists.h"
#include "master/host/options.h"
#include "master/host/reports.h"
#include "master/host/safe_mode.h"
#include "master/host/sessions.h"
#include "master/host/submissions.h"
#include "master/host/watchers.h"
#include "master/host/why.h"

namespace mr::master {

// Thread: the parts belong to the master's thread. Options, and what the driver allows, may be read on any thread.
struct WorkerParts {
  const HostOptions& options;
  Sessions& sessions;
  Reports& reports;
  BlockStore& block_store;
  const SafeMode& safe_mode;
  KeptLogs& logs;
};
struct ClientParts {
  const HostOptions& options;
  Driver& driver;
  BlockStore& block_store;
  Watchers& watchers;
  Lists& lists;
  WhyReader& why;
  DrainReader& drains;
  Submissions& submissions;
  Explainer& explainer;
  JobRequests& requests;
  Sessions& sessions;
  Libraries& libraries;
  SafeMode& safe_mode;
  const KeptLogs& logs;
};

}  // namespace mr::master
