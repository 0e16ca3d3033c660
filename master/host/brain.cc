#include "master/host/brain.h"

#include <glog/logging.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "common/rpc/control_wire.h"
#include "master/sched/state/state.h"

namespace mr::master {
namespace {

bool ReplicaLess(const Replica& a, const Replica& b) {
  return std::tie(a.output, a.attempt, a.worker, a.incarnation) <
         std::tie(b.output, b.attempt, b.worker, b.incarnation);
}

}  // namespace

Brain::Brain(Options options, Loop& loop, Outlets& outlets)
    : options_(std::move(options)),
      loop_(loop),
      outlets_(outlets),
      clock_(options_.clock, loop),
      driver_(options_, clock_, loop, outlets, *this),
      core_(driver_.core()),
      reader_(core_, clock_, options_.policies),
      watchers_(core_, clock_, loop, outlets, reader_),
      drains_(core_),
      lists_(core_, clock_, reader_, drains_, options_.cluster_id),
      why_(core_, clock_, drains_),
      dispatcher_(driver_, loop, outlets, options_.cluster_id),
      safe_mode_(driver_, clock_, options_.directory),
      probing_(&ReplicaLess) {}

Brain::~Brain() = default;

void Brain::Flush() {
  dispatcher_.Flush();
  watchers_.PushDue();
  core_.Shrink();
}

void Brain::ReplicasChanged(const std::vector<Replica>& added, const std::vector<Replica>& removed) {
  dispatcher_.SendDelta(added, removed);
}

void Brain::CarryOut(const sched::Decision& decision, uint64_t sequence) {
  struct Visitor {
    Brain& brain;
    uint64_t sequence;
    void Command(WorkerId id, Incarnation incarnation, const AttemptId& attempt, bool take_back) {
      WorkerView* worker = brain.core_.workers().FindAlive(id, incarnation);
      brain.dispatcher_.Send(worker, 64, [attempt, take_back]() -> mr::Command {
        if (take_back) return command::TakeBack{attempt};
        return command::Kill{attempt};
      });
      brain.watchers_.MarkChanged(attempt.task.job);
    }
    void operator()(const sched::Launch& d) {
      if (HasSideEffects(brain.core_.scheduler().state(), d)) {
        // A master that restarts must know it, or it launches another one beside it. One that was ended meanwhile has
        // been answered by its worker, which never had it.
        brain.driver_.Hold(sequence, [b = &brain, d] {
          const sched::Attempt* a = b->core_.scheduler().state().FindAttempt(d.attempt);
          if (a != nullptr && a->live()) b->dispatcher_.SendLaunch(d);
        });
      } else {
        brain.dispatcher_.SendLaunch(d);
      }
      brain.watchers_.MarkChanged(d.attempt.task.job);
    }
    void operator()(const sched::Bind& d) { brain.dispatcher_.SendBind(d); }
    void operator()(const sched::Kill& d) { Command(d.worker, d.incarnation, d.attempt, false); }
    void operator()(const sched::TakeBack& d) { Command(d.worker, d.incarnation, d.attempt, true); }
    void operator()(const sched::Accept& d) { brain.watchers_.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::Refuse& d) { brain.watchers_.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::DropReplica& d) {
      WorkerView* worker = brain.core_.workers().FindAlive(d.replica.worker, d.replica.incarnation);
      brain.dispatcher_.Send(worker, 96, [replica = d.replica] { return command::DropReplica{replica}; });
    }
    void operator()(const sched::PlanStage&) {}  // answered by a follow-up
    void operator()(const sched::CommitJob& d) {
      brain.watchers_.MarkChanged(d.job);
      // One in the block store is there already; Release reports its end.
      if (brain.core_.jobs().Find(d.job)->in_dfs()) return;
      brain.driver_.Hold(sequence, [b = &brain, job = d.job] { b->Publish(job, 1); });
    }
    void operator()(const sched::FailJob& d) { brain.watchers_.MarkChanged(d.job); }  // reported by Release
    void operator()(const sched::WakeAt&) {}                                          // the driver arms it
    void operator()(const sched::ReplicateOutput& d) { brain.dispatcher_.SendReplicate(d.from, d.to); }
    // Shares, facts and marks are the core's own.
    void operator()(const sched::SetShare&) {}
    void operator()(const sched::MarkIndeterminate&) {}
    void operator()(const sched::Remember&) {}
    void operator()(const sched::Spare&) {}
  };
  std::visit(Visitor{*this, sequence}, decision);
}

}  // namespace mr::master
