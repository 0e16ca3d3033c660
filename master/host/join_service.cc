// The bootstrap of workers that ask for a certificate (join.capnp). Keys and the list of tokens are files: they are
// read in the pool.
#include "master/host/join_service.h"

#include <glog/logging.h>
#include <schema/join.capnp.h>

#include <utility>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/guarded.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/node_identity.h"
#include "common/secure/names.h"
#include "master/host/shell.h"

namespace mr::master {
namespace {

constexpr auto kLook = 100 * kj::MILLISECONDS;  // how often versions are compared, which are in memory
constexpr int kLooks = 300;                     // half a minute: so long calls without news are held
// 40 bytes each in a message of at most 1 MiB. Tokens that have expired are left out, so a master with more has made
// them within a year.
constexpr size_t kMaxRevoked = 20'000;

secure::UnixTime Today() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

struct Signed {
  Status status;
  std::string certificate, authority, token_key;
};

// Blocks for disks. identity and lease: as the connection proved them.
Signed Sign(const rpc::NodeIdentity& node, const Identity& identity, const rpc::Lease& lease, const std::string& name,
            const std::string& request) {
  Signed out;
  const auto sign = [&]() -> Status {
    MR_RETURN_IF_ERROR(secure::CheckWorker(name));
    const std::string subject = secure::WorkerSubject(name);
    const bool joins = identity.proof == Proof::kJoin;
    if (!joins && identity.subject != subject) {
      return Status(Code::kNotAllowed,
                    identity.subject + " may renew its own certificate only, not that of " + subject);
    }
    // Before the token is used up: a bad request costs none.
    MR_ASSIGN_OR_RETURN(const secure::NodeCredentials made, secure::SignWorker(node.path(), name, request, Today()));
    out.certificate = made.certificate_pem;
    out.authority = made.authority_pem;
    out.token_key = made.token_key_pem;
    MR_ASSIGN_OR_RETURN(secure::TokenLog log, secure::TokenLog::Open(node.path() + "/tokens"));
    if (joins) {
      secure::Token token;
      token.kind = secure::TokenKind::kJoin;
      token.id = lease.id;
      token.subject = lease.worker;
      MR_RETURN_IF_ERROR(log.Joined(token, subject));
    }
    // Before the worker has it: the end of a rotation must not miss a certificate of the previous authority.
    return log.Signed(subject, {made.signer, made.certificate.until});
  };
  out.status = sign();
  if (!out.status.ok()) out.certificate.clear();
  return out;
}

}  // namespace

// One timer for all workers that wait.
struct JoinDesk::Impl {
  Shell& shell;
  const std::shared_ptr<const rpc::NodeIdentity> node;
  kj::ForkedPromise<void> change = kj::Promise<void>(kj::READY_NOW).fork();
  bool over = true;  // `change` is resolved, or about to be

  // Resolves when the list or what is trusted is not as it is now, or after half a minute at the latest.
  kj::Promise<void> NextChange() {
    if (over) {
      over = false;
      change = Look(node->now(), kLooks).fork();
    }
    return change.addBranch();
  }

  kj::Promise<void> Look(const std::shared_ptr<const rpc::NodeState>& seen, int looks) {
    return shell.kj().timer().afterDelay(kLook).then([this, seen, looks]() -> kj::Promise<void> {
      const auto state = node->now();
      const bool same = state->version == seen->version && state->trust == seen->trust;
      if (same && looks > 1) return Look(seen, looks - 1);
      over = true;
      return kj::READY_NOW;
    });
  }
};

namespace {

class JoinService final : public rpc::Guarded<rpc::Join> {
 public:
  JoinService(JoinDesk::Impl& desk, const rpc::PeerInfo& peer)
      : Guarded(desk.shell.GuardOf(peer)), desk_(desk), peer_(peer) {}

 protected:
  kj::Promise<void> sign(SignContext context) override {
    const auto params = context.getParams();
    const std::string name = params.getName().cStr(), request = params.getRequest().cStr();
    auto answer = rpc::MakeAnswer<Signed>(desk_.shell.kj());
    desk_.shell.pool().Post(
        [node = desk_.node, identity = peer_.identity, lease = peer_.lease, name, request,
         fulfill = std::move(answer.fulfill)] { fulfill(Sign(*node, identity, lease, name, request)); });
    return answer.promise.then([context, name, subject = peer_.identity.subject,
                                address = peer_.address](const Signed& made) mutable {
      if (made.status.ok()) {
        LOG(INFO) << "signed a certificate for worker:" << name << ", asked by " << subject << " at " << address;
      } else {
        LOG(WARNING) << "signed no certificate for " << subject << " at " << address << ": " << made.status.message();
      }
      auto out = context.getResults();
      rpc::ToOutcome(made.status, out.initOutcome());
      if (!made.status.ok()) return;
      out.setCertificate(made.certificate.c_str());
      out.setAuthority(made.authority.c_str());
      out.setTokenKey(made.token_key.c_str());
    });
  }

  kj::Promise<void> changes(ChangesContext context) override {
    // Its worker asks again on another connection when this one ends.
    context.allowCancellation();
    const auto state = desk_.node->now();
    const auto params = context.getParams();
    if (state->version != params.getSeen() || state->trust != params.getSeenTrust().cStr()) {
      Answer(context);
      return kj::READY_NOW;
    }
    // A waiting worker is not idle.
    return desk_.NextChange().then([this, context]() mutable { Answer(context); }).attach(peer_.hold.lock());
  }

 private:
  void Answer(ChangesContext context) {
    const auto state = desk_.node->now();
    std::vector<const std::string*> revoked;
    const secure::UnixTime now = Today();
    for (const std::string& id : state->list.revoked) {
      const auto it = state->list.issued.find(id);
      const bool of_use =
          it != state->list.issued.end() && it->second.kind == secure::TokenKind::kPerson && now < it->second.expires;
      if (of_use && revoked.size() < kMaxRevoked) revoked.push_back(&id);
    }
    auto out = context.getResults();
    out.setVersion(state->version);
    out.setTrust(state->trust.c_str());
    auto ids = out.initRevoked(static_cast<unsigned>(revoked.size()));
    for (unsigned i = 0; i < ids.size(); ++i) ids.set(i, revoked[i]->c_str());
    auto denied = out.initDenied(static_cast<unsigned>(state->list.denied.size()));
    unsigned at = 0;
    for (const std::string& subject : state->list.denied) denied.set(at++, subject.c_str());
  }

  JoinDesk::Impl& desk_;
  const rpc::PeerInfo peer_;
};

}  // namespace

JoinDesk::JoinDesk(Shell& shell, std::shared_ptr<const rpc::NodeIdentity> node)
    : impl_(kj::heap<Impl>(Impl{shell, std::move(node)})) {}
JoinDesk::~JoinDesk() noexcept(false) = default;

capnp::Capability::Client JoinDesk::Serve(const rpc::PeerInfo& peer) {
  return rpc::Join::Client(kj::heap<JoinService>(*impl_, peer));
}

}  // namespace mr::master
