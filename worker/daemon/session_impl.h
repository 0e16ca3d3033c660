// The session's state, which session.cc (connection, commands, progress), session_register.cc (registration, news of
// blocks) and session_reports.cc (reports) share.
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

// How often the loop looks at the clock; gaps of more than kStoodStill mean that it did not run.
inline constexpr Duration kLook = Millis(500);
inline constexpr Duration kStoodStill = Seconds(2);

struct Session::Impl final : kj::TaskSet::ErrorHandler {
  struct Pending {
    worker::Report report;
    std::function<void(Verdict)> answered;
    uint32_t tries = 0;  // calls with it that were not answered
  };
  // One connection and what hangs on it. `round` tells its continuations from earlier ones'.
  struct Link {
    kj::Own<rpc::RpcConnection> connection;
    rpc::MasterForWorker::Client master;
    kj::TaskSet calls;
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
  Instant registration_sent;  // the last call of it
  WorkerRef self;
  Duration pause = kFirstPause;
  std::map<uint64_t, CommandBatch> ahead;  // came before the registration's answer, or before others
  uint64_t next_batch = 1;

  // What is here, as the registration under way lists it.
  struct Listed {
    std::vector<CopyName> inventory;
    std::vector<AttemptId> running;
    std::vector<BlockName> blocks;
    size_t next_copy = 0, next_running = 0, next_block = 0;  // of the next page
    uint32_t pages = 0;                                      // sent
  };
  std::optional<Listed> listed;  // from Register() to OnRegistered()
  // What became of blocks since they were listed, in whatever call goes next. By id: at most as long as the store.
  struct BlockNews {
    BlockName block;
    bool received = false, damaged = false;  // one of them at most: the later news
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
  // Those that were in too many calls without an answer: unsent ones of this registration, and the one under way.
  std::set<uint64_t> doubtful;
  std::optional<uint64_t> doubtful_under_way;
  uint64_t backlog_end = 0;  // reports below were there at the registration, and go before the doubtful ones
  uint64_t given_up = 0;
  int calls_under_way = 0;
  bool flush_scheduled = false;
  bool hold_armed = false;
  bool calls_full = false;  // reports wait for a call to come back
  bool progress_scheduled = false;
  bool progress_under_way = false;
  Instant registered_at;  // when the present registration was answered
  Duration lease;         // after which the master gives a silent worker up; 0: not known
  LivedClock lived{Now(), kLook, kStoodStill};
  kj::TaskSet tasks;  // last: its tasks use what is above

  Impl(rpc::KjThread& l, Worker& w, Directory& d, Options o)
      : loop(l), worker(w), directory(d), options(std::move(o)), rng(RandomId()), tasks(*this) {}

  void taskFailed(kj::Exception&& e) override { LOG(ERROR) << "session: " << e.getDescription().cStr(); }

  void Connect();
  void Register();
  void SendPages();
  void EndRegistration();
  void AddBlockNews(const BlockName& block, BlockWord word);
  void ScheduleBlockNews();
  void SendBlockNews();
  void OnRegistered(rpc::Registration::Reader answer);
  void Break(const std::string& why);
  bool FenceIfStoodStill();
  void Look();
  void Receive(CommandBatch batch);
  void Apply(CommandBatch batch);
  void Answer(uint64_t number, Verdict verdict);
  void SendAllAgain();  // that has no answer
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
