// The effects of records on workers, files and clients: the driver calls the parts above it through this interface.
#pragma once

#include <cstdint>
#include <vector>

#include "common/base/ids.h"
#include "dfs/meta/namespace.h"
#include "master/sched/decision.h"

namespace mr::master {

// Thread: the master's. Implementations carry out; they decide nothing. What promises a record waits in Driver::Hold.
class Effects {
 public:
  virtual ~Effects() = default;
  // Carries out one decision of the record `sequence`. Called in the order of decisions. During a start, decisions are
  // held back until the whole state is restored.
  virtual void CarryOut(const sched::Decision& decision, uint64_t sequence) = 0;
  // The record changed these replicas of outputs. Called before the record's decisions are carried out.
  virtual void ReplicasChanged(const std::vector<Replica>& added, const std::vector<Replica>& removed) = 0;
  // Carries out changes of blocks that the record `sequence` requires. Called before the record's decisions.
  virtual void CarryOutBlocks(std::vector<dfs::Effect> effects, uint64_t sequence) = 0;
  // The job's end is durable: it may be reported, and workers may forget the job.
  virtual void JobEnded(JobId job) = 0;
};

}  // namespace mr::master
