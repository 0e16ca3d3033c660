// A master for tests of one real worker: speaks control.capnp on a loopback port, keeps the reports that it receives,
// and sends the test's commands. Thread: called from the test's. Waits have a limit.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "schema/control.capnp.h"
#include "worker/daemon/journal_seen.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class FakeMaster {
 public:
  struct Registration {
    std::string name, address;
    Incarnation incarnation = 0;
    uint32_t slots = 0, epoch_seen = 0, pid = 0;
    bool leaving = false;
    std::vector<Replica> inventory;
    std::vector<AttemptId> running;
    std::vector<BlockRef> blocks;
    uint32_t pages = 0;
    JournalRecord seen;
  };
  // A report as far as tests look at it.
  struct Heard {
    AttemptId attempt;
    std::string what;  // started finished failed refused killed fetch_failed fetch_done replica_made ...
    std::string message;
    FailureKind failure_kind = FailureKind::kLost;
    uint64_t records = 0;
    Digest128 content;
    std::vector<PartitionRow> table;
    std::string output_name, output_path;
    std::vector<Consumed> consumed;
    Replica replica;
    uint64_t bytes = 0;
    uint32_t readers = 0;
    bool here = false;  // of replica_not_made
  };

  FakeMaster();
  ~FakeMaster() noexcept;  // KJ members would make it throwing

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  // Every connection breaks; after a moment the port serves again, under the next epoch.
  void Restart();
  // Whether answers to heartbeats know the worker.
  void SetKnown(bool known);
  // Whether heartbeats are answered at all.
  void SetAnswersBeats(bool on);
  // For the next registrations; 0 = attempts may run for ever unheard.
  void SetReattachWindow(uint32_t ms);
  void SetLease(uint32_t ms);
  // The durable record in answers to registrations and beats.
  void SetDurable(const JournalRecord& durable);
  // Whether answers to registrations say that the worker was given up.
  void SetStartOver(bool on);
  // Whether answers to registrations drop every replica that the worker lists.
  void SetDropsInventory(bool on);
  // Sets the verdict on finished reports and on those of replicas (default: winner).
  void SetVerdict(Verdict verdict);
  // Registrations arrive and are not answered, until this is called with false.
  void HoldRegistrations(bool on);
  // Calls with a finished report of this attempt fail, as one does at which the connection breaks, and so many calls
  // with a failed one.
  void FailReportsOf(AttemptId attempt, int failures = 0);
  // So many of the next calls with news of blocks fail.
  void FailBlockNews(int times);
  // Waits for `count` reports of blocks and returns them in the order of arrival: id, and whether it is good.
  std::vector<std::pair<uint64_t, bool>> WaitForBlockNews(size_t count);
  // Bytes that `library` serves.
  void SetLibrary(std::string bytes);

  // The n-th registration (from 1), or fails the test.
  Registration WaitForRegistration(size_t n);
  size_t Registrations();
  // Until the worker has said, by a call of its own, that it leaves; or fails the test.
  void WaitForLeaving();
  // The first report of this attempt of one of these kinds.
  Heard WaitForReport(AttemptId attempt, const std::vector<std::string>& kinds);
  // Returns when there were so many.
  void WaitForReports(AttemptId attempt, const std::string& kind, size_t count);
  size_t ReportsOf(AttemptId attempt, const std::string& kind);
  uint64_t beats();
  // Applied by the worker in one call, under the present epoch or `epoch`.
  void Send(uint32_t n, std::function<void(capnp::List<rpc::Command>::Builder)> fill, uint32_t epoch = 0);
  // The same, without waiting for the answer: the worker may be stopped, or not carry it out.
  void SendUnanswered(uint32_t n, const std::function<void(capnp::List<rpc::Command>::Builder)>& fill);
  // Arrives before another one that never does.
  void SendAhead(uint32_t n, std::function<void(capnp::List<rpc::Command>::Builder)> fill);
  // The two batches arrive in the wrong order.
  void SendSwapped(uint32_t n1, std::function<void(capnp::List<rpc::Command>::Builder)> first, uint32_t n2,
                   std::function<void(capnp::List<rpc::Command>::Builder)> second);
  // From now on reports of ends get no verdict, until GiveVerdicts() sends it for all of them.
  void KeepVerdicts();
  void GiveVerdicts();
  // The worker's `log` of an attempt.
  Result<std::string> Log(AttemptId attempt);

  static constexpr uint32_t kWorkerId = 5;

 private:
  class ForWorker;
  class Beats;
  void Listen();
  size_t CountReports(AttemptId attempt, const std::string& kind) const;  // under mutex_
  void CloseAll();

  std::mutex mutex_;  // the test's thread and the loop share what follows
  std::condition_variable changed_;
  std::vector<Registration> registrations_;
  std::vector<Heard> heard_;
  Verdict verdict_ = Verdict::kWinner;
  bool known_ = true, answers_beats_ = true, start_over_ = false;
  bool drops_inventory_ = false;
  bool leaving_ = false;
  bool hold_registrations_ = false;
  AttemptId failing_;
  int failures_failing_ = 0;
  int block_news_failing_ = 0;
  std::vector<std::pair<uint64_t, bool>> block_news_;
  uint32_t reattach_ms_ = 0, lease_ms_ = 5000;
  uint64_t beats_ = 0;
  uint32_t epoch_ = 1;
  JournalRecord durable_;
  std::string library_;

  uint16_t port_ = 0;
  kj::Own<kj::PromiseFulfiller<void>> held_registration_;  // on the loop
  kj::Own<rpc::RpcServer> server_;                         // on the loop
  kj::Maybe<rpc::Worker::Client> worker_;                  // on the loop
  uint64_t batches_ = 0;                                   // sent since it registered; on the loop
  bool keep_verdicts_ = false;
  std::vector<uint64_t> kept_;  // numbers of reports
  void SendBatch(uint64_t sequence, uint32_t epoch, const std::function<void(rpc::CommandBatch::Builder)>& fill);
  rpc::KjThread loop_{"fake_master"};
};

}  // namespace mr::worker
