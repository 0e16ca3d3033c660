#include "master/host/submit_checks.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "master/core/input_places.h"
#include "master/host/input_pins.h"

namespace mr::master {

SubmitChecks::SubmitChecks(const HostOptions& options, Driver& driver, HostClock& clock, const SafeMode& safe_mode)
    : options_(options), driver_(driver), core_(driver.core()), clock_(clock), safe_mode_(safe_mode) {}

std::vector<Status> SubmitChecks::Refusals(const Caller& caller, const JobSpec& spec) {
  std::vector<Status> refusals;
  const auto add = [&refusals](const Status& status) {
    if (!status.ok()) refusals.push_back(status);
  };
  add(safe_mode_.Check());
  add(driver_.CheckRoom());
  // Not checked where a spec is read: the journal may hold jobs of releases that accepted any name.
  add(CheckQueueName(spec.queue));
  add(sched::Scheduler::PoliciesOfJob(options_.policies, spec.policies, spec.speculation, spec.clones).status());
  add(core_.CheckNetwork(caller, spec));
  add(CheckMemory(spec));
  add(CheckTier(spec));
  if (spec.output_uri.starts_with("dfs://")) {
    // The next refusal would name a job that writes there.
    if (Status output = CheckDfsOutput(caller, spec); !output.ok()) {
      add(output);
      return refusals;
    }
  }
  if (const JobView* job = core_.jobs().OpenWithOutput(spec.output_uri)) {
    add(Rejected(Name(job->id) + " is running and writes to the same output " + spec.output_uri +
                 "; wait for it (mrctl wait), end it (mrctl kill) or name another output"));
  }
  return refusals;
}

Status SubmitChecks::CheckMemory(const JobSpec& spec) {
  uint64_t wanted = 0;
  for (const auto& stage : spec.stages) wanted = std::max(wanted, spec.MemoryOf(stage));
  const WorkerView* largest = nullptr;
  const Instant now = clock_.Lived();
  for (const auto& [id, worker] : core_.workers().all()) {
    if (worker.excluded || !(worker.alive || worker.MayReturn(now))) continue;
    if (worker.info.memory_bytes == 0) return Status::Ok();  // it has no limit
    if (largest == nullptr || worker.info.memory_bytes > largest->info.memory_bytes) largest = &worker;
  }
  // Without a worker nothing is known: the job waits for one, which `mrctl why` reports.
  if (largest == nullptr || wanted <= largest->info.memory_bytes) return Status::Ok();
  return Rejected("each attempt asks for " + HumanBytes(wanted) +
                  " of memory, and no worker has as much: the largest, " + Name(largest->id) + ", has " +
                  HumanBytes(largest->info.memory_bytes) + "; ask for less (--memory), or start a worker with more");
}

Status SubmitChecks::CheckTier(const JobSpec& spec) {
  if (spec.min_tier == 0) return Status::Ok();
  const WorkerView* best = nullptr;
  const Instant now = clock_.Lived();
  for (const auto& [id, worker] : core_.workers().all()) {
    if (worker.excluded || !(worker.alive || worker.MayReturn(now))) continue;
    if (best == nullptr || worker.tier > best->tier) best = &worker;
  }
  if (best == nullptr || best->tier >= spec.min_tier) return Status::Ok();
  return Rejected("the job wants rooms of tier " + std::to_string(spec.min_tier) +
                  " (--conf min_tier), and no worker has them: the best, " + Name(best->id) + ", has " +
                  (best->tier < 0 ? "none" : "tier " + std::to_string(best->tier)) +
                  "; ask for less, or add a worker with a newer kernel (docs/security.md has the tiers)");
}

PlanContext SubmitChecks::OutsideContext() const {
  PlanContext context;
  context.roots = options_.file_roots;
  context.urls = options_.urls;
  return context;
}

PlanContext SubmitChecks::ContextOf(const Caller& caller, const JobSpec& spec) const {
  const dfs::CallerFiles files(core_.files(), caller);
  PlanContext context = OutsideContext();
  context.total_slots = core_.workers().TotalSlots();
  context.block_bytes = options_.block_bytes;
  for (const auto& stage : spec.stages) {
    for (const auto& input : stage.inputs) {
      for (const auto& uri : input.files.uris) {
        if (uri.starts_with("dfs://")) context.dfs_files.emplace_back(uri, DfsFiles(files, uri));
      }
    }
  }
  return context;
}

Status SubmitChecks::CheckDfsOutput(const Caller& caller, const JobSpec& spec) {
  return dfs::CallerFiles(core_.files(), caller)
      .CheckOutput({{clock_.Stamp(), WallClockMs()}, DfsPath(spec.output_uri), spec.overwrite, "", 0, {}});
}

}  // namespace mr::master
