// Carries out decisions of the scheduler: which part of the host does what a decision asks for.
#pragma once

#include <vector>

#include "master/host/block_store.h"
#include "master/host/dispatcher.h"
#include "master/host/driver.h"
#include "master/host/effects.h"
#include "master/host/input_waits.h"
#include "master/host/job_ends.h"
#include "master/host/watchers.h"

namespace mr::master {

// Thread: the master's.
class DecisionEffects final : public Effects {
 public:
  // The parts need not be constructed yet: they are used from the first record on.
  DecisionEffects(Driver& driver, InputWaits& inputs, Dispatcher& dispatcher, Watchers& watchers, JobEnds& job_ends,
                  BlockStore& block_store);

  void CarryOut(const sched::Decision& decision, uint64_t sequence) override;
  void ReplicasChanged(const std::vector<Replica>& added, const std::vector<Replica>& removed) override;
  void CarryOutBlocks(std::vector<dfs::Effect> effects, uint64_t sequence) override;
  void JobEnded(JobId job) override;

 private:
  struct Visitor;

  Driver& driver_;
  InputWaits& inputs_;
  Dispatcher& dispatcher_;
  Watchers& watchers_;
  JobEnds& job_ends_;
  BlockStore& block_store_;
};

}  // namespace mr::master
