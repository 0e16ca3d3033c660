#include "master/host/decision_effects.h"

#include <utility>
#include <variant>

#include "common/model/command.h"
#include "master/sched/state/state.h"

namespace mr::master {

DecisionEffects::DecisionEffects(Driver& driver, InputWaits& inputs, Dispatcher& dispatcher, Watchers& watchers,
                                 JobEnds& job_ends, BlockStore& block_store)
    : driver_(driver),
      inputs_(inputs),
      dispatcher_(dispatcher),
      watchers_(watchers),
      job_ends_(job_ends),
      block_store_(block_store) {}

struct DecisionEffects::Visitor {
  const DecisionEffects& parts;
  uint64_t sequence;
  void Command(WorkerId id, Incarnation incarnation, const AttemptId& attempt, bool take_back) {
    WorkerView* worker = parts.driver_.core().workers().FindAlive(id, incarnation);
    parts.dispatcher_.Send(worker, 64, [attempt, take_back]() -> mr::Command {
      if (take_back) return command::TakeBack{attempt};
      return command::Kill{attempt};
    });
    parts.watchers_.MarkChanged(attempt.task.job);
  }
  void operator()(const sched::Launch& d) {
    if (HasSideEffects(parts.driver_.core().scheduler().state(), d)) {
      // A restart must know this attempt, or it launches another one beside it. An attempt that was ended meanwhile
      // was answered by its worker, which never received it.
      parts.driver_.Hold(sequence,
                         [driver = &parts.driver_, inputs = &parts.inputs_, dispatcher = &parts.dispatcher_, d] {
                           const sched::Attempt* a = driver->core().scheduler().state().FindAttempt(d.attempt);
                           if (a != nullptr && a->live() && !inputs->Blocks(d)) dispatcher->SendLaunch(d);
                         });
    } else if (!parts.inputs_.Blocks(d)) {
      parts.dispatcher_.SendLaunch(d);
    }
    parts.watchers_.MarkChanged(d.attempt.task.job);
  }
  void operator()(const sched::Bind& d) { parts.dispatcher_.SendBind(d); }
  void operator()(const sched::Kill& d) { Command(d.worker, d.incarnation, d.attempt, false); }
  void operator()(const sched::TakeBack& d) { Command(d.worker, d.incarnation, d.attempt, true); }
  void operator()(const sched::Accept& d) { parts.watchers_.MarkChanged(d.attempt.task.job); }
  void operator()(const sched::Refuse& d) { parts.watchers_.MarkChanged(d.attempt.task.job); }
  void operator()(const sched::DropReplica& d) {
    WorkerView* worker = parts.driver_.core().workers().FindAlive(d.replica.worker, d.replica.incarnation);
    parts.dispatcher_.Send(worker, 96, [replica = d.replica] { return command::DropReplica{replica}; });
  }
  void operator()(const sched::PlanStage&) {}  // answered by a follow-up
  void operator()(const sched::CommitJob& d) {
    parts.watchers_.MarkChanged(d.job);
    // Output in the block store is visible already; JobEnded reports its end.
    if (parts.driver_.core().jobs().Find(d.job)->in_dfs()) return;
    parts.driver_.Hold(sequence, [job_ends = &parts.job_ends_, job = d.job] { job_ends->Publish(job, 1); });
  }
  void operator()(const sched::FailJob& d) { parts.watchers_.MarkChanged(d.job); }  // reported by JobEnded
  void operator()(const sched::WakeAt&) {}                                          // the driver arms it
  void operator()(const sched::ReplicateOutput& d) { parts.dispatcher_.SendReplicate(d.from, d.to); }
  // Shares, facts and marks are the core's own.
  void operator()(const sched::SetShare&) {}
  void operator()(const sched::MarkIndeterminate&) {}
  void operator()(const sched::Remember&) {}
  void operator()(const sched::Spare&) {}
};

void DecisionEffects::CarryOut(const sched::Decision& decision, uint64_t sequence) {
  std::visit(Visitor{*this, sequence}, decision);
}

void DecisionEffects::ReplicasChanged(const std::vector<Replica>& added, const std::vector<Replica>& removed) {
  dispatcher_.SendDelta(added, removed);
}

void DecisionEffects::CarryOutBlocks(std::vector<dfs::Effect> effects, uint64_t sequence) {
  block_store_.CarryOut(std::move(effects), sequence);
}

void DecisionEffects::JobEnded(JobId job) { job_ends_.JobEnded(job); }

}  // namespace mr::master
