// Where the outputs of each upstream stage can be read, as the master tells it: a versioned
// directory per (job, stage), fed by deltas. Attempts subscribe to the stages they read.
//
// The first delta of a stage is complete; later ones are in order. After the worker has registered
// again the next delta of each stage is a complete one again: what it does not name is gone. Pure:
// lives on the worker's loop, calls its readers at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "worker/daemon/attempt.h"

namespace mr::worker {

struct DirectoryDelta {
  StageId stage;
  uint64_t version = 0;
  std::vector<CopyPtr> added;
  std::vector<CopyPtr> removed;  // by output task, attempt, worker, incarnation; the rest is not set
};

class Directory {
 public:
  // added = false: removed. Must not call back into the directory.
  using Listener = std::function<void(const CopyPtr& copy, bool added)>;

  // False, without effect, for a delta that was applied before.
  bool Apply(const DirectoryDelta& delta);
  // From now on the next delta of each stage is complete.
  void ExpectComplete();
  void EndJob(JobId job);

  // Tells the listener all copies that are known, then each change. Ends with Unsubscribe.
  uint64_t Subscribe(StageId stage, Listener listener);
  void Unsubscribe(StageId stage, uint64_t subscription);

  size_t copies() const;

 private:
  // By task, then attempt, worker, incarnation.
  struct Key {
    uint32_t task = 0, attempt = 0, worker = 0;
    Incarnation incarnation = 0;
    auto operator<=>(const Key&) const = default;
  };
  struct Stage {
    uint64_t version = 0;
    bool complete_next = true;
    std::map<Key, CopyPtr> copies;
    std::map<uint64_t, Listener> listeners;
  };
  static Key KeyOf(const CopyLocation& copy);
  static void Tell(const Stage& stage, const CopyPtr& copy, bool added);

  std::map<StageId, Stage> stages_;
  uint64_t next_subscription_ = 1;
};

}  // namespace mr::worker
