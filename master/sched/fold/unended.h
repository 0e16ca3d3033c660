// Attempts with side effects whose end is not known: those of a lost worker, which may run on while the network is cut,
// and those of an earlier release of the master. No other attempt of their task is launched before each has ended. Its
// worker's report shows that, or its worker's next registration, or its lease, which the worker's helper enforces
// (worker/adr/0003). They hold no slot.
#pragma once

#include <functional>

#include "master/sched/event.h"
#include "master/sched/state/state.h"

namespace mr::sched {

class UnendedAttempts {
 public:
  // wake: called with an instant at which Release is to be called.
  UnendedAttempts(State* state, std::function<void(Instant)> wake) : state_(*state), wake_(std::move(wake)) {}

  // Records that this attempt may run until `until`, or (0) until its worker reports its end. No-op if its task needs
  // no other attempt.
  void Add(const AttemptId& id, WorkerId worker, Incarnation incarnation, Instant until);
  // Records that this attempt has ended, as its worker reported.
  void Remove(const AttemptId& id, WorkerId worker, Incarnation incarnation);
  // Bounds the wait for this incarnation's attempts by `until`, since it does not report any more.
  void LeasesRunOut(WorkerId worker, Incarnation incarnation, Instant until);
  // After a restart: waits that a lease bounds last until `until` at least.
  void Prolong(Instant until);
  // Updates the record from a registration, which lists the attempts that the worker runs.
  void Settle(const WorkerRegistered& e);
  // Releases the attempts whose time has come, and asks to be called for the next one.
  void Release(Instant now);
  void Forget(JobId id);

 private:
  State& state_;
  const std::function<void(Instant)> wake_;
};

}  // namespace mr::sched
