// The state that session.cc (connection, commands, progress), session_register.cc (registration, changes of blocks) and
// session_reports.cc (reports) share.
#pragma once

#include <glog/logging.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/lived_clock.h"
#include "common/base/rng.h"
#include "common/io/clock.h"
#include "worker/daemon/session.h"

namespace mr::worker {

inline constexpr Duration kFirstPause = Millis(100);  // between two connections; doubles
inline capnp::Text::Reader AsText(const std::string& s) { return {s.c_str(), s.size()}; }

// Period at which the loop reads the clock. A gap above kStoodStill means that it did not run.
inline constexpr Duration kLook = Millis(500);
inline constexpr Duration kStoodStill = Seconds(2);

struct Session::Impl final : kj::TaskSet::ErrorHandler {
  struct Pending {
    mr::Report report;
    std::function<void(Verdict)> answered;
    uint32_t tries = 0;  // unanswered calls that carried it
  };
  // One connection and its calls. Continuations compare `round` to detect that they belong to an earlier one.
  struct Link {
    kj::Own<rpc::RpcConnection> connection;
    rpc::MasterForWorker::Client master;
    kj::TaskSet calls;
    // Short answers to reports. Cap'n Proto releases an answer by a message, which then travels with the next call.
    kj::Vector<capnp::Response<rpc::MasterForWorker::ReportResults>> answers;
    Link(kj::Own<rpc::RpcConnection> c, rpc::MasterForWorker::Client m, kj::TaskSet::ErrorHandler& errors)
        : connection(kj::mv(c)), master(kj::mv(m)), calls(errors) {}
  };

  rpc::KjThread& loop;
  Worker& worker;
  Directory& directory;
  Options options;
  Rng rng;

  kj::Own<Link> link;  // null between connections
  uint64_t round = 0;
  bool registered = false;
  bool stopped = false;
  uint32_t master_epoch = 0;
  Instant registration_sent;  // when its last call was sent
  WorkerRef self;
  Duration pause = kFirstPause;
  std::map<uint64_t, CommandBatch> ahead;  // came before the registration's answer, or before earlier batches
  uint64_t next_batch = 1;

  // The lists that the registration in progress sends.
  struct Listed {
    std::vector<Replica> inventory;
    std::vector<AttemptId> running;
    std::vector<BlockRef> blocks;
    size_t next_replica = 0, next_running = 0, next_block = 0;  // of the next page
    uint32_t pages = 0;                                         // sent
  };
  std::optional<Listed> listed;  // from Register() to OnRegistered()
  // A change of a block since the blocks were listed, for the next call. By id: at most one per block of the store.
  struct BlockNews {
    BlockRef block;
    bool received = false, damaged = false;  // at most one of them: the later change
    bool aside = false;                      // damaged bytes lie beside a good replica
  };
  enum class BlockWord { kReceived, kDamaged, kAside };
  std::map<uint64_t, BlockNews> block_news;
  bool block_news_scheduled = false;

  std::map<uint64_t, Pending> unanswered;  // by number, in order
  uint64_t next_number = 1;
  uint64_t next_unsent = 1;
  std::map<AttemptId, uint64_t> unsent_starts;  // numbers of reports
  std::set<uint64_t> in_flight;                 // numbers of reports in calls under way
  // Reports that were in too many unanswered calls: the unsent ones of this registration, and the one in flight.
  std::set<uint64_t> doubtful;
  std::optional<uint64_t> doubtful_under_way;
  uint64_t backlog_end = 0;  // lower numbers existed at the registration, and go before the doubtful ones
  uint64_t given_up = 0;
  int calls_under_way = 0;
  bool flush_scheduled = false;
  bool hold_armed = false;
  bool calls_full = false;  // reports wait until a call returns
  bool progress_scheduled = false;
  bool progress_under_way = false;
  Instant registered_at;  // when the present registration was answered
  Duration lease;         // silence after which the master gives a worker up; 0: not known
  LivedClock lived{Now(), kLook, kStoodStill};
  kj::TaskSet tasks;  // last: its tasks use what is above

  Impl(rpc::KjThread& l, Worker& w, Directory& d, Options o)
      : loop(l), worker(w), directory(d), options(std::move(o)), rng(RandomId()), tasks(*this) {}

  void taskFailed(kj::Exception&& e) override { LOG(ERROR) << "session: " << e.getDescription().cStr(); }

  void Connect();
  void Register();
  void SendPages();
  void EndRegistration();
  void AddBlockNews(const BlockRef& block, BlockWord word);
  void ScheduleBlockNews();
  void SendBlockNews();
  void OnRegistered(rpc::Registration::Reader answer);
  void Break(const std::string& why);
  bool FenceIfStoodStill();
  void Look();
  void Receive(CommandBatch batch);
  void Apply(CommandBatch batch);
  void Answer(uint64_t number, Verdict verdict);
  void SendAllAgain();  // all without an answer
  void ScheduleFlush();
  void DropStart(const AttemptId& attempt);
  void FlushLater();
  void Flush();
  void FlushDoubtful();
  void SendBatch(std::vector<uint64_t> numbers);
  void SendPieces(uint64_t number, const kj::Array<capnp::word>& message, rpc::Report::Builder out);
  void CountTries(const std::string& why);
  void GiveUp(uint64_t number, const std::string& why);
  void EndReportsOf(JobId job);
  void ScheduleProgress();
  void SendProgress();
};

}  // namespace mr::worker
