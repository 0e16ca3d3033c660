#include "master/host/shell.h"

#include <glog/logging.h>

#include <algorithm>

#include "common/rpc/connection.h"
#include "common/rpc/control_wire.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/wait_for_loop.h"
#include "schema/data.capnp.h"

namespace mr::master {
namespace {

// A data server that does not answer a probe for so long is as good as gone for its readers.
constexpr auto kProbeTimeout = 2 * kj::SECONDS;
// A verification reads 256 MiB a second (worker/shuffle/verify.h): long enough for the largest outputs, and those that
// wait before them (guess).
constexpr auto kVerifyTimeout = 5 * kj::MINUTES;
constexpr size_t kMaxWhy = 512;

// A replica's worker, asked whether the replica is there.
struct Probed {
  Looked looked;
  kj::Own<rpc::RpcConnection> connection;  // null: it could not be reached
};

}  // namespace

Shell::Shell(Options options, rpc::KjThread& kj, Loop& loop, Pool& pool, Pool& background, Pool& low_priority)
    : options_(std::move(options)),
      kj_(kj),
      loop_(loop),
      pool_(pool),
      background_(background),
      low_priority_(low_priority) {
  own_.role = rpc::Role::kMaster;
  own_.cluster_id = options_.cluster_id;
}

Shell::~Shell() noexcept = default;

Result<uint16_t> Shell::Listen(const std::string& address, uint16_t port) {
  MR_ASSIGN_OR_RETURN(authenticator_, rpc::MakeAuthenticator(options_.entry));
  return rpc::WaitForLoop<Result<uint16_t>>(kj_, [this, address, port] {
    const auto admit = [this](const rpc::Hello& hello, const rpc::PeerInfo& peer) { return Admit(hello, peer); };
    const auto other = [](const std::string& peer, const Status& why) {
      // A daemon of another release tries for ever: once a second is often enough.
      LOG_EVERY_T(WARNING, 1) << peer << " was turned away: " << why.message();
    };
    auto limits = rpc::ServerLimits::ForDescriptors(options_.descriptors);
    limits.idle = options_.idle_timeout;
    limits.send_grace = options_.send_timeout;
    if (options_.entry.node != nullptr) join_ = kj::heap<JoinDesk>(*this, options_.entry.node);
    server_ = kj::heap<rpc::RpcServer>(kj_.io(), own_, admit, authenticator_, limits, other,
                                       [](const std::string& line) { LOG(WARNING) << line; });
    return server_->Listen(address, port).then([this, address](Result<uint16_t> bound) -> Result<uint16_t> {
      if (!bound.ok()) return bound;
      if (!options_.entry.unix_socket.empty()) {
        auto socket = rpc::UnixSocket::Bind(options_.entry.unix_socket);
        if (!socket.ok()) return socket.status().With("--unix_socket");
        MR_RETURN_IF_ERROR(server_->ListenOn(*std::move(socket)));
      }
      address_ = options_.advertise + ":" + std::to_string(*bound);
      self_check_ = kj::heap<rpc::SelfCheck>(kj_.io(), address, *bound);
      return bound;
    });
  });
}

void Shell::Close() {
  kj_.Run([this] {
    self_check_ = nullptr;
    server_ = nullptr;
    join_ = nullptr;
    sessions_.clear();
    watchers_.clear();
  });
}

Result<capnp::Capability::Client> Shell::Admit(const rpc::Hello& hello, const rpc::PeerInfo& peer) {
  switch (hello.role) {
    case rpc::Role::kClient: return capnp::Capability::Client(MakeClientService(*this, peer));
    case rpc::Role::kWorker: return capnp::Capability::Client(MakeWorkerService(*this, peer));
    case rpc::Role::kHeartbeat: return capnp::Capability::Client(MakeHeartbeatService(*this, peer, hello.incarnation));
    case rpc::Role::kData:
    case rpc::Role::kMaster:
    case rpc::Role::kDataServer:
    case rpc::Role::kProbe: break;
    case rpc::Role::kJoin:
      if (join_.get() == nullptr) return InvalidArgument("this master has no certificates, and needs none");
      return join_->Serve(peer);
  }
  LOG(WARNING) << peer.address << " asked a master for what only workers serve";
  return InvalidArgument("a master does not serve data");
}

void Shell::ApplyThen(uint64_t session, Message batch, std::function<void()> taken) {
  kj_.Post([this, session, batch = std::move(batch), taken = std::move(taken)]() mutable {
    const auto it = sessions_.find(session);
    if (it == sessions_.end()) return;
    const auto root = batch->getRoot<rpc::CommandBatch>().asReader();
    auto size = root.totalSize();
    size.wordCount += 8;  // the parameters' own
    auto request = it->second.applyRequest(size);
    request.setBatch(root);
    // A failed apply ends the session, even where its connection lives: the worker would wait for the
    // number of this batch for ever. The answer to its next beat makes it register again. That settles
    // the commands of the batch, or else the loss of the worker does.
    auto sent = request.send().ignoreResult();
    if (taken) sent = sent.then([this, taken = std::move(taken)]() mutable { loop_.Post(std::move(taken)); });
    kj_.Spawn(sent.catch_([this, session](kj::Exception&& e) {
      LOG(INFO) << "commands did not reach session " << session << ": " << e.getDescription().cStr();
      sessions_.erase(session);
      loop_.Post([this, session] { worker_parts_->sessions.SessionEnded(session); });
    }));
  });
}

void Shell::CloseSession(uint64_t session) {
  kj_.Post([this, session] { sessions_.erase(session); });
}

void Shell::PushStatus(uint64_t watcher, Message status) {
  kj_.Post([this, watcher, status = std::move(status)] {
    const auto it = watchers_.find(watcher);
    if (it == watchers_.end()) return;
    auto request = it->second.changedRequest();
    request.setStatus(status->getRoot<rpc::JobStatus>().asReader());
    kj_.Spawn(request.send().ignoreResult().then(
        [this, watcher] { loop_.Post([this, watcher] { client_parts_->watchers.Pushed(watcher); }); },
        [this, watcher](kj::Exception&&) { watchers_.erase(watcher); }));
  });
}

kj::Promise<Changed> Shell::Mutate(PrepareFn prepare, std::function<void(const dfs::Namespace&)> then) {
  auto answer = rpc::MakeAnswer<Changed>(kj_);
  loop_.Post([this, prepare = std::move(prepare), then = std::move(then), fulfill = std::move(answer.fulfill)] {
    client_parts_->block_store.FsMutate(prepare, then, fulfill);
  });
  return kj::mv(answer.promise);
}

kj::Promise<std::vector<Changed>> Shell::MutateAll(std::vector<Change> changes) {
  // Filled on the master's thread, in any order.
  struct Answers {
    std::vector<Changed> done;
    size_t missing = 0;
    std::function<void(std::vector<Changed>)> fulfill;
  };
  if (changes.empty()) return std::vector<Changed>();
  auto answer = rpc::MakeAnswer<std::vector<Changed>>(kj_);
  auto all = std::make_shared<Answers>();
  all->done.resize(changes.size());
  all->missing = changes.size();
  all->fulfill = std::move(answer.fulfill);
  loop_.Post([this, changes = std::move(changes), all = std::move(all)] {
    for (size_t i = 0; i < changes.size(); ++i) {
      client_parts_->block_store.FsMutate(changes[i].prepare, changes[i].then, [all, i](Changed changed) {
        all->done[i] = std::move(changed);
        if (--all->missing == 0) all->fulfill(std::move(all->done));
      });
    }
  });
  return kj::mv(answer.promise);
}

kj::Promise<void> Shell::Query(std::function<void(const dfs::Namespace&)> fn) {
  return Ask([&block_store = client_parts_->block_store, fn = std::move(fn)] {
           fn(block_store.files());
           return true;
         })
      .ignoreResult();
}

namespace {

Looked FromFinding(rpc::Finding finding, capnp::Text::Reader why) {
  const std::string text(why.begin(), std::min(why.size(), kMaxWhy));
  switch (finding) {
    case rpc::Finding::WHOLE: return {Looked::At::kWhole, ""};
    case rpc::Finding::DAMAGED: return {Looked::At::kDamaged, text};
    case rpc::Finding::OTHER_CONTENT: return {Looked::At::kOtherContent, text};
    case rpc::Finding::GONE: return {Looked::At::kGone, text};
    case rpc::Finding::UNKNOWN: break;
  }
  return {Looked::At::kUnknown, text};
}

}  // namespace

// First whether it is there, which is answered at once, then what it has in it. One that breaks off in the verification
// is not condemned for it: what becomes of its worker, the leases say.
void Shell::Probe(const Look& look, std::function<void(Looked)> done) {
  kj_.Post([this, look, done = std::move(done)] {
    rpc::Hello hello = own_;
    hello.role = rpc::Role::kData;
    const auto finish = [this, done](const Looked& looked) { loop_.Post([done, looked] { done(looked); }); };
    auto there = rpc::RpcConnection::Connect(kj_.io(), look.address, hello, Seconds(2))
                     .then([look](Result<kj::Own<rpc::RpcConnection>> connection) -> kj::Promise<Probed> {
                       if (!connection.ok()) {
                         return Probed{{Looked::At::kUnreachable, connection.status().message()}, {}};
                       }
                       kj::Own<rpc::RpcConnection> owned = *std::move(connection);
                       auto request = owned->Bootstrap<rpc::DataServer>().probeRequest();
                       rpc::ToWire(look.replica, request.initReplica());
                       return request.send().then([owned = kj::mv(owned)](auto response) mutable {
                         const bool present = response.getPresent();
                         return Probed{{present ? Looked::At::kUnknown : Looked::At::kGone, ""}, kj::mv(owned)};
                       });
                     });
    kj_.Spawn(kj_.timer()
                  .timeoutAfter(kProbeTimeout, kj::mv(there))
                  .then([](Probed probed) { return probed; },
                        [](kj::Exception&& e) {
                          return Probed{{Looked::At::kUnreachable, rpc::FromException(e).message()}, {}};
                        })
                  .then([this, look](Probed probed) -> kj::Promise<Looked> {
                    const bool there = probed.connection.get() != nullptr && probed.looked.at == Looked::At::kUnknown;
                    if (!there || !look.verify) {
                      return probed.looked;
                    }
                    // Asked of the connection once more: a client of it must not outlive it.
                    auto request = probed.connection->Bootstrap<rpc::DataServer>().verifyRequest();
                    rpc::ToWire(look.replica, request.initReplica());
                    rpc::ToWire(look.content, request.initContent());
                    request.setPartitions(look.partitions);
                    auto verified = request.send().then(
                        [](auto response) { return FromFinding(response.getFinding(), response.getWhy()); });
                    return kj_.timer()
                        .timeoutAfter(kVerifyTimeout, kj::mv(verified))
                        .catch_([](kj::Exception&& e) {
                          return Looked{Looked::At::kUnknown, rpc::FromException(e).message()};
                        })
                        .attach(kj::mv(probed.connection));
                  })
                  .then([finish](const Looked& looked) { finish(looked); }));
  });
}

}  // namespace mr::master
