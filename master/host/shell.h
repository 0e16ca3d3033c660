// The master's sockets: services for workers and clients on the KJ loop. Translates messages and nothing more: each
// question becomes a closure on the master's thread, each answer one on the loop.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/exec/pool.h"
#include "common/rpc/answer.h"
#include "common/rpc/guarded.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/self_check.h"
#include "common/rpc/server.h"
#include "master/host/join_service.h"
#include "master/host/outlets.h"
#include "master/host/service_parts.h"

namespace mr::master {

class Shell final : public Outlets, public dfs::FsHost {
 public:
  struct Options {
    std::string directory;  // DIR/lib has the operator libraries
    uint64_t cluster_id = 0;
    std::string version;
    std::string advertise;                   // host under which others reach this master
    std::shared_ptr<ProfileStore> profiles;  // null: none are kept
    uint64_t descriptors = 1024;             // open files that this process may have
    Duration idle_timeout = Seconds(3600);   // of a client's connection (rpc::ServerLimits)
    Duration send_timeout = Seconds(30);     // of peers that do not read (rpc::ServerLimits)
    rpc::EntryOptions entry;                 // who may connect
    std::shared_ptr<rpc::CallLog> audit;     // of calls that change something; null: none
    std::shared_ptr<Granter> granter;        // null: nothing needs a grant
  };
  Shell(Options options, rpc::KjThread& kj, Loop& loop, Pool& pool, Pool& background, Pool& low_priority);
  // The loop's objects are gone by then: see Close().
  ~Shell() noexcept override;

  // The parts that requests are for. Called once, before Listen; they must outlive Close().
  void SetParts(const WorkerParts& worker, const ClientParts& client) {
    worker_parts_.emplace(worker);
    client_parts_.emplace(client);
  }
  // Returns the port in use. Waits; not from the loop. Errors: those of MakeAuthenticator and RpcServer::Listen.
  Result<uint16_t> Listen(const std::string& address, uint16_t port);
  // Ends all connections. Waits; not from the loop.
  void Close();

  // Outlets. On the master's thread.
  void Apply(uint64_t session, Message batch) override { ApplyThen(session, std::move(batch), nullptr); }
  void ApplyThen(uint64_t session, Message batch, std::function<void()> taken) override;
  void CloseSession(uint64_t session) override;
  void PushStatus(uint64_t watcher, Message status) override;
  void Probe(const Look& look, std::function<void(Looked)> done) override;
  void InPool(std::function<void()> work) override { pool_.Post(std::move(work)); }
  void InBackground(std::function<void()> work) override { background_.Post(std::move(work)); }
  void AtLowPriority(std::function<void()> work) override { low_priority_.Post(std::move(work)); }

  // dfs::FsHost. On the KJ loop.
  kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const dfs::Namespace&)> then) override;
  kj::Promise<std::vector<Changed>> MutateAll(std::vector<Change> changes) override;
  kj::Promise<void> Query(std::function<void(const dfs::Namespace&)> fn) override;
  void Grant(secure::Right::Kind kind, LocatedBlock* block) override {
    if (options_.granter != nullptr) options_.granter->Fill(kind, block);
  }

  const dfs::AssignedAttempts* attempts() override { return &client_parts_->block_store.attempts(); }

  // For the services; on the KJ loop.
  rpc::KjThread& kj() { return kj_; }
  Pool& pool() { return pool_; }
  const WorkerParts& worker_parts() const { return *worker_parts_; }
  const ClientParts& client_parts() const { return *client_parts_; }
  const Options& options() const { return options_; }
  rpc::ServerCounts server_counts() const { return server_->counts(); }
  const rpc::CallTimes& call_times() const { return *call_times_; }
  // Empty: connections to the RPC port are answered. Otherwise why they are not.
  std::string WhyNotReady() const { return self_check_.get() == nullptr ? "starting" : self_check_->WhyNot(); }
  const std::string& address() const { return address_; }  // host:port as others reach it
  uint64_t NextId() { return next_id_++; }
  // Returns who is at the other end of a connection, for all objects that it reaches.
  rpc::GuardPtr GuardOf(const rpc::PeerInfo& peer) const {
    // Where people have no tokens, all of them are one.
    const bool person = peer.identity.proof == Proof::kToken;
    return std::make_shared<const rpc::Guard>(
        rpc::Guard{peer.identity, peer.address, options_.audit, nullptr, person ? pacer_ : nullptr, call_times_});
  }
  // Decides who may connect to the RPC port. Requires: Listen.
  const std::shared_ptr<rpc::Authenticator>& authenticator() const { return authenticator_; }
  // Makes a link to the pages that lets in the peer once: a URL. The HTTP port sets it; null: there is none.
  using PageLinks = std::function<Result<Secret<std::string>>(const rpc::PeerInfo& peer)>;
  void SetPageLinks(PageLinks links) { page_links_ = std::move(links); }
  Result<Secret<std::string>> PageLink(const rpc::PeerInfo& peer) const {
    if (!page_links_) return Unavailable("the master is starting");
    return page_links_(peer);
  }
  void PostToMaster(std::function<void()> fn) { loop_.Post(std::move(fn)); }
  std::map<uint64_t, rpc::Worker::Client>& sessions() { return sessions_; }
  std::map<uint64_t, rpc::JobWatcher::Client>& watchers() { return watchers_; }
  // The subjects that registered as these workers with this master: nobody else beats for them.
  std::map<WorkerId, std::string>& subjects() { return subjects_; }
  // Runs `ask` on the master's thread; the promise carries what it returned.
  template <class F>
  auto Ask(F ask) -> kj::Promise<decltype(ask())> {
    auto answer = rpc::MakeAnswer<decltype(ask())>(kj_);
    loop_.Post([ask = std::move(ask), fulfill = std::move(answer.fulfill)]() mutable { fulfill(ask()); });
    return kj::mv(answer.promise);
  }

 private:
  Result<capnp::Capability::Client> Admit(const rpc::Hello& hello, const rpc::PeerInfo& peer);

  Options options_;
  rpc::KjThread& kj_;
  Loop& loop_;
  Pool &pool_, &background_, &low_priority_;
  std::optional<WorkerParts> worker_parts_;
  std::optional<ClientParts> client_parts_;
  rpc::Hello own_;
  std::shared_ptr<rpc::Authenticator> authenticator_;

  // The fields below belong to the KJ loop.
  const std::shared_ptr<rpc::CallPacer> pacer_ = std::make_shared<rpc::CallPacer>(kj_.timer());
  const std::shared_ptr<rpc::CallTimes> call_times_ = std::make_shared<rpc::CallTimes>();
  kj::Own<rpc::RpcServer> server_;
  kj::Own<rpc::SelfCheck> self_check_;
  kj::Own<JoinDesk> join_;  // null without certificates
  std::map<uint64_t, rpc::Worker::Client> sessions_;
  std::map<uint64_t, rpc::JobWatcher::Client> watchers_;
  std::map<WorkerId, std::string> subjects_;
  std::string address_;
  PageLinks page_links_;
  uint64_t next_id_ = 1;
};

// The bootstrap capabilities. On the KJ loop.
rpc::MasterForWorker::Client MakeWorkerService(Shell& shell, const rpc::PeerInfo& peer);
rpc::Heartbeats::Client MakeHeartbeatService(Shell& shell, const rpc::PeerInfo& peer, Incarnation incarnation);
rpc::MasterForClient::Client MakeClientService(Shell& shell, const rpc::PeerInfo& peer);
// Some of its calls: journal_status.cc, attempt_logs.cc, put_library.cc, worker_reach.cc.
using JournalContext = capnp::CallContext<rpc::MasterForClient::JournalParams, rpc::MasterForClient::JournalResults>;
kj::Promise<void> AnswerJournal(Shell& shell, JournalContext context);
using AcceptLossContext =
    capnp::CallContext<rpc::MasterForClient::AcceptLossParams, rpc::MasterForClient::AcceptLossResults>;
kj::Promise<void> AnswerAcceptLoss(Shell& shell, AcceptLossContext context, std::shared_ptr<rpc::CallNote> note);
using LogsContext = capnp::CallContext<rpc::MasterForClient::LogsParams, rpc::MasterForClient::LogsResults>;
kj::Promise<void> AnswerLogs(Shell& shell, const Caller& caller, LogsContext context);
using ReachContext = capnp::CallContext<rpc::MasterForClient::ReachParams, rpc::MasterForClient::ReachResults>;
kj::Promise<void> AnswerReach(Shell& shell, ReachContext context);
using PutLibraryContext =
    capnp::CallContext<rpc::MasterForClient::PutLibraryParams, rpc::MasterForClient::PutLibraryResults>;
// connection: its number, which keeps uploads of one library apart.
kj::Promise<void> AnswerPutLibrary(Shell& shell, const Identity& caller, uint64_t connection,
                                   PutLibraryContext context);

}  // namespace mr::master
