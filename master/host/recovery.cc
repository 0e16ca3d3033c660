// Start and restart: the journal is replayed into a fresh scheduler and fresh tables, the new epoch
// is made durable, and what was under way is taken up again.
#include <glog/logging.h>

#include <algorithm>

#include "common/io/clock.h"
#include "master/host/brain.h"
#include "master/sched/state/state.h"

namespace mr::master {
Status Brain::Recover() {
  MR_RETURN_IF_ERROR(driver_.Open());
  BeginEpoch();
  driver_.BeginSnapshots();
  return Status::Ok();
}

void Brain::BeginEpoch() {
  // Left by the master before this one. Jobs that this start adds are carried out with its other effects.
  const std::set<JobId> unpublished = core_.open().unpublished, uncleaned = core_.open().uncleaned;
  const Duration promised = std::max(core_.promised_wait(), core_.scheduler().state().config().lost_wait);
  driver_.BeginEpoch();
  safe_mode_.SettleAcceptedLoss();
  // All state stands before the first event is fed: what a decision asks for reads tables as well as the scheduler.
  driver_.Feed(sched::ConfigChanged{options_.policies, options_.seed, options_.scheduler_version, Millis(100)});
  SetEffectsWait(driver_.journal().last_epoch() == 0 ? Duration{} : promised);
  TakeOver();
  driver_.FollowUpOn(core_.Unanswered());
  const Instant now = clock_.Lived();
  std::vector<WorkerId> known, awaited;
  for (auto& [id, worker] : core_.workers().all()) {
    if (worker.alive) known.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  driver_.Feed(Record(dfs::MasterStarted{clock_.Stamp(), known, awaited}));
  safe_mode_.GoOn();
  for (auto& [id, worker] : core_.workers().all()) {
    if (!worker.alive) continue;
    worker.away = true;
    driver_.Feed(sched::WorkerAway{id, worker.info.incarnation});
  }
  clock_.AtLived(now + kRestartGrace, [this] {
    for (auto& [id, worker] : core_.workers().all()) {
      if (worker.away) Lose(id, "it did not come back after the master's restart");
    }
  });
  for (const JobId job : unpublished) Publish(job, 1);
  for (const JobId job : uncleaned) CleanUp(job);
  ReleaseStrayPins();
  Tick();
  TickDfs();
  KeepHouse();
  driver_.EndStart();
}

// Attempts that the master before this one launched may live for as long as that one promised them.
void Brain::SetEffectsWait(Duration promised) {
  const Duration wait = options_.effects_lease + kLeaseMargin;
  const Duration now = std::max(wait, promised);
  if (core_.scheduler().state().config().lost_wait != now) driver_.Feed(sched::LeaseSet{now});
  if (wait < now) shorter_wait_ = {clock_.Lived() + now, wait};
}

// Jobs that ran under another build go on from the outputs that they have committed. Looks at what the
// scheduler lacks, so that a crash in the midst of this is made up for by the next start.
void Brain::TakeOver() {
  std::vector<std::string> notes;
  for (sched::Event& event : core_.PrepareTakeOver(clock_.Stamp(), &notes)) driver_.Feed(std::move(event));
  for (const std::string& note : notes) LOG(WARNING) << note;
  // For these jobs, and for one whose submission is the last record before a crash.
  std::vector<JobId> running;
  for (const auto& [id, job] : core_.scheduler().state().jobs()) {
    if (job.running()) running.push_back(id);
  }
  for (const JobId id : running) driver_.FollowUpOn({{FollowUp::Kind::kOperators, {id, 0}}});
  // A job that was submitted just before a crash, or under another release, has no prediction yet.
  for (const JobId id : running) ForetellRunning(id);
}

}  // namespace mr::master
