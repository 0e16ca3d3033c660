// The replicas of each upstream stage's outputs: a versioned directory per (job, stage), fed by deltas from the master.
// Attempts subscribe to the stages that they read.
//
// The first delta of a stage is complete; later ones follow in order. After a new registration the next delta of each
// stage is complete again: replicas that it does not name are gone. Pure. Lives on the worker's loop and calls its
// listeners at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "common/model/command.h"

namespace mr::worker {

class Directory {
 public:
  // added: false for a removal. Must not call the directory.
  using Listener = std::function<void(const ReplicaPtr& replica, bool added)>;

  // Applies a delta. Returns false, without effect, for one that was applied before.
  bool Apply(const DirectoryDelta& delta);
  // Treats the next delta of each stage as complete.
  void ExpectComplete();
  void EndJob(JobId job);

  // Reports all known replicas to the listener, then each change, until Unsubscribe.
  uint64_t Subscribe(StageId stage, Listener listener);
  void Unsubscribe(StageId stage, uint64_t subscription);

  size_t replicas() const;

 private:
  // Ordered by task, then attempt, worker, incarnation.
  struct Key {
    uint32_t task = 0, attempt = 0, worker = 0;
    Incarnation incarnation = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Stage {
    uint64_t version = 0;
    bool complete_next = true;
    std::map<Key, ReplicaPtr> replicas;
    std::map<uint64_t, Listener> listeners;
  };
  static Key KeyOf(const Replica& replica);
  static void Tell(const Stage& stage, const ReplicaPtr& replica, bool added);

  std::map<StageId, Stage> stages_;
  uint64_t next_subscription_ = 1;
};

}  // namespace mr::worker
