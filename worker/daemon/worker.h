// The worker's books: which attempts run, what stages and copies are known, which outputs are kept
// here. Applies the master's commands; says at registration what is here. Lives on the KJ loop.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "worker/daemon/attempt_runner.h"
#include "worker/daemon/progress.h"
#include "worker/daemon/services.h"

namespace mr::worker {

struct SlotLimits {
  uint32_t total = 0;
  uint32_t map = 0, reduce = 0;  // 0 = total
};

class Worker {
 public:
  struct Options {
    SlotLimits slots;
    // The block store's commands; empty where the daemon has none.
    std::function<void(const DeleteBlock&)> delete_block;
    std::function<void(const ReplicateBlock&)> replicate_block;
    std::function<void(const EmptyQuarantine&)> empty_quarantine;
  };
  Worker(Services& services, Options options);

  // In the order in which the master sent them.
  void Apply(Command command);
  // This process will end: no new launches, whatever the master says; what runs goes on.
  void Leave() { leaving_ = true; }
  bool leaving() const { return leaving_; }
  // No new launches, because it leaves or because the master says so.
  bool draining() const { return draining_ || leaving_; }

  // Registration. The inventory lists what the master has said to keep, and replicas of which it may
  // have heard; `running` also attempts that are over but whose report has no answer yet.
  std::vector<CopyName> Inventory() const;
  std::vector<AttemptId> Running() const;
  // SHA-256 of libraries and side files of the stages that are known here.
  std::set<std::string> FilesInUse() const;
  void Registered(WorkerRef self, const std::vector<CopyName>& drop);

  // Frames that are due; see ProgressGate.
  std::vector<ProgressFrame> DueProgress(Instant now);
  // Attempts whose child, or what prepares for it, is there.
  uint32_t busy() const;
  bool idle() const { return attempts_.empty(); }
  void KillAll();
  // The master counts nothing any more that runs or is kept here.
  void StartOver();

  struct Counters {
    uint64_t launched = 0, refused = 0, ended = 0;
  };
  const Counters& counters() const { return counters_; }
  size_t kept() const { return kept_.size(); }

 private:
  void On(Launch launch);
  void On(const Kill& kill);
  void On(const TakeBack& take_back);
  void On(StageInfo stage);
  void On(const DirectoryDelta& delta) { services_.directory.Apply(delta); }
  void On(const Bind& bind);
  void On(const DropCopy& drop) { Drop(drop.copy); }
  void On(const EndJob& end);
  void On(const DeleteBlock& command);
  void On(const ReplicateBlock& command);
  void On(const EmptyQuarantine& command);
  void On(const Drain& drain) { draining_ = drain.on; }
  void On(const ReplicateCopy& command);

  // Why it cannot be launched here; empty: it can.
  std::string WhyNot(const Launch& launch, const StageInfo* stage) const;
  void Drop(const CopyName& copy);
  void Replicated(const CopyLocation& from, const Result<uint64_t>& bytes, bool here);
  void Ended(AttemptId attempt);
  AttemptRunner* Find(AttemptId attempt) const;

  Services& services_;
  const Options options_;
  bool draining_ = false;  // as the master said last
  bool leaving_ = false;
  std::map<StageId, std::shared_ptr<const StageInfo>> stages_;
  std::map<AttemptId, std::shared_ptr<AttemptRunner>> attempts_;
  std::map<CopyKey, uint32_t> kept_;     // generation
  std::map<CopyKey, uint64_t> unheard_;  // replicas of kept_: report that has no answer yet
  ProgressGate progress_;
  Counters counters_;
};

}  // namespace mr::worker
