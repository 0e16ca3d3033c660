#include "worker/daemon/heartbeat.h"

#include <algorithm>

#include "common/rpc/connection.h"
#include "common/rpc/kj_thread.h"
#include "schema/control.capnp.h"
#include "worker/daemon/wire.h"

namespace mr::worker {
namespace {
// A beat without an answer for so long means a connection that is dead without knowing it.
constexpr Duration kAnswerTimeout = Seconds(5);
}  // namespace

struct Heartbeat::Impl : kj::TaskSet::ErrorHandler {
  const std::string master;
  const std::function<void()> unknown;

  // Below: on the loop.
  WorkerRef self;
  uint64_t cluster_id = 0;
  Duration period = Millis(500);
  uint64_t sequence = 0;
  bool running = false;
  kj::Own<rpc::RpcConnection> connection;
  kj::Maybe<rpc::Heartbeats::Client> master_side;
  std::unique_ptr<kj::TaskSet> tasks;

  rpc::KjThread loop{"heartbeat"};  // last

  Impl(std::string m, std::function<void()> u) : master(std::move(m)), unknown(std::move(u)) {}

  void taskFailed(kj::Exception&&) override {}

  void After(Duration delay) {
    tasks->add(loop.timer().afterDelay(delay.ns * kj::NANOSECONDS).then([this] { Beat(); }));
  }

  void Beat() {
    KJ_IF_MAYBE(heartbeats, master_side) {
      Beat(*heartbeats);
    } else {
      Connect();
    }
  }

  void Beat(rpc::Heartbeats::Client heartbeats) {
    auto request = heartbeats.beatRequest();
    ToWire(self, request.initWorker());
    request.setSequence(++sequence);
    tasks->add(loop.timer()
                   .timeoutAfter(kAnswerTimeout.ns * kj::NANOSECONDS, request.send())
                   .then(
                       [this, id = self](capnp::Response<rpc::Heartbeats::BeatResults> response) {
                         if (!response.getKnown() && id.id == self.id) unknown();
                         After(period);
                       },
                       [this](kj::Exception&&) {
                         master_side = nullptr;
                         connection = nullptr;
                         After(std::min(period, Seconds(1)));
                       }));
  }

  void Connect() {
    rpc::Hello hello;
    hello.role = rpc::Role::kHeartbeat;
    hello.cluster_id = cluster_id;
    hello.incarnation = self.incarnation;
    tasks->add(rpc::RpcConnection::Connect(loop.io(), master, hello)
                   .then([this](Result<kj::Own<rpc::RpcConnection>> result) {
                     if (!result.ok()) return After(std::min(period, Seconds(1)));
                     connection = kj::mv(*result);
                     // Once: asking a connection that has ended for it is an exception.
                     master_side = connection->Bootstrap<rpc::Heartbeats>();
                     Beat();
                   }));
  }
};

Heartbeat::Heartbeat(std::string master, std::function<void()> unknown)
    : impl_(std::make_unique<Impl>(std::move(master), std::move(unknown))) {}

Heartbeat::~Heartbeat() {
  impl_->loop.Run([this] {
    impl_->tasks.reset();
    impl_->master_side = nullptr;
    impl_->connection = nullptr;
  });
}

void Heartbeat::Set(const WorkerRef& self, uint64_t cluster_id, Duration period) {
  impl_->loop.Post([this, self, cluster_id, period] {
    impl_->self = self;
    impl_->cluster_id = cluster_id;
    impl_->period = period;
    if (impl_->tasks == nullptr) impl_->tasks = std::make_unique<kj::TaskSet>(*impl_);
    if (!impl_->running) {
      impl_->running = true;
      impl_->Beat();
    }
  });
}

}  // namespace mr::worker
