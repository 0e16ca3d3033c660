#include "master/host/job_ends.h"

#include <glog/logging.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "master/host/publisher.h"

namespace mr::master {
namespace {

// A publication that fails is retried: there may be room on the disk again, or the network share may return.
constexpr int kPublishAttempts = 5;
constexpr Duration kPublishRetry = Seconds(1);
// How long to wait for workers that end with the same lifeline (guess): what their attempts have started is gone within
// 2 s, and mrctl kills whoever takes 5 s.
constexpr Duration kWorkersEnd = Seconds(3);

// Removes what the job keeps beside a file:// output. Blocks.
void ClearStaging(const std::string& output_uri, const std::string& job, uint64_t cluster_id) {
  if (!output_uri.starts_with("file://")) return;
  if (Status status = RemoveStaging(output_uri, job, cluster_id); !status.ok()) {
    LOG(WARNING) << job << ": what it keeps beside its output stays: " << status.ToString();
  }
}

// Waits until the processes of all workers have ended, at most for kWorkersEnd.
void AwaitEnds(const WorkerTable& workers) {
  const Instant limit = Now() + kWorkersEnd;
  for (const auto& [id, worker] : workers.all()) {
    if (!worker.alive || worker.pid == 0) continue;
    const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(worker.pid), 0)));
    pollfd ended{process.get(), POLLIN, 0};
    // A negative time would be no limit.
    const auto left = [limit] { return static_cast<int>(std::max<int64_t>((limit - Now()).millis(), 0)); };
    while (process.valid() && poll(&ended, 1, left()) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace

JobEnds::JobEnds(const HostOptions& options, Driver& driver, HostClock& clock, Loop& loop, Outlets& outlets,
                 Watchers& watchers, Dispatcher& dispatcher, BlockStore& block_store, InputPins& pins)
    : options_(options),
      driver_(driver),
      core_(driver.core()),
      clock_(clock),
      loop_(loop),
      outlets_(outlets),
      watchers_(watchers),
      dispatcher_(dispatcher),
      block_store_(block_store),
      pins_(pins) {}

void JobEnds::Publish(JobId id, int attempt) {
  watchers_.MarkChanged(id);
  const JobView* job = core_.jobs().Find(id);
  auto request = std::make_shared<PublishRequest>();
  *request = {Name(id),           job->spec.output_uri, job->spec.overwrite,
              job->Outputs(),     options_.cluster_id,  HeaderOf(job->spec),
              options_.file_roots};
  outlets_.InPool([this, id, attempt, request] {
    auto status = std::make_shared<Status>(PublishFiles(*request));
    // A failure to clear the staging is logged and does not change the job's end.
    if (status->ok()) ClearStaging(request->output_uri, request->job, request->cluster_id);
    loop_.Post([this, id, attempt, status] { Published(id, attempt, *status); });
  });
}

void JobEnds::Published(JobId id, int attempt, const Status& status) {
  // Final faults, which a retry does not mend: another job's files are there, parts are missing, rights are missing.
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

void JobEnds::JobEnded(JobId id) {
  const JobView& job = *core_.jobs().Find(id);
  pins_.Release(job.plan.pin);
  Learn(job);
  LOG(INFO) << Name(id) << " " << Word(job.state) << (job.error.empty() ? "" : ": ") << job.error;
  watchers_.MarkChanged(id);
  dispatcher_.EndJob(id);
  CleanUp(id);
}

void JobEnds::CleanUp(JobId id) {
  const JobView* job = core_.jobs().Find(id);
  if (!core_.open().uncleaned.contains(id) || core_.attempts().Live(id) > 0) return;
  core_.Cleaned(id);
  if (job == nullptr) return;
  if (job->in_dfs()) {
    // It is no error where there is nothing.
    block_store_.FsMutate([path = "/.staging/" + Name(id)](const dfs::Namespace& ns,
                                                           const dfs::Stamp&) { return ns.PrepareRemove(path, true); },
                          nullptr, [](const Status&) {});
    return;
  }
  outlets_.InPool([uri = job->spec.output_uri, name = Name(id), cluster = options_.cluster_id] {
    ClearStaging(uri, name, cluster);
  });
}

void JobEnds::ClearForGood() const {
  std::vector<JobId> unclear;
  for (const auto& [id, job] : core_.jobs().jobs()) {
    const bool published = job.told && job.state == JobState::kSucceeded;
    if (job.spec.output_uri.starts_with("file://") && !published) unclear.push_back(id);
  }
  if (unclear.empty()) return;
  AwaitEnds(core_.workers());
  for (const JobId id : unclear) {
    ClearStaging(core_.jobs().Find(id)->spec.output_uri, Name(id), options_.cluster_id);
  }
}

}  // namespace mr::master
