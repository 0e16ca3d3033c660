// One task from Run() to OnEnd(). Its state belongs to the io thread; the RunningTask interface posts to it. Checks
// every packet of the child, and every batch after it was copied out of the arena.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "worker/host/core.h"
#include "worker/host/packet_checks.h"

namespace mr::worker {

class Running : public RunningTask, public Child::Handler, public std::enable_shared_from_this<Running> {
 public:
  Running(std::shared_ptr<Core> core, TaskSpec spec, std::shared_ptr<TaskObserver> observer);

  // The interface RunningTask, from any thread.
  void Feed(uint32_t input, uint32_t upstream_task, uint32_t partition, SharedBytes bytes, bool last,
            std::function<void()> taken) override;
  void Kill() override;
  TaskProgress Progress() const override;
  int pid() const override { return pid_.load(std::memory_order_relaxed); }

  // io thread only.
  void Start();
  void KillNow();
  // Ends the task if it makes no progress for too long or has too many processes. Called several times per second. now:
  // Core::Lived().
  void LookAfter(Instant now);
  // Ends the task because its scratch files are above the limit.
  void ScratchOver(uint64_t bytes);
  // Identifies it among the tasks of this process.
  uint64_t number() const { return number_; }

 private:
  struct Chunk {  // input on its way to the child
    uint32_t input, upstream, partition;
    SharedBytes bytes;
    bool last;
    std::function<void()> taken;
    size_t sent = 0;
  };

  void OnPacket(task::Packet& packet) override;
  void OnGarbage() override;
  void OnExit(Helper::Exit exit) override;

  void SendTask();
  void PumpInput();
  // Each handles the effect of one kind of packet.
  void TakeOutput(const task::Header& h, std::string chunk);
  void TakeTaken(uint32_t slot);
  void TakeReadMore(const task::Header& h);
  void TakeDone(task::WireResult result);
  void FreeOutput(uint32_t slot);
  void OutputDone(uint32_t slot, Status status);
  // Fails the task for this reason, unless it has failed before, and kills its child.
  void Fail(TaskEnd end, std::string message);
  // The same for a task without progress. Its process has some seconds to write its stack to the log.
  void FailWithStack(std::string message);
  void ExitedEarly(Helper::Exit exit);
  // Lets a task without progress write its stack to its log. idle: for how long it has made none.
  void SampleStack(Duration idle);
  std::string HangText(Duration idle) const;
  // Says that a process of the task was killed for memory; "" if none was.
  std::string OomText() const;
  void EndIfComplete();
  void End(TaskResult result);
  std::string operator_name() const { return "operator " + spec_.operator_name; }

  const uint64_t number_;
  std::shared_ptr<Core> core_;
  TaskSpec spec_;
  std::shared_ptr<TaskObserver> observer_;
  std::string key_;  // of children that may serve this task
  bool keep_ = false;
  const bool leased_;  // it has side effects

  std::shared_ptr<Child> child_;
  std::shared_ptr<Arena> arena_;
  bool ended_ = false;
  std::optional<TaskResult> failure_;
  bool stack_asked_ = false;
  int samples_ = 0;  // of its stack, since it last made progress
  int all_samples_ = 0;
  uint64_t default_memory_ = 0;    // its limit, if its job has none; 0: none
  uint64_t oom_kills_before_ = 0;  // in its control group
  std::optional<task::WireResult> done_;
  bool exited_ = false;

  std::deque<Chunk> input_;
  std::optional<PacketChecks> checks_;              // from Start() on, if there is a child
  std::vector<std::function<void()>> input_taken_;  // of the chunk with its last fragment in this slot
  uint32_t outputs_pending_ = 0;
  uint64_t records_out_ = 0;
  uint64_t packets_ = 0;  // of output
  TaskProgress seen_;     // at the last check
  uint64_t seen_packets_ = 0;
  Instant moved_;  // when it last made progress or waited

  std::atomic<int> pid_{0};
  mutable std::mutex mutex_;  // guards the two below, for Progress()
  std::shared_ptr<Arena> watched_;
  TaskProgress final_;
};

}  // namespace mr::worker
