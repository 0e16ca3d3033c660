#include "jobs/mrctl/client_wire.h"

#include <cstdio>

#include "common/rpc/control_wire.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/spec_wire.h"
#include "common/rpc/wire.h"

namespace mr::ctl {

Explained FromWire(rpc::ExplainedPlan::Reader r) {
  Explained e;
  for (auto s : r.getStages()) {
    e.stages.push_back({s.getName().cStr(), s.getReduces(), s.getTasks(), s.getSplits(), s.getWithReplica(),
                        s.getWorkers(), s.getInputBytes()});
  }
  for (auto refusal : r.getRefusals()) e.refusals.push_back(rpc::FromOutcome(refusal));
  for (auto t : r.getPredictions()) e.times.push_back({t.getSlots(), t.getMedianUs(), t.getMostUs(), t.getInTime()});
  e.slots = r.getSlots();
  e.runs = r.getRuns();
  e.basis = r.getBasis().cStr();
  e.scale = r.getScale();
  e.steered = r.getSteered();
  e.has_admission = r.getHasAdmission();
  e.admitted = r.getAdmitted();
  e.needs_slots = r.getNeedsSlots();
  e.available_slots = r.getAvailableSlots();
  e.critical_path_us = r.getCriticalPathUs();
  e.earliest_us = r.getEarliestUs();
  e.account = r.getAccount().cStr();
  return e;
}

ProfileStatus FromWire(rpc::Profile::Reader r) {
  ProfileStatus profile;
  char id[17];
  std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(r.getShape()));
  profile.id = id;
  profile.name = r.getName().cStr();
  profile.last = rpc::FromWire(r.getLast());
  profile.runs = r.getRuns();
  profile.updated_unix_ms = r.getUpdatedUnixMs();
  for (auto s : r.getStages()) {
    ProfileStage stage;
    stage.name = s.getName().cStr();
    stage.tasks = s.getTasks();
    for (auto input : s.getInputs()) stage.inputs.push_back({input.getEdge().cStr(), input.getFrom()});
    for (const float seconds : s.getRun()) stage.run.push_back(seconds);
    for (const float seconds : s.getWait()) stage.wait.push_back(seconds);
    stage.queue = s.getQueue();
    stage.fails = s.getFails();
    stage.fails_again = s.getFailsAgain();
    stage.input_bytes = s.getInputBytes();
    profile.stages.push_back(std::move(stage));
  }
  return profile;
}

ReplayTask FromWire(rpc::StageInfo::Reader stage, rpc::Launch::Reader launch) {
  ReplayTask task{rpc::FromWire(stage), rpc::FromWire(launch)};
  const auto& inputs = task.stage.spec.inputs;
  std::erase_if(task.launch.splits, [&](const mr::Split& split) { return split.input >= inputs.size(); });
  task.stage.port_partitions.resize(task.stage.spec.ports.size(), 1);
  return task;
}

}  // namespace mr::ctl
