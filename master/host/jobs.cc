// Jobs from submission to publication.
#include <glog/logging.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "master/host/brain.h"
#include "master/host/planner.h"
#include "master/host/predictor.h"

namespace mr::master {
namespace {

// Publication that fails is tried again: a full disk may be emptied, a share may come back.
constexpr int kPublishAttempts = 5;
constexpr Duration kPublishRetry = Seconds(1);

// Blocks.
void ClearStaging(const std::string& output_uri, const std::string& job, uint64_t cluster_id) {
  if (!output_uri.starts_with("file://")) return;
  if (Status status = RemoveStaging(output_uri, job, cluster_id); !status.ok()) {
    LOG(WARNING) << job << ": what it keeps beside its output stays: " << status.ToString();
  }
}

}  // namespace

void Brain::Submit(std::string spec_bytes, JobSpec spec, const std::string& submission_id, SubmitReply reply) {
  const auto reused = [&] {
    return Rejected("submission id '" + submission_id + "' was used for another job; take a new one");
  };
  if (!submission_id.empty()) {
    if (JobView* known = core_.jobs().FindSubmission(submission_id)) {
      if (known->spec_bytes != spec_bytes) return reply(reused(), {});
      return driver_.Hold(known->submit_sequence, [reply, id = known->id] { reply(Status::Ok(), id); });
    }
    if (const auto it = planning_.find("id:" + submission_id); it != planning_.end()) {
      if (it->second.spec_bytes != spec_bytes) return reply(reused(), {});
      it->second.replies.push_back(std::move(reply));
      return;
    }
  }
  if (core_.jobs().open() + planning_.size() >= options_.open_jobs) {
    return reply(Rejected(std::to_string(options_.open_jobs) +
                          " jobs are planned or unfinished, the most that this master takes at once (mrmaster "
                          "--open_jobs); nothing was submitted: submit again when some have ended (mrctl jobs)"),
                 {});
  }
  if (const auto refusals = Refusals(spec); !refusals.empty()) return reply(refusals.front(), {});
  if (!spec.library.empty() && !LibraryKnown(spec.library)) {
    return reply(NotFound("operator library " + spec.library + " has not been uploaded"), {});
  }
  for (const SideFile& file : spec.files) {
    if (LibraryKnown(file.sha256)) continue;
    return reply(NotFound("side file " + file.name + " (SHA-256 " + file.sha256 + ") has not been uploaded"), {});
  }
  const PlanContext context = ContextOf(spec);
  const uint64_t pin = PinInputs(context);
  const std::string key = submission_id.empty() ? "no:" + std::to_string(next_planning_++) : "id:" + submission_id;
  auto shared = std::make_shared<JobSpec>(spec);
  planning_[key] = {std::move(spec_bytes), submission_id, std::move(spec), {std::move(reply)}, {}, nullptr, pin};
  outlets_.InPool([this, key, shared, context] {
    auto plan = std::make_shared<Result<JobPlan>>(PlanJob(*shared, context));
    loop_.Post([this, key, plan] { Planned(key, std::move(*plan)); });
  });
}

std::vector<Status> Brain::Refusals(const JobSpec& spec) {
  std::vector<Status> refusals;
  const auto add = [&refusals](const Status& status) {
    if (!status.ok()) refusals.push_back(status);
  };
  add(safe_mode_.Check());
  add(driver_.CheckRoom());
  // Here and not where a spec is read: the journal may hold jobs of releases that took any name.
  add(CheckQueueName(spec.queue));
  add(PoliciesOf(spec).status());
  add(CheckMemory(spec));
  if (spec.output_uri.starts_with("dfs://")) add(CheckDfsOutput(spec));
  if (const JobView* job = core_.jobs().OpenWithOutput(spec.output_uri)) {
    add(Rejected(Name(job->id) + " is running and writes to the same output " + spec.output_uri +
                 "; wait for it (mrctl wait), end it (mrctl kill) or name another output"));
  }
  return refusals;
}

Status Brain::CheckMemory(const JobSpec& spec) {
  uint64_t wanted = 0;
  for (const auto& stage : spec.stages) wanted = std::max(wanted, spec.MemoryOf(stage));
  const WorkerView* largest = nullptr;
  const Instant now = clock_.Lived();
  for (const auto& [id, worker] : core_.workers().all()) {
    if (worker.excluded || !(worker.alive || worker.MayReturn(now))) continue;
    if (worker.info.memory_bytes == 0) return Status::Ok();  // it has no limit
    if (largest == nullptr || worker.info.memory_bytes > largest->info.memory_bytes) largest = &worker;
  }
  // Without any worker nothing is known; the job waits for one, and `why` says so.
  if (largest == nullptr || wanted <= largest->info.memory_bytes) return Status::Ok();
  return Rejected("each attempt asks for " + HumanBytes(wanted) +
                  " of memory, and no worker has as much: the largest, " + Name(largest->id) + ", has " +
                  HumanBytes(largest->info.memory_bytes) + "; ask for less (--memory), or start a worker with more");
}

PlanContext Brain::ContextOf(const JobSpec& spec) const {
  PlanContext context;
  context.total_slots = core_.workers().TotalSlots();
  context.block_bytes = options_.block_bytes;
  for (const auto& stage : spec.stages) {
    for (const auto& input : stage.inputs) {
      for (const auto& uri : input.files.uris) {
        if (uri.starts_with("dfs://")) context.dfs_files.emplace_back(uri, DfsFiles(uri));
      }
    }
  }
  return context;
}

void Brain::Planned(const std::string& key, Result<JobPlan> plan) {
  const auto it = planning_.find(key);
  if (it == planning_.end()) return;
  Planning& planning = it->second;
  if (!plan.ok()) {
    const auto replies = std::move(planning.replies);
    ReleasePin(planning.pin);
    planning_.erase(it);
    for (const auto& reply : replies) reply(plan.status(), {});
    return;
  }
  planning.plan = *std::move(plan);
  planning.plan.pin = planning.pin;
  if (!WantsForecast(planning.spec)) return Accept(key, {});
  ForetellOf(planning.spec, planning.plan,
             [this, key](Result<Forecast> forecast) { Foretold(key, std::move(forecast)); });
}

void Brain::Accept(const std::string& key, std::optional<sched::Prediction> prediction) {
  auto node = planning_.extract(key);
  Planning& planning = node.mapped();
  const JobSpec& spec = planning.spec;
  // Again: while this one was planned and predicted another may have been accepted that writes to the same output.
  if (const auto refusals = Refusals(spec); !refusals.empty()) {
    ReleasePin(planning.pin);
    for (const auto& reply : planning.replies) reply(refusals.front(), {});
    return;
  }
  auto record =
      core_.PrepareSubmit({std::make_shared<const JobSpec>(spec),
                           {planning.spec_bytes, planning.submission_id, WallClockMs(), std::move(planning.plan)}},
                          clock_.Stamp());
  if (!record.ok()) {
    ReleasePin(planning.pin);
    for (const auto& reply : planning.replies) reply(record.status(), {});
    return;
  }
  const JobId id = std::get<sched::JobSubmitted>(record->stamped.event).job;
  // The answer waits for the job's record only: a lost prediction would be made again.
  const Driver::Fed fed = driver_.Feed(*std::move(record));
  if (prediction) driver_.Feed(sched::ProfileLoaded{id, *std::move(prediction), spec.utility});
  LOG(INFO) << Name(id) << " '" << spec.name << "' accepted";
  watchers_.MarkChanged(id);
  driver_.Hold(fed.sequence, [replies = std::move(planning.replies), id] {
    for (const auto& reply : replies) reply(Status::Ok(), id);
  });
}

Result<std::vector<std::string>> Brain::PoliciesOf(const JobSpec& spec) const {
  return sched::Scheduler::PoliciesOfJob(options_.policies, spec.policies, spec.speculation, spec.clones);
}

void Brain::KillJob(JobId id, const std::string& why, std::function<void(Status)> reply) {
  auto event = core_.PrepareKill(id, why);
  if (!event.ok()) return reply(event.status());
  const Driver::Fed fed = driver_.Feed(*std::move(event));
  LOG(INFO) << Name(id) << " is to be killed: " << why;
  watchers_.MarkChanged(id);
  driver_.Hold(fed.sequence, [reply = std::move(reply)] { reply(Status::Ok()); });
}

void Brain::Publish(JobId id, int attempt) {
  watchers_.MarkChanged(id);
  const JobView* job = core_.jobs().Find(id);
  auto request = std::make_shared<PublishRequest>();
  *request = {Name(id), job->spec.output_uri, job->spec.overwrite, job->Outputs(), options_.cluster_id};
  outlets_.InPool([this, id, attempt, request] {
    auto status = std::make_shared<Status>(PublishFiles(*request));
    // The answer does not depend on it.
    if (status->ok()) ClearStaging(request->output_uri, request->job, request->cluster_id);
    loop_.Post([this, id, attempt, status] { Published(id, attempt, *status); });
  });
}

void Brain::Published(JobId id, int attempt, const Status& status) {
  // Final: faults that a retry does not mend, such as another job's files there, missing parts or missing rights.
  const Code code = status.code();
  const bool final = code == Code::kRejected || code == Code::kNotFound || code == Code::kNotAllowed;
  if (!status.ok() && !final && attempt < kPublishAttempts) {
    LOG(WARNING) << Name(id) << ": publishing its output failed, will be tried again: " << status.ToString();
    loop_.At(Now() + kPublishRetry, [this, id, attempt] { Publish(id, attempt + 1); });
    return;
  }
  std::string error;
  if (!status.ok()) error = "its output was computed but could not be published: " + status.message();
  driver_.Feed(Record(JobPublished{id, error, clock_.Stamp()}));
}

// The job's end may be reported from here on, and workers may forget the job.
void Brain::JobEnded(JobId id) {
  const JobView& job = *core_.jobs().Find(id);
  ReleasePin(job.plan.pin);
  Learn(job);
  LOG(INFO) << Name(id) << " " << Word(job.state) << (job.error.empty() ? "" : ": ") << job.error;
  watchers_.MarkChanged(id);
  for (auto& [worker_id, worker] : core_.workers().all()) dispatcher_.EndJobAt(&worker, id);
  CleanUp(id);
}

// Staging of a job that failed goes when nobody writes there any more.
void Brain::CleanUp(JobId id) {
  const JobView* job = core_.jobs().Find(id);
  if (!core_.open().uncleaned.contains(id) || (job != nullptr && job->live_attempts > 0)) return;
  core_.Cleaned(id);
  if (job == nullptr) return;
  if (job->in_dfs()) {
    // Nothing there is fine.
    FsMutate([path = "/.staging/" + Name(id)](const dfs::Namespace& ns,
                                              const dfs::Stamp&) { return ns.PrepareRemove(path, true); },
             nullptr, [](const Status&) {});
    return;
  }
  outlets_.InPool([uri = job->spec.output_uri, name = Name(id), cluster = options_.cluster_id] {
    ClearStaging(uri, name, cluster);
  });
}

void Brain::ClearAllStaging() const {
  for (const auto& [id, job] : core_.jobs().jobs()) {
    if (!job.told || core_.open().uncleaned.contains(id))
      ClearStaging(job.spec.output_uri, Name(id), options_.cluster_id);
  }
}

}  // namespace mr::master
