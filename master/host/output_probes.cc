#include "master/host/output_probes.h"

#include <glog/logging.h>

#include <string>
#include <tuple>

namespace mr::master {
namespace {

bool ReplicaLess(const Replica& a, const Replica& b) {
  return std::tie(a.output, a.attempt, a.worker, a.incarnation) <
         std::tie(b.output, b.attempt, b.worker, b.incarnation);
}

}  // namespace

OutputProbes::OutputProbes(Driver& driver, HostClock& clock, Outlets& outlets)
    : driver_(driver), core_(driver.core()), clock_(clock), outlets_(outlets), under_way_(&ReplicaLess) {}

void OutputProbes::Suspect(const Replica& replica, bool verify) {
  const ReplicaView* view = core_.jobs().FindReplica(replica);
  if (view == nullptr || under_way_.contains(replica)) return;
  const WorkerView* worker = core_.workers().FindAlive(replica.worker, replica.incarnation);
  if (worker == nullptr) {
    driver_.Feed(sched::ReplicaLost{replica, "its worker is gone"});
    return;
  }
  // Whether the worker is lost is decided first. Readers that still need the output complain again.
  if (worker->away || worker->session == 0 || StandsStill(*worker)) return;
  under_way_.insert(replica);
  const uint32_t partitions = view->extra ? view->extra.partitions() : 0;
  outlets_.Probe({worker->info.address, replica, verify && view->extra, view->manifest.content, partitions},
                 [this, replica](const Looked& looked) {
                   under_way_.erase(replica);
                   if (core_.jobs().FindReplica(replica) != nullptr) TakeFinding(replica, looked);
                 });
}

bool OutputProbes::StandsStill(const WorkerView& worker) {
  const Instant now = clock_.Lived();
  return clock_.CatchesUp(now) || worker.loop_stalled || now - worker.loop_moved >= kLoopPause;
}

void OutputProbes::TakeFinding(const Replica& replica, const Looked& looked) {
  const std::string name =
      "the output of " + core_.jobs().NameOf({replica.output.task, replica.attempt}) + " on " + Name(replica.worker);
  switch (looked.at) {
    case Looked::At::kWhole:
      LOG(INFO) << name << " is whole: a reader's complaint about it came from the network or from its own worker";
      return;
    case Looked::At::kUnknown: return;
    case Looked::At::kUnreachable:
      // The data server runs on the loop that stands still. If this master stood still, the answer may wait unread.
      if (const WorkerView* worker = core_.workers().FindAlive(replica.worker, replica.incarnation);
          worker != nullptr && StandsStill(*worker)) {
        LOG(INFO) << name << " stays, though its worker did not answer: it or this master stands still";
        return;
      }
      driver_.Feed(sched::ReplicaLost{replica, "its worker cannot be reached: " + looked.why});
      return;
    case Looked::At::kGone: driver_.Feed(sched::ReplicaLost{replica, "its worker does not have it any more"}); return;
    case Looked::At::kDamaged:
      LOG(WARNING) << name << " is damaged: " << looked.why;
      driver_.Feed(sched::ReplicaLost{replica, "damaged on its worker's disk: " + looked.why});
      return;
    case Looked::At::kOtherContent:
      LOG(WARNING) << name << " was damaged in memory: " << looked.why;
      driver_.Feed(sched::ReplicaLost{replica, "damaged in its worker's memory before it was stored: " + looked.why});
      NoteWrongOutput(replica.worker);
      return;
  }
}

void OutputProbes::NoteWrongOutput(WorkerId id) {
  WorkerView* worker = core_.workers().Find(id);
  if (worker == nullptr) return;
  driver_.FeedAll(core_.PrepareWrongOutput(id, clock_.Stamp()));
  if (worker->wrong_outputs != kDistrustedFrom) return;
  LOG(ERROR) << Name(id) << " at " << worker->info.address << " gets no new attempts: its memory has damaged "
             << worker->wrong_outputs << " outputs. Test its memory; `mrctl worker undrain " << Name(id)
             << "` lets it work again";
}

}  // namespace mr::master
