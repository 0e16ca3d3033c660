// The answer to MasterForClient.reach: a worker connects to other daemons at their advertised addresses. The master
// chooses the addresses, so that no caller can use a worker to look for open ports.
#include <algorithm>
#include <vector>

#include "common/rpc/kj_status.h"
#include "common/rpc/wire.h"
#include "master/host/shell.h"

namespace mr::master {
namespace {

constexpr auto kReachAnswer = 8 * kj::SECONDS;  // the worker's own limit is 3 s
// Other workers that one worker connects to (a guess: in a larger cluster a sample shows what is closed).
constexpr size_t kReachedWorkers = 16;

struct ReachPlan {
  Status status;
  uint64_t session = 0;
  std::vector<std::pair<WorkerId, std::string>> targets;  // not valid: the master
};

// Returns the workers after this one in a ring, evenly over all of them.
ReachPlan PlanReach(MasterCore& core, WorkerId id, const std::string& master) {
  ReachPlan plan;
  const WorkerView* worker = core.workers().Find(id);
  if (worker == nullptr) return {NotFound("there is no worker " + Name(id)), 0, {}};
  if (!worker->alive || worker->session == 0) {
    return {Unavailable(Name(id) + " is " + worker->Word() + ", without a connection"), 0, {}};
  }
  plan.session = worker->session;
  plan.targets.emplace_back(WorkerId{}, master);
  std::vector<const WorkerView*> others;
  const auto& all = core.workers().all();
  const auto add = [&](auto from, auto to) {
    for (; from != to; ++from) {
      if (from->first != id && from->second.alive && !from->second.away) others.push_back(&from->second);
    }
  };
  add(all.upper_bound(id), all.end());
  add(all.begin(), all.lower_bound(id));
  const size_t count = std::min(others.size(), kReachedWorkers);
  for (size_t i = 0; i < count; ++i) {
    const WorkerView& other = *others[i * others.size() / count];
    plan.targets.emplace_back(other.id, other.info.address);
  }
  return plan;
}

}  // namespace

kj::Promise<void> AnswerReach(Shell& shell, ReachContext context) {
  context.allowCancellation();
  return shell
      .Ask([&master = shell.client_parts(), id = WorkerId{context.getParams().getWorker()}, address = shell.address()] {
        return PlanReach(master.driver.core(), id, address);
      })
      .then([&shell, context](const ReachPlan& plan) mutable -> kj::Promise<void> {
        auto fail = [context](const Status& why) mutable { rpc::ToOutcome(why, context.getResults().initOutcome()); };
        if (!plan.status.ok()) {
          fail(plan.status);
          return kj::READY_NOW;
        }
        const auto session = shell.sessions().find(plan.session);
        if (session == shell.sessions().end()) {
          fail(Unavailable("its connection has ended"));
          return kj::READY_NOW;
        }
        auto request = session->second.reachRequest();
        auto addresses = request.initAddresses(static_cast<unsigned>(plan.targets.size()));
        for (unsigned i = 0; i < addresses.size(); ++i) addresses.set(i, plan.targets[i].second.c_str());
        return shell.kj()
            .timer()
            .timeoutAfter(kReachAnswer, request.send())
            .then(
                [context, targets = plan.targets](auto response) mutable {
                  auto results = context.getResults();
                  rpc::ToOutcome(Status::Ok(), results.initOutcome());
                  const auto outcomes = response.getOutcomes();
                  const auto count = std::min<size_t>(outcomes.size(), targets.size());
                  auto pairs = results.initPairs(static_cast<unsigned>(count));
                  for (unsigned i = 0; i < count; ++i) {
                    pairs[i].setWorker(targets[i].first.value);
                    pairs[i].setAddress(targets[i].second.c_str());
                    rpc::ToOutcome(rpc::FromOutcome(outcomes[i]), pairs[i].initOutcome());
                  }
                },
                [fail](kj::Exception&& e) mutable {
                  fail(e.getType() == kj::Exception::Type::UNIMPLEMENTED
                           ? Unavailable("it runs an older release, which cannot check this")
                           : rpc::FromException(e));
                });
      });
}

}  // namespace mr::master
