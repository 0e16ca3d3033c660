#include "common/rpc/certified.h"

#include <unistd.h>

#include <utility>

#include "common/base/text.h"
#include "common/io/clock.h"
#include "common/secure/names.h"
#include "common/secure/token.h"

namespace mr::rpc {
namespace {

Status NotAdmitted(const std::string& why) { return {Code::kNotAllowed, why}; }

secure::UnixTime AtPresent() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

bool ForNodesOnly(Role role) { return role == Role::kWorker || role == Role::kHeartbeat; }

}  // namespace

CertifiedAuthenticator::CertifiedAuthenticator(std::shared_ptr<const NodeIdentity> node,
                                               std::shared_ptr<const secure::GrantDoor> door)
    : node_(std::move(node)), door_(std::move(door)), uid_(::geteuid()) {}

Status CertifiedAuthenticator::Listening(const std::string&, bool) { return Status::Ok(); }

Status CertifiedAuthenticator::CheckHello(const Hello& hello, const SocketFacts& peer) const {
  if (peer.uid.has_value() || (hello.flags & kHelloTls) != 0) return Status::Ok();
  return NotAdmitted("this daemon speaks TLS only");
}

bool CertifiedAuthenticator::Encrypts(const Hello&, const SocketFacts& peer) const { return !peer.uid.has_value(); }

kj::Promise<Result<Encrypted>> CertifiedAuthenticator::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& hello) {
  const bool node = (hello.flags & kHelloNode) != 0 || ForNodesOnly(hello.role);
  const auto tls = node_->now()->tls;
  return tls->Accept(kj::mv(stream), node).attach(std::shared_ptr<const Tls>(tls));
}

Result<Authenticator::Admitted> CertifiedAuthenticator::Authenticate(const Hello& hello, const Credential& credential,
                                                                     const SocketFacts& peer) {
  if (peer.uid.has_value()) {
    if (*peer.uid != uid_ && *peer.uid != 0) {
      return NotAdmitted("its unix socket lets in only its own user, " + UserName(uid_));
    }
    // A worker on this machine needs its certificate all the same: others would take its data for those of a node.
    if (ForNodesOnly(hello.role)) return NotAdmitted("a worker needs a certificate: connect to HOST:PORT");
    return Admitted{{UserName(*peer.uid), kAllPeople, Proof::kSocket}, {}, {}};
  }
  if (!peer.certificate.empty()) return Node(peer.certificate);
  const bool data = hello.role == Role::kData || hello.role == Role::kProbe;
  return door_ != nullptr && data ? AtWorker(hello, credential) : Person(hello, credential);
}

// Whoever asks whether this port works, over TLS, learns that it does, and is let in no further.
Result<Authenticator::Admitted> CertifiedAuthenticator::AtWorker(const Hello& hello,
                                                                 const Credential& credential) const {
  if (hello.role == Role::kProbe) return Admitted{{"anonymous", 0, Proof::kNone}, {}, {}};
  if (credential.kind != CredentialKind::kTicket) {
    return NotAdmitted("a worker lets in people with a ticket of its master, and takes no token");
  }
  auto ticket = door_->CheckTicket(credential.bytes.Reveal(), AtPresent());
  if (!ticket.ok()) return ticket.status();
  if (ticket->subject.empty() || node_->now()->list.revoked.contains(ticket->token_id)) {
    return NotAdmitted("the token behind the ticket was revoked");
  }
  return Admitted{{ticket->subject, ticket->roles, Proof::kToken}, {}, {ticket->token_id, ticket->until, ""}};
}

Result<Authenticator::Admitted> CertifiedAuthenticator::Node(const std::string& name) const {
  const auto state = node_->now();
  const bool master = name == secure::MasterName(state->certificate.cluster_id);
  if (!master) {
    const auto worker = secure::WorkerInSubject(name);
    if (!worker.ok()) return NotAdmitted("the certificate names neither the master nor a worker of this cluster");
    if (state->list.denied.contains(name)) return NotAdmitted("the certificate of " + name + " was revoked");
  }
  return Admitted{{master ? "master" : name, master ? kMaster : kWorker, Proof::kCertificate}, {}, {name, 0}};
}

Result<Authenticator::Admitted> CertifiedAuthenticator::Person(const Hello& hello, const Credential& credential) const {
  if (ForNodesOnly(hello.role)) return NotAdmitted("workers prove themselves by a certificate");
  const bool join = credential.kind == CredentialKind::kJoin;
  if (!join && credential.kind != CredentialKind::kToken) return NotAdmitted("it lets in holders of a token only");
  const auto state = node_->now();
  auto token = secure::VerifyToken(credential.bytes.Reveal(), state->token_keys, state->certificate.cluster_id,
                                   AtPresent(), state->list.revoked);
  if (!token.ok()) return token.status();
  if (join != (token->kind == secure::TokenKind::kJoin)) return NotAdmitted("the token is of another kind");
  if (!join && hello.role == Role::kJoin) return NotAdmitted("the token of a person gets no certificate");
  if (join && (hello.role != Role::kJoin || !node_->is_master())) {
    return NotAdmitted("a join token is for joining the cluster, at its master, and for nothing else");
  }
  return Admitted{secure::IdentityOf(*token), {}, {token->id, token->expires.seconds, token->subject}};
}

bool CertifiedAuthenticator::StillGood(const Lease& lease) const {
  if (lease.id.empty()) return true;
  if (lease.until != 0 && AtPresent().seconds >= lease.until) return false;
  const auto state = node_->now();
  return !state->list.revoked.contains(lease.id) && !state->list.denied.contains(lease.id);
}

}  // namespace mr::rpc
