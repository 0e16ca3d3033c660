// Calls of workers and their answers as plain structs: registrations and reports.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/model/block.h"
#include "common/model/output.h"
#include "common/model/report.h"
#include "master/core/epochs.h"
#include "master/core/records.h"
#include "master/host/outlets.h"
#include "master/sched/event.h"

namespace mr::master {

// A report with the number that its worker gave it, unique in one incarnation.
struct NumberedReport {
  uint64_t number = 0;
  Report report;
};
// The answer to a call with reports: one verdict each, and what the worker is to do next.
struct ReportOut {
  std::vector<Verdict> verdicts;
  Message batch;  // root rpc::CommandBatch; null = nothing to do
};

struct RegisterIn {
  sched::WorkerRegistered info;  // worker is filled in here
  WorkerExtra extra;
  std::vector<BlockRef> blocks;
  bool leaving = false;
  int8_t tier = -1;               // of the rooms of its tasks; -1: not known
  uint32_t reports_given_up = 0;  // by this life of it
  Durable seen;                   // the newest that it was sent by any master of this cluster
};
struct RegisterOut {
  Status status;
  WorkerId worker;
  std::vector<Replica> drop;
  bool start_over = false;  // this life was given up meanwhile
  uint32_t epoch = 0;
  Durable durable;
};

}  // namespace mr::master
