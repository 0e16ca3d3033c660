#include "master/host/host.h"

#include <glog/logging.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "master/sched/state/state.h"

namespace mr::master {

Host::Host(HostOptions options, Loop& loop, Outlets& outlets)
    : options_(std::move(options)),
      loop_(loop),
      clock_(options_.clock, loop),
      effects_(driver_, inputs_, dispatcher_, watchers_, job_ends_, block_store_),
      driver_(options_, clock_, loop, outlets, effects_),
      inputs_(options_, driver_, clock_),
      reader_(driver_.core(), clock_, inputs_, options_.policies),
      watchers_(driver_.core(), clock_, loop, outlets, reader_),
      safe_mode_(driver_, clock_, options_.directory),
      dispatcher_(driver_, loop, outlets, options_.cluster_id, options_.granter),
      block_store_(driver_, clock_, loop, dispatcher_, safe_mode_),
      pins_(driver_, clock_),
      drains_(driver_.core()),
      rows_(driver_.core(), drains_),
      lists_(driver_.core(), clock_, reader_, rows_, options_.cluster_id),
      why_(driver_.core(), clock_, drains_, inputs_),
      job_ends_(options_, driver_, clock_, loop, outlets, watchers_, dispatcher_, block_store_, pins_),
      forecasts_(options_, driver_, loop, outlets, watchers_),
      checks_(options_, driver_, clock_, safe_mode_),
      submissions_(options_, driver_, clock_, loop, outlets, watchers_, checks_, pins_, forecasts_, libraries_),
      explainer_(driver_, clock_, loop, outlets, checks_, forecasts_),
      requests_(driver_, clock_, watchers_, forecasts_),
      logs_(options_.directory, options_.logs, driver_.core(), outlets),
      housekeeping_(options_, driver_.core(), clock_, loop, outlets, block_store_, submissions_, libraries_, logs_),
      leases_(driver_, clock_, outlets, dispatcher_, watchers_, job_ends_, forecasts_),
      room_(driver_, clock_, forecasts_),
      sessions_(driver_, clock_, outlets, dispatcher_, safe_mode_, leases_, room_, forecasts_, inputs_),
      probes_(driver_, clock_, outlets),
      reports_(driver_, clock_, dispatcher_, watchers_, job_ends_, probes_, logs_),
      metrics_(driver_, clock_, block_store_, reports_),
      usage_(driver_.core(), loop_),
      views_(loop_,
             {options_, driver_, clock_, reader_, drains_, rows_, why_, block_store_, safe_mode_, usage_, logs_}) {
  libraries_.SetInUse([this] { return housekeeping_.FilesInUse(); });
  libraries_.SetRemovePart([this](const std::string& part) { housekeeping_.RemovePart(part); });
}

Status Host::Recover() {
  MR_RETURN_IF_ERROR(driver_.Open());
  MasterCore& core = driver_.core();
  // Ends that the master before this one left open. Those that this start adds are among its own effects.
  const std::set<JobId> unpublished = core.open().unpublished, uncleaned = core.open().uncleaned;
  const Duration promised = std::max(core.promised_wait(), core.scheduler().state().config().lost_wait);
  driver_.BeginEpoch();
  safe_mode_.SettleAcceptedLoss();
  // No worker is here yet: the first offers must not go to any.
  if (core.scheduler().state().config().known) MarkAway();
  // All state is restored before the first event is fed: effects of decisions read the whole core.
  driver_.Feed(sched::ConfigChanged{options_.policies, options_.seed, options_.scheduler_version, Millis(100)});
  leases_.SetEffectsWait(options_.effects_lease + kLeaseMargin,
                         driver_.journal().last_epoch() == 0 ? Duration{} : promised);
  TakeOver();
  driver_.FollowUpOn(core.Unanswered());
  const Instant now = clock_.Lived();
  std::vector<WorkerId> known, awaited;
  for (auto& [id, worker] : core.workers().all()) {
    if (worker.alive) known.push_back(id);
    if (worker.awaited) awaited.push_back(id);
  }
  driver_.Feed(Record(dfs::MasterStarted{clock_.Stamp(), known, awaited}));
  safe_mode_.GoOn();
  MarkAway();  // workers of another build became known in the takeover
  inputs_.HoldAll();
  leases_.AwaitReturns(now);
  for (const JobId job : unpublished) job_ends_.Publish(job, 1);
  for (const JobId job : uncleaned) job_ends_.CleanUp(job);
  pins_.ReleaseStray();
  Tick();
  block_store_.Tick();
  housekeeping_.Tick();
  usage_.Tick();
  driver_.EndStart();
  driver_.BeginSnapshots();
  return Status::Ok();
}

void Host::MarkAway() {
  for (auto& [id, worker] : driver_.core().workers().all()) {
    if (!worker.alive || worker.away) continue;
    worker.away = true;
    driver_.Feed(sched::WorkerAway{id, worker.info.incarnation});
  }
}

// Jobs that ran under another build go on from their committed outputs. Each start takes over what the scheduler lacks,
// so that the next start completes a takeover that a crash interrupted.
void Host::TakeOver() {
  std::vector<std::string> notes;
  for (sched::Event& event : driver_.core().PrepareTakeOver(clock_.Stamp(), &notes)) driver_.Feed(std::move(event));
  for (const std::string& note : notes) LOG(WARNING) << note;
  // For these jobs, and for a job whose submission is the last record before a crash.
  std::vector<JobId> running;
  for (const auto& [id, job] : driver_.core().scheduler().state().jobs()) {
    if (job.running()) running.push_back(id);
  }
  for (const JobId id : running) driver_.FollowUpOn({{FollowUp::Kind::kOperators, {id, 0}}});
  // A job that was submitted just before a crash, or under another release, has no prediction yet.
  for (const JobId id : running) forecasts_.PredictRunning(id);
}

void Host::Tick() {
  leases_.Check();
  room_.FailWithoutRoom();
  inputs_.Look();
  reports_.FeedHeld();
  driver_.FollowUpOn(driver_.core().Unanswered());
  loop_.At(Now() + kTick, [this] { Tick(); });
}

void Host::Flush() {
  inputs_.Settle([this](const sched::Launch& launch) { dispatcher_.SendLaunch(launch); });
  dispatcher_.Flush();
  watchers_.PushDue();
  driver_.core().Shrink();
}

}  // namespace mr::master
