// The worker's session with its master: connects, registers with what is here, passes commands in
// and reports out, and does it again after every break, under the same incarnation, while attempts
// go on. Reports are batched, several calls are under way, and each is repeated until answered.
// Lives on the KJ loop; start with Start(), destroyed there.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "schema/control.capnp.h"
#include "worker/daemon/journal_seen.h"
#include "worker/daemon/worker.h"

namespace mr::worker {

class Session {
 public:
  struct Options {
    std::string master;  // host:port
    std::string name;    // of this data directory, for ever
    Incarnation incarnation = 0;
    std::string address;  // of our data server, as others reach it
    std::string rack;
    SlotLimits slots;
    uint64_t memory_bytes = 0;
    std::vector<std::string> labels;
    uint16_t http_port = 0;
    uint64_t cluster_id = 0;  // 0 = not known yet
    // On the loop; all but read_log may be empty.
    std::function<std::vector<BlockName>()> blocks;
    std::function<std::pair<uint64_t, uint64_t>()> capacity_and_used;
    // What a registration's answer says of time.
    struct Times {
      Duration heartbeat;
      Duration window;         // how long attempts may run without word from the master; 0 = for ever
      Duration effects_lease;  // and those with side effects; 0 = for ever
      Instant sent;            // when the registration that it answers was sent
    };
    // After each registration.
    std::function<void(const WorkerRef&, uint64_t cluster_id, const Times&)> on_registered;
    std::function<kj::Promise<Result<std::string>>(AttemptId)> read_log;
    // When the master last answered a beat; may be empty.
    std::function<Instant()> heard;
    JournalSeen* seen = nullptr;  // null: none is kept
  };
  Session(rpc::KjThread& loop, Worker& worker, Directory& directory, Options options);
  ~Session();

  void Start();
  // Closes the connection for good.
  void Stop();
  // Any time; sent when there is a registration, in the order of the calls. `answered` (may be
  // empty): once, on the loop; never for a start, which is left out where the end follows at once.
  // When the master ends the job, a report that has no answer yet is left out (kStale), and an end becomes a Killed.
  // Returns its number.
  uint64_t Report(worker::Report report, std::function<void(Verdict)> answered);
  // Between a registration's answer and the reports that go again behind it: this one does not.
  void Withdraw(uint64_t report);
  // The master did not know this session when it answered a beat that was sent at this time. Registers again, unless
  // the beat was sent before the present registration was answered.
  void Unknown(Instant sent);
  // The master said so in the answer to a beat of the present registration.
  void Durable(const JournalRecord& record);
  bool registered() const;
  // Reports that the master did not take in several tries. The end of an attempt is replaced by a short failure.
  uint64_t given_up() const;
  // Reports that have no answer yet.
  size_t unanswered() const;

  kj::Promise<Result<LibraryCache::Piece>> AskLibrary(std::string sha256, uint64_t offset);
  // News of one replica here: it became durable, or cannot be trusted. Sent in batches. Between the moment when a
  // registration lists the blocks and its answer they are kept and sent behind it; without a connection they are
  // dropped, because the next registration lists all blocks.
  void BlockReceived(const BlockName& block);
  // aside: a good replica has taken its place.
  void BlockSuspect(const BlockName& block, bool aside = false);
  // These are dropped where there is no registration: behind each one the disk is reported again, and the master asks
  // for a copy again that does not come.
  void DiskFailed(const std::string& why);
  void BlockNotCopied(const BlockName& block, bool source_failed, const std::string& why);
  // This worker takes nothing new any more and will end.
  void Leaving();

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::worker
