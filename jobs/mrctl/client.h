// A connection to a master, with blocking calls that an interrupt or --timeout ends (wait.h).
//
// Owns a KJ thread; Cap'n Proto is used only in client.cc. Thread: for one thread. Errors: kUnavailable after the
// connection broke; Reconnect() makes a new one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/input_files.h"
#include "common/model/job_spec.h"
#include "jobs/mrctl/model.h"

namespace mr::rpc {
class KjThread;
}
namespace mr::dfs {
class BlockingDfs;
}

namespace mr::ctl {

// From now on, connections of this process print no warning about masters with --insecure (-q).
void KeepQuietAboutInsecure();

class Client {
 public:
  // Starts to connect and returns at once. The first call waits for the connection.
  explicit Client(std::string address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Errors: kUnavailable with a hint, if nothing listens there, or another program or version.
  Status WaitConnected();
  // Drops the connection and starts a new one.
  void Reconnect();
  const std::string& address() const { return address_; }
  // Returns whether the master lets in anybody (--insecure). Requires: a call was answered.
  bool Insecure() const;

  Result<MasterInfo> Info();
  Result<JobId> Submit(const JobSpec& spec, const std::string& submission_id);
  Result<bool> LibraryKnown(const std::string& sha256);
  Status PutLibrary(const std::string& sha256, const std::string& path);
  Result<JobStatus> Job(JobId id);
  // Returns all jobs, ordered by id: the newest is the last.
  Result<std::vector<JobStatus>> Jobs();
  Result<std::vector<TaskStatus>> Tasks(JobId id);
  Result<std::vector<AttemptStatus>> Attempts(JobId id);
  Result<std::vector<CounterValue>> Counters(JobId id);
  // Plans the job as a submit would, without submitting it. Errors: those of the planning.
  Result<Explained> Explain(const JobSpec& spec);
  // Returns the sizes of the files of each file:// and dfs:// URI, as the master sees them. An element is empty if a
  // submit could not read it, or if the master is too old.
  Result<std::vector<std::optional<InputSize>>> Measure(const std::vector<std::string>& uris);
  // Changes the given settings; a deadline of 0 is none. Returns a note for the user, or "".
  Result<std::string> SetJob(JobId id, std::optional<int32_t> priority, std::optional<uint64_t> deadline_ms);
  Status Kill(JobId id, const std::string& why);
  Result<std::vector<std::string>> Why(const std::string& subject);
  Result<std::vector<WorkerStatus>> Workers();
  // Returns all decisions about the job that are kept, ordered by time.
  Result<std::vector<DecisionStatus>> Decisions(JobId id);
  // Returns the whole history, in several calls if needed. Errors: kRejected if the job has not ended.
  Result<JobHistory> History(JobId id);
  // Returns a profile per shape of plan, the most recently changed first, in several calls if needed. Errors: kNotFound
  // if no job of this name has succeeded.
  Result<std::vector<ProfileStatus>> Profiles(const std::string& name);
  // Returns the spec of a job, with the priority and the deadline that users have set since.
  Result<JobSpec> Spec(JobId id);
  // Errors: kNotFound for an unknown attempt, or one that is no longer kept.
  Result<ReplayTask> Launched(AttemptId id);
  // Returns the log from byte `from` on, or its end (kLogEnd); at most 256 KiB. Its id and state are empty.
  Result<AttemptLog> Logs(AttemptId id, uint64_t from = UINT64_MAX);
  // Requests the same without waiting. wait: how long the master may wait for more of a log that has nothing yet and
  // can grow. NextLog returns the answers. Errors: those of the connection.
  Status RequestLog(AttemptId id, uint64_t from, Duration wait);
  // Returns the next answer, or nothing at `until`. Errors: as NextStatus. After Reconnect, answers to earlier requests
  // are not returned.
  Result<std::optional<LogAnswer>> NextLog(Instant until);
  Status Drain(WorkerId id, bool on);
  // Returns what a draining worker waits for.
  Result<mr::DrainStatus> DrainStatus(WorkerId id);
  Status Exclude(WorkerId id, bool on);
  // Removes a worker that is not live. force: also where blocks may have their last replica there. Errors: kNotFound;
  // kRejected: it is live, or has last replicas.
  Status Forget(WorkerId id, bool force);
  // Has the worker connect to the master and to other workers. Errors: kUnavailable: it could not be asked.
  Result<std::vector<ReachedPeer>> Reach(WorkerId id);
  // accept_loss: accepts the loss of records, which ends safe mode.
  Result<JournalStatus> Journal(bool accept_loss = false);
  Result<std::vector<QueueStatus>> Queues();
  // Returns a URL that lets a browser see the master's pages: once, within a minute. It is a secret until then.
  Result<std::shared_ptr<const Secret<std::string>>> Page();
  // Changes the given settings only.
  Status SetQueue(const std::string& queue, std::optional<double> weight, std::optional<uint32_t> min_share,
                  std::optional<uint32_t> max_share);

  // Starts to watch a job, in place of the previous one. NextStatus returns its changes.
  Status Watch(JobId id);
  // Returns the newest status that was not returned yet, or nothing at `until`. Errors: kUnavailable (the connection
  // broke), kCancelled (interrupt), kDeadline (--timeout).
  Result<std::optional<JobStatus>> NextStatus(Instant until);

  // Returns the block store's client on this connection. Requires: it ends before Reconnect() and this client. Errors:
  // those of WaitConnected.
  Result<std::unique_ptr<dfs::BlockingDfs>> Store();
  // The loop, for a client of the block store with a connection of its own.
  rpc::KjThread& loop();

 private:
  struct Impl;
  std::string address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::ctl
