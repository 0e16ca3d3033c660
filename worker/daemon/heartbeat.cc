#include "worker/daemon/heartbeat.h"

#include <algorithm>
#include <atomic>

#include "common/base/lived_clock.h"
#include "common/io/clock.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "schema/control.capnp.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {
// A beat that is unanswered for this long means a dead connection.
constexpr Duration kAnswerTimeout = Seconds(5);
// After this many connections that failed in a row, a master that refuses this worker, or is gone, is tried less often.
// The lease has run out by then, and the next registration ends the pause (guesses).
constexpr int kQuickTries = 20;
constexpr Duration kSlowTry = Seconds(8);
}  // namespace

struct Heartbeat::Impl final : kj::TaskSet::ErrorHandler {
  const std::string master;
  const std::function<void(Instant)> unknown;
  const std::function<void()> silent;
  const std::function<void(Instant, const JournalRecord&)> contact;
  const std::function<Duration()> loop_silent;
  const std::function<DiskRoom()> room;
  std::atomic<int64_t> heard_ns{0};  // send time of the last answered beat; any thread

  // On the loop:
  WorkerRef self;
  uint64_t cluster_id = 0;
  Duration period = Millis(500);
  Duration window;
  LivedClock clock{Now(), Millis(500), Seconds(2)};
  Instant heard;  // send time of the last answered beat, on the lived clock
  bool said_silent = false;
  uint64_t sequence = 0;
  bool running = false;
  int failed = 0;     // connections in a row
  bool slow = false;  // the next try waits for kSlowTry
  uint64_t turn = 0;  // of the timer that makes the next beat; an older one does nothing
  kj::Own<rpc::RpcConnection> connection;
  kj::Maybe<rpc::Heartbeats::Client> master_side;
  std::unique_ptr<kj::TaskSet> tasks;

  rpc::KjThread loop{"heartbeat"};  // last

  Impl(std::string m, std::function<void(Instant)> u, std::function<void()> s,
       std::function<void(Instant, const JournalRecord&)> c, std::function<Duration()> l, std::function<DiskRoom()> r)
      : master(std::move(m)),
        unknown(std::move(u)),
        silent(std::move(s)),
        contact(std::move(c)),
        loop_silent(std::move(l)),
        room(std::move(r)) {}

  void taskFailed(kj::Exception&&) override {}

  void After(Duration delay) {
    tasks->add(loop.timer().afterDelay(delay.ns * kj::NANOSECONDS).then([this, mine = ++turn] {
      if (mine != turn) return;
      slow = false;
      Beat();
    }));
  }

  // The connection failed, or broke before its first answer.
  void TryAgain() {
    slow = ++failed > kQuickTries;
    After(slow ? kSlowTry : std::min(period, Seconds(1)));
  }

  // The worker has registered, so the master answers.
  void EndPause() {
    failed = 0;
    if (!slow) return;
    slow = false;
    ++turn;
    Beat();
  }

  // Separate from Beat(), because a beat may stay unanswered for long.
  void Listen() {
    const Instant now = clock.Read(Now());
    (void)loop_silent();  // it needs a call at least once per second
    if (window.ns > 0 && !said_silent && now - heard >= window) {
      said_silent = true;
      silent();
    }
    tasks->add(loop.timer().afterDelay(period.ns * kj::NANOSECONDS).then([this] { Listen(); }));
  }

  // sent: on the host's clock. lived: the same moment on this thread's lived clock.
  void Heard(Instant sent, Instant lived) {
    heard_ns.store(sent.ns);
    heard = lived;
    said_silent = false;
  }

  void Beat() {
    KJ_IF_MAYBE (heartbeats, master_side) {
      Beat(*heartbeats);
    } else {
      Connect();
    }
  }

  void Beat(rpc::Heartbeats::Client heartbeats) {
    auto request = heartbeats.beatRequest();
    ToWire(self, request.initWorker());
    request.setSequence(++sequence);
    request.setLoopSilentMs(static_cast<uint32_t>(std::min<int64_t>(loop_silent().millis(), UINT32_MAX)));
    rpc::ToWire(room(), request.initRoom());
    const Instant sent = Now();
    tasks->add(loop.timer()
                   .timeoutAfter(kAnswerTimeout.ns * kj::NANOSECONDS, request.send())
                   .then(
                       [this, id = self, sent,
                        lived = clock.Read(sent)](capnp::Response<rpc::Heartbeats::BeatResults> response) {
                         Heard(sent, lived);
                         failed = 0;
                         if (response.getKnown()) contact(sent, FromWire(response.getDurable()));
                         if (!response.getKnown() && id.id == self.id) unknown(sent);
                         After(period);
                       },
                       [this](kj::Exception&&) {
                         master_side = nullptr;
                         connection = nullptr;
                         TryAgain();
                       }));
  }

  void Connect() {
    rpc::Hello hello;
    hello.role = rpc::Role::kHeartbeat;
    hello.cluster_id = cluster_id;
    hello.incarnation = self.incarnation;
    tasks->add(
        rpc::RpcConnection::Connect(loop.io(), master, hello).then([this](Result<kj::Own<rpc::RpcConnection>> result) {
          if (!result.ok()) return TryAgain();
          connection = kj::mv(*result);
          // Once per connection: on an ended connection Bootstrap() throws.
          master_side = connection->Bootstrap<rpc::Heartbeats>();
          Beat();
        }));
  }
};

Heartbeat::Heartbeat(std::string master, std::function<void(Instant)> unknown, std::function<void()> silent,
                     std::function<void(Instant, const JournalRecord&)> contact, std::function<Duration()> loop_silent,
                     std::function<DiskRoom()> room)
    : impl_(std::make_unique<Impl>(std::move(master), std::move(unknown), std::move(silent), std::move(contact),
                                   std::move(loop_silent), std::move(room))) {}

Instant Heartbeat::heard() const { return {impl_->heard_ns.load()}; }

Heartbeat::~Heartbeat() {
  impl_->loop.Run([this] {
    impl_->tasks.reset();
    impl_->master_side = nullptr;
    impl_->connection = nullptr;
  });
}

void Heartbeat::Set(const WorkerRef& self, uint64_t cluster_id, Duration period, Duration window) {
  impl_->loop.Post([this, self, cluster_id, period, window] {
    impl_->self = self;
    impl_->cluster_id = cluster_id;
    impl_->period = period;
    impl_->window = window;
    const Instant now = Now();
    impl_->Heard(now, impl_->clock.Read(now));  // the registration's answer is a contact
    if (impl_->tasks == nullptr) impl_->tasks = std::make_unique<kj::TaskSet>(*impl_);
    if (impl_->running) return impl_->EndPause();
    impl_->running = true;
    impl_->Beat();
    impl_->Listen();
  });
}

}  // namespace mr::worker
