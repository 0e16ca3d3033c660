#include "master/host/client_answers.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/admission_text.h"
#include "master/host/profiles.h"
#include "master/host/shell.h"
#include "master/sched/policies/jockey/admission.h"

namespace mr::master {
namespace {

constexpr size_t kProfilePage = 512 << 10;  // of a message of at most 1 MiB

const char* EdgeWord(EdgeKind kind) {
  switch (kind) {
    case EdgeKind::kAllToAll: return "all_to_all";
    case EdgeKind::kManyToOne: return "many_to_one";
    case EdgeKind::kOneToOne: return "one_to_one";
    case EdgeKind::kBroadcast: return "broadcast";
  }
  return "";
}

void FillProfileStage(const sched::StageRuns& stage, rpc::ProfileStage::Builder out) {
  out.setName(stage.name.c_str());
  out.setTasks(stage.tasks);
  auto inputs = out.initInputs(static_cast<unsigned>(stage.inputs.size()));
  for (unsigned i = 0; i < inputs.size(); ++i) {
    if (!stage.inputs[i].is_edge) continue;
    inputs[i].setEdge(EdgeWord(stage.inputs[i].edge));
    inputs[i].setFrom(stage.inputs[i].upstream);
  }
  out.setRun(kj::arrayPtr(stage.run.data(), stage.run.size()));
  out.setWait(kj::arrayPtr(stage.wait.data(), stage.wait.size()));
  out.setQueue(stage.queue);
  out.setFails(stage.fails);
  out.setFailsAgain(stage.fails_again);
  out.setInputBytes(stage.input_bytes);
}

// Errors: kNotFound.
Status FillProfile(const std::string& name, const Result<std::vector<StoredProfile>>& all, uint32_t index,
                   uint32_t from, rpc::MasterForClient::ProfileResults::Builder out) {
  MR_RETURN_IF_ERROR(all.status());
  if (index >= all->size()) {
    return NotFound("no run of a job named '" + name + "' is known: the first that succeeds leaves a profile");
  }
  const StoredProfile& stored = (*all)[index];
  const auto& stages = stored.profile.stages;
  uint32_t end = from;
  for (size_t bytes = 0; end < stages.size() && bytes < kProfilePage; ++end) {
    bytes += (stages[end].run.size() + stages[end].wait.size()) * sizeof(float) + 512;
  }
  out.setCount(static_cast<uint32_t>(all->size()));
  out.setNext(end < stages.size() ? end : 0);
  auto profile = out.initProfile();
  profile.setName(stored.name.c_str());
  profile.setShape(stored.shape);
  profile.setRuns(stored.profile.runs);
  profile.setUpdatedUnixMs(stored.updated_unix_ms);
  rpc::ToWire(stored.last, profile.initLast());
  auto list = profile.initStages(end < from ? 0 : end - from);
  for (uint32_t s = from; s < end; ++s) FillProfileStage(stages[s], list[s - from]);
  return Status::Ok();
}

}  // namespace

kj::Promise<void> AnswerProfile(Shell& shell, ProfileContext context) {
  const auto params = context.getParams();
  const std::string name(params.getName().cStr());
  const uint32_t index = params.getIndex(), from = params.getFromStage();
  const auto store = shell.options().profiles;
  if (store == nullptr) {
    rpc::ToOutcome(NotFound("this master keeps no profiles: it is one of a local run"),
                   context.getResults().initOutcome());
    return kj::READY_NOW;
  }
  using All = Result<std::vector<StoredProfile>>;
  auto answer = rpc::MakeAnswer<std::shared_ptr<All>>(shell.kj());
  shell.pool().Post(
      [store, name, fulfill = std::move(answer.fulfill)] { fulfill(std::make_shared<All>(store->FindAll(name))); });
  return answer.promise.then([context, name, index, from](const std::shared_ptr<All>& all) mutable {
    auto results = context.getResults();
    rpc::ToOutcome(FillProfile(name, *all, index, from, results), results.initOutcome());
  });
}

void ToWire(const Explained& e, const JobSpec& spec, rpc::ExplainedPlan::Builder out) {
  const auto us = [](double seconds) {
    return std::isfinite(seconds) && seconds > 0 ? static_cast<uint64_t>(seconds * 1e6) : uint64_t{0};
  };
  auto stages = out.initStages(static_cast<unsigned>(e.plan.stages.size()));
  for (unsigned s = 0; s < stages.size(); ++s) {
    const StagePlan& stage = e.plan.stages[s];
    stages[s].setName(spec.stages[s].name.c_str());
    stages[s].setReduces(!spec.stages[s].is_map());
    stages[s].setTasks(stage.tasks);
    stages[s].setInputBytes(stage.input_bytes);
    stages[s].setSplits(static_cast<uint32_t>(stage.splits.size()));
    stages[s].setWithReplica(e.locality[s].with_replica);
    stages[s].setWorkers(e.locality[s].workers);
  }
  auto refusals = out.initRefusals(static_cast<unsigned>(e.refusals.size()));
  for (unsigned i = 0; i < refusals.size(); ++i) rpc::ToOutcome(e.refusals[i], refusals[i]);
  out.setSlots(e.slots);
  out.setSteered(e.steered);
  out.setBasis(e.forecast ? e.forecast->basis.c_str() : e.no_forecast.c_str());
  if (!e.forecast) return;
  const sched::Prediction& p = e.forecast->prediction;
  out.setRuns(p.runs);
  out.setScale(p.scale);
  auto times = out.initPredictions(static_cast<unsigned>(p.slots.size()));
  for (unsigned i = 0; i < times.size(); ++i) {
    const std::vector<double> left = p.At(i, 0);
    times[i].setSlots(p.slots[i]);
    times[i].setMedianUs(us(left[left.size() / 2]));
    times[i].setMostUs(us(left.back()));
    times[i].setInTime(spec.deadline.ns > 0 && sched::EarliestWith(p, p.slots[i]) <= spec.deadline.seconds());
  }
  if (!e.admission) return;
  out.setHasAdmission(true);
  out.setAdmitted(e.admission->answer == sched::Admission::Answer::kAdmitted);
  out.setNeedsSlots(e.admission->slots);
  out.setAvailableSlots(e.admission->available);
  out.setCriticalPathUs(us(e.admission->critical_path));
  out.setEarliestUs(us(Earliest(*e.admission).seconds()));
  out.setAccount(AccountText(*e.admission).c_str());
}

}  // namespace mr::master
