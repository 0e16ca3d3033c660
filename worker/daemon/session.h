// The worker's session with its master: connects, registers, passes commands in and sends reports. After each break it
// starts again under the same incarnation, while attempts continue. Reports are batched, with several calls in flight,
// and each is repeated until answered. Lives on the KJ loop: start it with Start(), and destroy it there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/io/attempt_log.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "common/secure/grant.h"
#include "schema/control.capnp.h"
#include "worker/daemon/journal_seen.h"
#include "worker/daemon/worker.h"

namespace mr::worker {

using ReadLogFn = std::function<kj::Promise<Result<LogPiece>>(AttemptId, uint64_t from, Duration wait)>;

class Session {
 public:
  struct Options {
    std::string master;  // host:port
    std::string name;    // of this data directory, permanent
    Incarnation incarnation = 0;
    std::string address;  // of this worker's data server, as others reach it
    std::string rack;
    SlotLimits slots;
    // Returns how much memory its attempts may use together at most, when it registers. Workers that start and end
    // change a share, and the master keeps the number until the next registration. Empty: not limited.
    std::function<uint64_t()> memory_bytes;
    int tier = -1;  // of the rooms of its tasks; -1: not known
    std::vector<std::string> labels;
    uint16_t http_port = 0;
    uint64_t cluster_id = 0;  // 0 = not known yet
    // Called on the loop. All but read_log may be empty.
    std::function<std::vector<BlockRef>()> blocks;
    std::function<std::pair<uint64_t, uint64_t>()> capacity_and_used;
    // The times in the answer to a registration.
    struct Times {
      Duration heartbeat;
      Duration window;         // how long attempts may run without contact to the master; 0 = no limit
      Duration effects_lease;  // the same for attempts with side effects; 0 = no limit
      Instant sent;            // when the answered registration was sent
    };
    // Called after each registration.
    std::function<void(const WorkerRef&, uint64_t cluster_id, const Times&)> on_registered;
    // Called before on_registered, where the cluster has grants.
    std::function<void(secure::GrantKey)> on_grant_key;
    // Returns a part of an attempt's log, as Worker.log of control.capnp does.
    ReadLogFn read_log;
    // Returns when the master last answered a beat. May be empty.
    std::function<Instant()> heard;
    JournalSeen* seen = nullptr;  // null: not kept
  };
  Session(rpc::KjThread& loop, Worker& worker, Directory& directory, Options options);
  ~Session();

  void Start();
  // Closes the connection permanently.
  void Stop();
  // Queues a report, at any time. While there is a registration, reports are sent in the order of the calls. Returns
  // the report's number.
  //
  // `answered` (may be empty) is called once, on the loop. It is never called for a start, which is dropped if the end
  // follows before it is sent. When the master ends the job, unanswered reports are dropped (kStale), and an end
  // becomes a Killed.
  uint64_t Report(mr::Report report, std::function<void(Verdict)> answered);
  // Removes an unanswered report: it is not sent again after a registration, and gets no answer.
  void Withdraw(uint64_t report);
  // Handles an answer to a beat by a master that does not know this session: registers again, unless the beat was sent
  // before the present registration was answered. sent: when the beat was sent.
  void Unknown(Instant sent);
  // Notes the record that the answer to a beat of the present registration reported as durable.
  void Durable(const JournalRecord& record);
  bool registered() const;
  // Returns how many reports the master did not accept in several tries. A short failure replaces the end of an
  // attempt.
  uint64_t given_up() const;
  // Returns how many reports have no answer yet.
  size_t unanswered() const;

  kj::Promise<Result<LibraryCache::Piece>> AskLibrary(const std::string& sha256, uint64_t offset);
  // Reports that a replica of a block became durable, or cannot be trusted. Sent in batches. While a registration has
  // listed the blocks and is not answered, changes are kept. They are sent after its answer. Without a connection they
  // are dropped, because the next registration lists all blocks.
  void BlockReceived(const BlockRef& block);
  // aside: a good replica has taken the place of the damaged one.
  void BlockSuspect(const BlockRef& block, bool aside = false);
  // The next two reports are dropped while there is no registration: after each one the disk is reported again, and the
  // master orders a missing replica again.
  void DiskFailed(const std::string& why);
  void BlockNotCopied(const BlockRef& block, bool source_failed, const std::string& why);
  // Notifies the master that this worker takes nothing new and will end.
  void Leaving();
  // Gives the master the end of an attempt's log. Returns whether the master knows the attempt. Errors: kUnavailable.
  kj::Promise<Result<bool>> KeepLog(AttemptId attempt, const std::string& log, uint64_t log_bytes, bool failed);

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::worker
