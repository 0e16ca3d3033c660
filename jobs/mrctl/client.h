// A connection to a master, with calls that wait (wait.h: interrupt and --timeout end them).
//
// Owns a KJ thread; Cap'n Proto stays in client.cc. For one thread. A call whose connection broke
// is kUnavailable; Reconnect() makes a new one.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/input_files.h"
#include "jobs/mrctl/model.h"

namespace capnp {
class MessageBuilder;
}
namespace mr::rpc {
class KjThread;
}

namespace mr::ctl {

class Client {
 public:
  // Begins to connect and returns at once; the first call waits for it.
  explicit Client(std::string address);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // kUnavailable with a hint where nobody answers, another program does, or another version.
  Status WaitConnected();
  // Drops the connection and begins a new one.
  void Reconnect();
  const std::string& address() const { return address_; }

  Result<MasterInfo> Info();
  // `spec` holds a JobSpec as its root.
  Result<JobId> Submit(const std::shared_ptr<capnp::MessageBuilder>& spec, const std::string& submission_id);
  Result<bool> LibraryKnown(const std::string& sha256);
  Status PutLibrary(const std::string& sha256, const std::string& path);
  Result<JobStatus> Job(JobId id);
  Result<std::vector<JobStatus>> Jobs();
  Result<std::vector<TaskStatus>> Tasks(JobId id);
  Result<std::vector<AttemptStatus>> Attempts(JobId id);
  Result<std::vector<CounterValue>> Counters(JobId id);
  // What a submit of it would be; nothing is submitted. An error: it cannot be planned.
  Result<Explained> Explain(const std::shared_ptr<capnp::MessageBuilder>& spec);
  // Of the files behind each file:// and dfs:// URI, as the master sees them; nothing for one that a submit could not
  // read, or where the master is too old to say.
  Result<std::vector<std::optional<InputSize>>> Measure(const std::vector<std::string>& uris);
  // What is absent stays as it is; a deadline of 0 is none. Gives what its user should know of it, or nothing.
  Result<std::string> SetJob(JobId id, std::optional<int32_t> priority, std::optional<uint64_t> deadline_ms);
  Status Kill(JobId id, const std::string& why);
  Result<std::vector<std::string>> Why(const std::string& subject);
  Result<std::vector<WorkerStatus>> Workers();
  // What was decided about it, in the order of time; all that is kept.
  Result<std::vector<DecisionStatus>> Decisions(JobId id);
  // All of it, in as many calls as that takes. kRejected: it has not ended.
  Result<JobHistory> History(JobId id);
  // One for each shape of plan, the one that changed last first; all of them, in as many calls as that takes.
  // kNotFound: no job of this name has succeeded.
  Result<std::vector<ProfileStatus>> Profiles(const std::string& name);
  // kNotFound: no such attempt, or it is no longer known.
  Result<ReplayTask> Launched(AttemptId id);
  // text and note only.
  Result<AttemptLog> Logs(AttemptId id);
  Status Drain(WorkerId id, bool on);
  // What keeps a worker that is drained.
  Result<mr::ctl::DrainStatus> DrainStatus(WorkerId id);
  Status Exclude(WorkerId id, bool on);
  // accept_loss: an operator accepts that records are lost; the safe mode ends.
  Result<JournalStatus> Journal(bool accept_loss = false);
  Result<std::vector<QueueStatus>> Queues();
  // What is absent stays as it is.
  Status SetQueue(const std::string& queue, std::optional<double> weight, std::optional<uint32_t> min_share,
                  std::optional<uint32_t> max_share);

  // Asks for a job's changes; they are taken by NextStatus. Replaces the watch before it.
  Status Watch(JobId id);
  // The newest status that was not taken yet; nothing when `until` came first. kUnavailable: the
  // connection ended; kCancelled: interrupted; kDeadline: --timeout.
  Result<std::optional<JobStatus>> NextStatus(Instant until);

  // For the block store's client (dfs/client), which makes its own connection on the same loop.
  rpc::KjThread& loop();

 private:
  struct Impl;
  std::string address_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::ctl
