// Sends commands to workers: gathers them during a turn, and sends each worker one message at its end.
//
// The first launch of a stage on a worker follows its StageInfo and the directories of the stages that it reads. Later
// changes of these directories go as deltas to the workers that received the first one. A message about a stage is
// encoded once for all workers. Messages that no worker waits for are held for up to 100 ms, to travel with others.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "common/exec/loop.h"
#include "common/model/command.h"
#include "master/host/driver.h"
#include "master/host/granter.h"
#include "master/host/outlets.h"
#include "master/host/stage_messages.h"
#include "master/host/worker_calls.h"

namespace mr::master {

// Thread: the master's.
class Dispatcher {
 public:
  // Called when the message is filled, with the state of that moment.
  using MakeCommand = std::function<Command()>;

  // granter: null where commands need no grants.
  Dispatcher(Driver& driver, Loop& loop, Outlets& outlets, uint64_t cluster_id, std::shared_ptr<const Granter> granter);

  // Queues a command. Without a session it is dropped: what the worker runs comes with its next registration.
  // worker: may be null. bytes: an estimate of the command's size in a message.
  void Send(WorkerView* worker, size_t bytes, MakeCommand make);
  // Queues the verdict on a report. It may be held, to travel with other messages.
  void GiveVerdict(WorkerId worker, Incarnation incarnation, uint64_t report, Verdict verdict);
  // Sends what is held for the worker at the end of this turn.
  void SendHeld(WorkerId worker) { SendSoon(worker); }
  // Answers a worker's call with reports at the end of this turn, together with the commands that wait for it.
  void AnswerReports(uint64_t session, WorkerId worker, ReportOut out, std::function<void(ReportOut)> reply);
  // Drops what waits for the worker.
  void Forget(WorkerId worker);

  void SendLaunch(const sched::Launch& launch);
  // Names the replica of an output that a reader of clones' outputs reads.
  void SendBind(const sched::Bind& bind);
  // Sends a stage's configuration and the directories that it reads, unless the worker has them.
  void SendStage(WorkerView* worker, const JobView& job, uint32_t stage);
  // Sends changes of directories to the workers that have them.
  void SendDelta(const std::vector<Replica>& added, const std::vector<Replica>& removed);
  // Asks the worker to make a replica. Nothing where it is away: it is asked again when it has registered.
  void SendReplicate(const Replica& from, WorkerId to);
  // Lets all workers that know the job forget it, soon. Its outputs do not change any more.
  void EndJob(JobId job);

  // End of a turn: answers reports, and sends what is due.
  void Flush();

 private:
  struct Queued {
    size_t bytes;
    MakeCommand make;  // null where the command is encoded already
    Message encoded;   // with the command as its root; shared by workers
  };
  // Commands for one worker that wait for the end of the turn, or until it has taken earlier large messages. So the
  // directories of many readers do not all lie in messages at once. After that the connection bounds them: a worker
  // that does not take its commands is disconnected (rpc::ServerLimits::send_grace, most_queued_bytes).
  struct Outgoing {
    std::vector<Queued> commands;
    std::vector<mr::Answer> verdicts;
    Instant held_until;      // zero: nothing is held
    unsigned under_way = 0;  // large messages that the worker has not taken
    bool empty() const { return commands.empty() && verdicts.empty(); }
  };
  struct OpenReport {
    uint64_t session;
    WorkerId worker;
    ReportOut out;
    std::function<void(ReportOut)> reply;
  };
  void EndJobAt(WorkerView* worker, JobId job);
  // Queues an encoded command, which SendSoon or SendWithin sends. Requires: the worker has a session.
  void SendEncoded(WorkerView* worker, Message command);
  // Sends what is queued for the worker at the end of this turn.
  void SendSoon(WorkerId worker) { due_.insert(worker); }
  // Sends what is queued for the worker within this time.
  void SendWithin(WorkerId worker, Duration delay);
  void ArmRelease(Instant at);
  void ReleaseHeld();
  Message NextBatch(WorkerView* worker, Outgoing* out);
  bool SendDue(WorkerView* worker, size_t* large_bytes);
  static bool IsLarge(const Outgoing& out);
  void Taken(WorkerId worker, uint64_t session);

  MasterCore& core_;
  Loop& loop_;
  Outlets& outlets_;
  const std::shared_ptr<const Granter> granter_;
  std::map<WorkerId, Outgoing> outgoing_;
  std::set<WorkerId> due_;                       // those whose messages go at the end of this turn
  std::set<std::pair<Instant, WorkerId>> held_;  // those whose messages go at this time, if they have not gone before
  Instant release_at_;                           // when held_ is looked at; zero: not armed
  std::vector<OpenReport> open_reports_;         // of this turn
  StageMessages messages_;
};

}  // namespace mr::master
