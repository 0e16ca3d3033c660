// The wire ends of a worker and of a client, for tests of a master that runs in this process: a real
// hello, real Cap'n Proto, real sockets on loopback; only the work itself is made up.
#pragma once

#include <capnp/message.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/base/digest.h"
#include "common/base/ids.h"
#include "common/base/status.h"
#include "common/rpc/connection.h"
#include "schema/client.capnp.h"
#include "schema/control.capnp.h"

namespace mr::test {

// The loop of the test's own thread; one per test.
struct TestIo {
  kj::AsyncIoContext io = kj::setupAsyncIo();
  template <class T>
  T Wait(kj::Promise<T> promise) {
    return promise.wait(io.waitScope);
  }
  // Runs the loop until `done`, at most `seconds`.
  bool Until(const std::function<bool()>& done, double seconds = 20);
};

// A stage, from the message that announced it to its worker.
struct StageSeen {
  uint32_t tasks = 0, partitions = 0;
  std::string staging;
};

class FakeWorker {
 public:
  FakeWorker(TestIo& io, std::string name, uint32_t slots = 2);
  ~FakeWorker();

  // Connects, registers with what it holds and runs, page by page, and beats from then on.
  Status Register(uint16_t port);
  // For calls that no worker of ours makes; while it is registered. Answers to reports bring commands, which are heard.
  rpc::MasterForWorker::Client& master();
  using ReportRequest = capnp::Request<rpc::MasterForWorker::ReportParams, rpc::MasterForWorker::ReportResults>;
  kj::Promise<void> SendAsItIs(ReportRequest request);
  uint64_t incarnation() const { return incarnation_; }
  // Closes both connections, as the kernel does for a killed process.
  void Disconnect();
  // Makes it a new process: another life of the same worker.
  void Restart() { ++incarnation_; }

  // Whether launches of this stage are done at once; held ones wait for Finish.
  std::function<bool(const AttemptId&)> hold = [](const AttemptId&) { return false; };
  void FinishHeld();
  void StartHeld();  // says that they run
  // The end of a launch: done (or held), a failure of this kind, or not started.
  enum class Fate { kDone, kUserFailure, kEnvironmentFailure, kRefused, kFinalFailure };
  std::function<Fate(const AttemptId&)> fate = [](const AttemptId&) { return Fate::kDone; };
  // Changes the report of an attempt that is done, before it is sent.
  std::function<void(const AttemptId&, rpc::Finished::Builder)> edit = [](const AttemptId&, rpc::Finished::Builder) {};
  // Outputs and blocks (of generation 1) that it reports to hold, beside the outputs of its own attempts.
  struct Held {
    AttemptId attempt;
    uint32_t generation = 1;
  };
  std::vector<Held> others;
  std::vector<uint64_t> blocks;
  uint32_t pages_before_break = 0;  // not 0: its next registration ends with a broken connection behind so many pages
  size_t dropped = 0;               // of the inventory of its last registration
  size_t deleted_blocks = 0, drop_commands = 0, removed_replicas = 0;  // as ordered by the master
  uint32_t reduce_slots = 0;                                           // 0: as many as slots
  uint32_t reports_given_up = 0;                                       // as it says when it registers
  bool gathers = false;                      // its reports of one batch of commands go in one call
  std::string data_address = "127.0.0.1:1";  // as it says when it registers; nobody serves there
  bool leaving = false;                      // likewise
  bool drained = false;                      // as the master said last

  // Whether it makes the replicas that it is asked for, at once.
  bool replicates = false;
  bool reports_replicas = true;  // when they are made, not only when it registers again
  // If it makes none: the reason that it reports. Empty: it reports nothing.
  std::string why_no_replica;
  bool own_fault = false;  // whether it reports that the reason lies here and not at the source
  // Reports that this worker has made a replica, or that it will not make one of a replica at worker `at`. Sends the
  // arguments unchecked.
  void ReportReplica(bool made, const AttemptId& of, uint32_t generation, WorkerId at, uint64_t incarnation,
                     const std::string& why = "");
  // Says that an attempt of its own could not read this output.
  void Complain(const AttemptId& reader, const AttemptId& of, uint32_t generation, WorkerId at, uint64_t incarnation,
                bool unreachable = false);
  std::vector<AttemptId> asked_to_replicate;
  std::vector<AttemptId> launched;
  std::set<AttemptId> held;
  std::map<AttemptId, std::string> verdicts;
  size_t later = 0;                      // answers to reports that left the verdict for later
  std::map<uint32_t, StageSeen> stages;  // by number
  std::vector<AttemptId> killed;
  std::vector<JobId> ended_jobs;
  struct Replica {
    uint32_t generation = 0;
    Digest128 content;
  };
  std::map<uint32_t, std::map<uint32_t, Replica>> directory;  // by stage and task
  uint32_t loop_silent_ms = 0;                                // as its beats say
  struct Durable {
    uint32_t epoch = 0;
    uint64_t life = 0, sequence = 0;
  };
  Durable seen;                           // as it says when it registers
  Durable durable;                        // as the last answer to a registration or a beat said
  uint32_t id = 0, master_epoch = 0;      // as its registration was answered
  bool known = true;                      // as the answer to its last beat said
  bool refuses_calls = false;             // calls with commands fail; the connection lives
  std::vector<uint32_t> upstream = {0};   // stages that those above them read, all of each
  uint32_t inputs = 3;                    // tasks of each of these
  std::vector<uint64_t> partition_bytes;  // of what it shuffles

 private:
  class Commands;
  Result<uint32_t> SendPages(const std::vector<Held>& inventory, const std::vector<AttemptId>& running);
  rpc::Report::Builder NewReport(const AttemptId& attempt, ReportRequest& request);
  void Send(ReportRequest request);
  void SendGathered();
  void Take(rpc::Durable::Reader said);
  void OnVerdict(uint64_t report, rpc::Verdict verdict);
  void OnBatch(rpc::CommandBatch::Reader batch);
  void OnCommand(rpc::Command::Reader command);
  void Run(const AttemptId& attempt);
  void Finish(const AttemptId& attempt);
  void Fail(const AttemptId& attempt, Fate fate);
  kj::Promise<void> BeatLoop();

  TestIo& io_;
  std::string name_;
  uint32_t slots_;
  uint64_t incarnation_ = 1;
  std::set<AttemptId> replicas_, waiting_;
  std::map<AttemptId, uint32_t> generations_;
  uint64_t reports_ = 0, next_batch_ = 1;
  std::map<uint64_t, AttemptId> reported_;
  bool gathering_ = false;
  std::vector<ReportRequest> gathered_;
  std::map<uint64_t, kj::Own<capnp::MallocMessageBuilder>> ahead_;
  struct Link;
  std::unique_ptr<Link> link_;
};

// A client's calls, waited for.
class FakeClient {
 public:
  FakeClient(TestIo& io, uint16_t port);
  rpc::MasterForClient::Client& master() { return *master_; }

  Result<JobId> Submit(const std::function<void(rpc::JobSpec::Builder)>& fill, const std::string& submission = "");
  // State, stages' done, and the error of a job.
  struct Seen {
    rpc::JobState state = rpc::JobState::UNSET;
    std::vector<uint32_t> done;
    std::string error, last_failure;
    uint32_t parts = 0;
    // 0: it has none, or a utility; nothing is guaranteed; nothing is predicted.
    uint64_t deadline_ms = 0;
    uint32_t guaranteed = 0;
    bool predicted = false;
  };
  Seen Job(JobId id);
  Status Drain(uint32_t worker, bool on);
  Status Exclude(uint32_t worker, bool on);
  // "what attempt wN" of the first page.
  std::vector<std::string> Decisions(JobId job);
  // 0: none. Gives the warning that came with the answer.
  Result<std::string> SetDeadline(JobId id, uint64_t deadline_ms);
  // weight 0, a share below 0: as it is.
  Status SetQueue(const std::string& queue, double weight, int64_t min_share, int64_t max_share);
  // Each as "name weight min max".
  std::vector<std::string> Queues();
  // The state and pid of a worker, as `mrctl workers` prints them; "" where it is not known.
  std::pair<std::string, uint32_t> Worker(uint32_t id);
  // Tasks of a job by how many replicas of their outputs can be read.
  std::map<uint32_t, uint32_t> TasksByReplicas(JobId id);
  std::vector<std::string> Why(const std::string& subject);
  bool UntilState(JobId id, rpc::JobState state, double seconds = 20);

 private:
  TestIo& io_;
  kj::Own<rpc::RpcConnection> connection_;
  kj::Own<rpc::MasterForClient::Client> master_;
};

// files -> shuffle -> files: `count` reads `input` in splits of 4 KiB, `sum` has `reduces` tasks.
void FillTwoStages(rpc::JobSpec::Builder spec, const std::string& input, const std::string& output, uint32_t reduces);

}  // namespace mr::test
