#include "tests/bench/players.h"

#include <kj/async.h>

#include <algorithm>
#include <optional>
#include <queue>
#include <utility>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/answer.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/wait_for_loop.h"
#include "tests/bench/player.h"

namespace mr::bench {
namespace {

// The time for which mrworker holds a report that no decision depends on (kHold of session_reports.cc).
constexpr Duration kTick = Millis(5);
// Registrations at a time: far below the peers without an identity that a master takes (rpc::ServerLimits::greeting).
constexpr uint32_t kAtOnce = 32;

}  // namespace

struct Players::Impl final : PlayerLoop, kj::TaskSet::ErrorHandler {
  struct Due {
    Instant at;
    uint32_t player;
    Wake wake;
    AttemptId attempt;
    bool operator<(const Due& other) const { return at > other.at; }  // the earliest is the top
  };

  const PlayerOptions own_options;
  PlayerCounts all;
  std::string why_broken;
  std::vector<std::unique_ptr<Player>> players;
  std::priority_queue<Due> due;
  // Players to flush: at the end of the turn, and at the next tick.
  std::vector<uint32_t> now, later;
  std::vector<bool> is_now, is_later;
  bool flush_posted = false;
  uint32_t next = 0;  // to connect
  std::unique_ptr<kj::TaskSet> tasks;
  rpc::KjThread loop{"players"};  // last

  explicit Impl(PlayerOptions o) : own_options(std::move(o)) {
    is_now.resize(own_options.workers);
    is_later.resize(own_options.workers);
    loop.Run([this] {
      for (uint32_t i = 0; i < own_options.workers; ++i) players.push_back(std::make_unique<Player>(*this, i));
      tasks = std::make_unique<kj::TaskSet>(*this);
      tasks->add(Tick());
    });
  }
  ~Impl() {
    loop.Run([this] {
      tasks.reset();
      players.clear();
    });
  }

  kj::AsyncIoContext& io() override { return loop.io(); }
  PlayerCounts& counts() override { return all; }
  const PlayerOptions& options() const override { return own_options; }
  void WakeAt(Instant at, uint32_t player, Wake wake, const AttemptId& attempt) override {
    due.push({at, player, wake, attempt});
  }
  void FlushSoon(uint32_t player, bool at_once) override {
    std::vector<bool>& listed = at_once ? is_now : is_later;
    if (listed[player]) return;
    listed[player] = true;
    (at_once ? now : later).push_back(player);
    if (!at_once || flush_posted) return;
    flush_posted = true;
    tasks->add(kj::evalLast([this] {
      flush_posted = false;
      Flush(&now, &is_now);
    }));
  }
  void Broke(uint32_t player, const std::string& why) override {
    if (why_broken.empty()) why_broken = "worker " + std::to_string(player) + ": " + why;
    // Its tasks may be on the stack.
    tasks->add(kj::evalLater([this, player] { players[player]->Disconnect(); }));
  }
  void taskFailed(kj::Exception&& e) override {
    if (why_broken.empty()) why_broken = rpc::FromException(e).message();
  }

  void Flush(std::vector<uint32_t>* list, std::vector<bool>* listed) {
    for (const uint32_t player : std::exchange(*list, {})) {
      (*listed)[player] = false;
      players[player]->Flush();
    }
  }

  kj::Promise<void> Tick() {
    const Instant time = Now();
    while (!due.empty() && due.top().at <= time) {
      const Due top = due.top();
      due.pop();
      players[top.player]->OnWake(top.wake, top.attempt);
    }
    Flush(&later, &is_later);
    return loop.timer().afterDelay(rpc::ToKj(kTick)).then([this] { return Tick(); });
  }

  // Connects one player after another until none is left.
  kj::Promise<void> ConnectNext() {
    if (next == players.size()) return kj::READY_NOW;
    return players[next++]->Connect().then([this] {
      ++all.registered;
      return ConnectNext();
    });
  }
};

Players::Players(PlayerOptions options) : impl_(std::make_unique<Impl>(std::move(options))) {}
Players::~Players() = default;

Status Players::Connect(Duration limit) {
  return rpc::WaitForLoop<Status>(impl_->loop, [this, limit] {
    Impl& impl = *impl_;
    impl.next = 0;
    impl.all.registered = 0;
    impl.why_broken.clear();
    kj::Vector<kj::Promise<void>> chains;
    for (uint32_t i = 0; i < kAtOnce; ++i) chains.add(impl.ConnectNext());
    return impl.loop.timer()
        .timeoutAfter(rpc::ToKj(limit), kj::joinPromises(chains.releaseAsArray()))
        .then([] { return Status::Ok(); }, [](kj::Exception&& e) { return rpc::FromException(e); });
  });
}

PlayerCounts Players::counts() const {
  return impl_->loop.Run([this] {
    PlayerCounts counts = impl_->all;
    for (const auto& player : impl_->players) counts.outputs += player->outputs();
    return counts;
  });
}

std::string Players::broken() const {
  return impl_->loop.Run([this] { return impl_->why_broken; });
}

}  // namespace mr::bench
