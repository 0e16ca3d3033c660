// Carries out the actions of one attempt's state machine (attempt.h): opens the inputs, runs the child, passes it
// fetched batches, stores its output, and reports. It makes no decisions. Its only own state is which partitions have
// reached the child.
//
// Lives on the worker's KJ loop. Observers of the child are called on the host's threads. They write output on the
// attempt's strand of the pool and post everything else to the loop.
#pragma once

#include <kj/async.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/io/bulk_digest.h"
#include "worker/daemon/attempt.h"
#include "worker/daemon/services.h"

namespace mr::worker {

class AttemptRunner final : public std::enable_shared_from_this<AttemptRunner>, private kj::TaskSet::ErrorHandler {
 public:
  // Makes a runner that does nothing before Start.
  static std::shared_ptr<AttemptRunner> Make(Services& services, std::shared_ptr<const StageInfo> stage,
                                             LaunchCommand launch);
  ~AttemptRunner();

  void Start();
  void Handle(AttemptEvent event);

  AttemptId id() const { return launch_.attempt; }
  AttemptState state() const { return machine_.state(); }
  // Returns the output that is stored here and reported, while the answer to the report is not here.
  std::optional<Replica> UnansweredOutput() const;
  bool waiting() const { return machine_.waiting(); }
  // Returns the progress of the child, if one runs.
  std::optional<ProgressFrame> Frame() const;

 private:
  class Lane;    // output: sink and strand
  class Link;    // the child's observer
  class Feeder;  // one slice's fetcher and its observer
  // The batches of one partition so far, in order: their number and their digest.
  struct Passed {
    uint64_t batches = 0;
    BulkHasher128 content;
    void Add(std::string_view batch) {
      ++batches;
      content.Update(batch);
    }
  };
  // A partition with its first batches delivered to the child. Another replica of equal content delivers the same
  // batches again, because their borders depend only on the content. They are compared and dropped.
  struct Open {
    Passed given, again;
    bool resumed = false;
  };
  struct ReadTrace {
    std::set<uint32_t> whole;       // partitions that reached the child
    std::map<uint32_t, Open> open;  // begun and not whole
    bool broken = false;            // a repeated batch had other content
    bool partly = false;            // of a partition that is delivered in one turn, not all has reached the child
    FetchMeasure measure;
  };
  // Reads from one worker that have not been reported to the master.
  struct Tally {
    Replica replica;  // the replica that was read last
    uint64_t bytes = 0;
    Duration took;
    Instant reported;
  };
  // Returns whether the child already has this batch. Compares a repeated batch with the first one.
  static bool PassesAgain(ReadTrace* trace, Open* open, std::string_view batch, bool last);

  AttemptRunner(Services& services, std::shared_ptr<const StageInfo> stage, LaunchCommand launch);
  void taskFailed(kj::Exception&& exception) override;

  void Do(const action::Prepare&);
  void Do(const action::StartChild&);
  void Do(const action::Fetch& a);
  void Do(const action::RetryLater& a);
  void Do(const action::StopFetching&);
  void Do(const action::KillChild&);
  void Do(const action::StoreOutput&);
  void Do(const action::KeepOutput&);
  void Do(const action::DropOutput&);
  void Do(const action::FreeSlot&) { services_.on_slot_free(id()); }
  void Do(const action::ReportStarted&);
  void Do(const action::ReportFetchDone& a);
  void Do(const action::ReportFetchFailed& a);
  void Do(const action::ReportFinished& a);
  void Do(const action::ReportFailed& a);
  void Do(const action::ReportKilled&);
  void Do(const action::ReportRefused&);
  void Do(const action::Forget&);
  // Returns the name of its output as a replica of this worker.
  Replica Output() const;

  void Subscribe();
  Result<TaskSpec> MakeSpec(std::string library, std::string files, std::vector<SplitInput> splits);
  // Paths that the child needs before its inputs: the library, and the directory of the side files.
  struct Needs {
    std::string library, files;
  };
  kj::Promise<Result<Needs>> GetNeeds();
  // Returns true if the error shows that the worker's disk is full. Lets the worker check whether attempts can write.
  bool NoteDiskError(const std::string& message) const;
  event::PrepareFailed PrepareError(const Status& status) const;
  void Tell(decltype(Report::what) what, bool final);
  void TellTallies(bool all);
  // stored: the result of storing the output, if the child's end already stored it.
  void ChildEnded(TaskResult result, std::optional<Result<TaskOutput>> stored);
  // Handles the child's end, after its local inputs have been checked again.
  void EndOfChild();
  void Stored(Result<TaskOutput> output);
  // Called by the feeders, on the loop.
  void OnBatch(uint32_t read, FetchObserver::Batch batch, std::function<void()> taken);
  void OnReadDone(uint32_t read, const FetchMeasure& measure);
  void OnReadFailed(uint32_t read, const Status& why, bool partly_delivered);

  Services& services_;
  const std::shared_ptr<const StageInfo> stage_;
  const LaunchCommand launch_;
  AttemptMachine machine_;
  std::vector<AttemptEvent> events_;
  bool handling_ = false;

  std::vector<std::pair<StageId, uint64_t>> subscriptions_;
  std::vector<uint32_t> slice_of_read_, first_read_;  // reads of a slice are consecutive
  std::vector<ReadTrace> traces_;
  std::map<std::pair<WorkerId, Incarnation>, Tally> tallies_;
  std::vector<std::shared_ptr<Feeder>> feeders_;  // by slice; null before the first fetch
  std::shared_ptr<Lane> lane_;
  std::optional<TaskSpec> spec_;
  std::shared_ptr<RunningTask> task_;
  TaskResult result_;
  std::optional<Result<TaskOutput>> stored_;
  std::vector<LocalInputPtr> local_;  // by split, while the child reads
  InputChanges changes_;
  TaskOutput output_;
  kj::TaskSet tasks_;
};

}  // namespace mr::worker
