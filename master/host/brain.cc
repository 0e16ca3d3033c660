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
      probing_(&ReplicaLess) {}

Brain::~Brain() = default;

void Brain::CarryOut(const sched::Decision& decision, uint64_t sequence) {
  struct Visitor {
    Brain& brain;
    uint64_t sequence;
    void Command(WorkerId id, Incarnation incarnation, const AttemptId& attempt, bool take_back) {
      WorkerView* worker = brain.core_.workers().FindAlive(id, incarnation);
      brain.Send(worker, 64, [attempt, take_back]() -> mr::Command {
        if (take_back) return command::TakeBack{attempt};
        return command::Kill{attempt};
      });
      brain.MarkChanged(attempt.task.job);
    }
    void operator()(const sched::Launch& d) {
      if (HasSideEffects(brain.core_.scheduler().state(), d)) {
        // A master that restarts must know it, or it launches another one beside it. One that was ended meanwhile has
        // been answered by its worker, which never had it.
        brain.driver_.Hold(sequence, [b = &brain, d] {
          const sched::Attempt* a = b->core_.scheduler().state().FindAttempt(d.attempt);
          if (a != nullptr && a->live()) b->SendLaunch(d);
        });
      } else {
        brain.SendLaunch(d);
      }
      brain.MarkChanged(d.attempt.task.job);
    }
    void operator()(const sched::Bind& d) {
      const AttemptView* reader = brain.core_.jobs().Find(d.reader);
      const ReplicaView* replica = brain.core_.jobs().FindReplica(d.replica);
      if (reader == nullptr || replica == nullptr) return;
      WorkerView* worker = brain.core_.workers().FindAlive(reader->worker, reader->incarnation);
      brain.Send(worker, 4096, [this_brain = &brain, d, view = *replica] {
        return command::Bind{d.reader, d.replica.output.task.stage, this_brain->LocationOf(view)};
      });
    }
    void operator()(const sched::Kill& d) { Command(d.worker, d.incarnation, d.attempt, false); }
    void operator()(const sched::TakeBack& d) { Command(d.worker, d.incarnation, d.attempt, true); }
    void operator()(const sched::Accept& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::Refuse& d) { brain.MarkChanged(d.attempt.task.job); }
    void operator()(const sched::DropReplica& d) {
      WorkerView* worker = brain.core_.workers().FindAlive(d.replica.worker, d.replica.incarnation);
      brain.Send(worker, 96, [replica = d.replica] { return command::DropReplica{replica}; });
    }
    void operator()(const sched::PlanStage&) {}  // answered by a follow-up
    void operator()(const sched::CommitJob& d) {
      brain.MarkChanged(d.job);
      // One in the block store is there already; Release reports its end.
      if (brain.core_.jobs().Find(d.job)->in_dfs()) return;
      brain.driver_.Hold(sequence, [b = &brain, job = d.job] { b->Publish(job, 1); });
    }
    void operator()(const sched::FailJob& d) { brain.MarkChanged(d.job); }  // reported by Release
    void operator()(const sched::WakeAt&) {}                                // the driver arms it
    void operator()(const sched::ReplicateOutput& d) { brain.SendReplicate(d.from, d.to); }
    // Shares, facts and marks are the core's own.
    void operator()(const sched::SetShare&) {}
    void operator()(const sched::MarkIndeterminate&) {}
    void operator()(const sched::Remember&) {}
    void operator()(const sched::Spare&) {}
  };
  std::visit(Visitor{*this, sequence}, decision);
}

}  // namespace mr::master
