#include "worker/daemon/join.h"

#include <glog/logging.h>
#include <schema/join.capnp.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/exec/pool.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/answer.h"
#include "common/rpc/connection.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/tls_credentials.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/access_file.h"
#include "common/secure/authority.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"

namespace mr::worker {
namespace {

constexpr Duration kJoinTimeout = Seconds(15);    // for the connection, and for the answer: as a registration's calls
constexpr Duration kFirstRetry = Seconds(1);      // after a failure; twice as long after each further one,
constexpr Duration kLongestRetry = Seconds(30);   // up to this
constexpr Duration kRenewalRetry = Seconds(600);  // after a refused renewal: ten days are left for a cause to end
// After one that a rotation of the authority asks for, since an operator waits for it: with the next answer (guess).
constexpr Duration kRotationRetry = Seconds(5);

secure::UnixTime ThisSecond() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

// The answer of a master, as values.
struct Signed {
  Status status;
  std::string certificate, authority, token_key;
};

kj::Promise<Signed> AskToSign(rpc::Join::Client master, const std::string& name, const std::string& request) {
  auto call = master.signRequest();
  call.setName(name.c_str());
  call.setRequest(request.c_str());
  return call.send().then([](auto&& answer) {
    Signed out;
    out.status = rpc::FromOutcome(answer.getOutcome());
    out.certificate = answer.getCertificate().cStr();
    out.authority = answer.getAuthority().cStr();
    out.token_key = answer.getTokenKey().cStr();
    return out;
  });
}

rpc::Hello JoinHello(uint64_t cluster_id) { return {.role = rpc::Role::kJoin, .cluster_id = cluster_id}; }

// Connects, asks once, and is gone. On the loop.
kj::Promise<Result<Signed>> SignOnce(rpc::KjThread& loop, const std::string& master, uint64_t cluster_id,
                                     std::shared_ptr<const rpc::Credentials> credentials, const std::string& name,
                                     const std::string& request) {
  return rpc::RpcConnection::Connect(loop.io(), master, JoinHello(cluster_id), kJoinTimeout, std::move(credentials))
      .then([&loop, name, request](Result<kj::Own<rpc::RpcConnection>> connected) -> kj::Promise<Result<Signed>> {
        if (!connected.ok()) return Result<Signed>(connected.status());
        auto connection = *std::move(connected);
        auto asked = AskToSign(connection->Bootstrap<rpc::Join>(), name, request);
        return loop.timer()
            .timeoutAfter(kJoinTimeout.ns * kj::NANOSECONDS, kj::mv(asked))
            .then([](Signed made) { return Result<Signed>(std::move(made)); },
                  [](kj::Exception&& e) { return Result<Signed>(rpc::FromException(e)); })
            .attach(kj::mv(connection));
      });
}

// Checks what a master has signed and keeps it. Blocks for disks.
Status Keep(const std::string& path, const std::string& name, const secure::PrivateKey& key, const Signed& made) {
  MR_ASSIGN_OR_RETURN(const secure::Authority authority, secure::ReadAuthority(made.authority));
  MR_ASSIGN_OR_RETURN(const secure::Certificate certificate,
                      secure::CheckNodeCertificate(made.certificate, authority.current, ThisSecond()));
  if (certificate.common_name != secure::WorkerSubject(name)) {
    return Internal("the master signed a certificate for " + certificate.common_name + ", not for " + name);
  }
  MR_RETURN_IF_ERROR(secure::CheckKeyFits(made.certificate, key));
  secure::NodeCredentials own;
  own.certificate_pem = made.certificate;
  own.key_pem = key.ToPem();
  own.authority_pem = made.authority;
  own.token_key_pem = made.token_key;
  return secure::KeepWorker(path, own);
}

}  // namespace

Result<std::string> Join(const std::string& credentials, const std::string& name, const Secret<std::string>& text,
                         const std::string& source) {
  MR_ASSIGN_OR_RETURN(const secure::AccessFile join, secure::ParseAccess(text, secure::TokenKind::kJoin, source));
  if (ThisSecond() >= join.unchecked.expires) {
    return Status(Code::kNotAllowed, source + " has expired (" + secure::Text(join.unchecked.expires) +
                                         "): make another with mrctl token create --join FILE at the master");
  }
  MR_ASSIGN_OR_RETURN(const secure::PrivateKey key, secure::PrivateKey::Make(secure::KeyKind::kNode));
  MR_ASSIGN_OR_RETURN(const std::string request, secure::MakeRequest(key));
  MR_ASSIGN_OR_RETURN(const auto presented, rpc::JoinCredentials::Make(join));
  rpc::KjThread loop("join");
  auto made = rpc::WaitForLoop<Result<Signed>>(loop, [&loop, &join, &presented, &name, &request] {
    return SignOnce(loop, join.master, join.cluster_id, presented, name, request);
  });
  if (!made.ok()) return made.status().With("cannot join the cluster of " + join.master);
  if (!made->status.ok()) return made->status.With("the master " + join.master + " refuses this worker");
  // The master has proved itself by the authority of the file, so what it answers is trusted: while the authority is
  // rotated, that has one more.
  MR_RETURN_IF_ERROR(Keep(credentials, name, key, *made).With("cannot keep the certificate of this worker"));
  return join.master;
}

namespace {

constexpr char kMasterFile[] = "/master";  // address; beside the certificate

Result<Secret<std::string>> ReadJoinText(const std::string& join) {
  if (join != "-") return secure::ReadPrivateFile(join);
  std::string text(secure::kMaxPrivateBytes, '\0');  // never grows, so that no copy is left behind
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(0, text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read the join file from standard input");
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return Secret<std::string>(std::move(text));
}

// Returns whether the worker has a certificate that is good now.
bool HasGood(const std::string& path) { return secure::LoadWorker(path, ThisSecond()).ok(); }

// Returns whether a join file that can still be used is of an authority that the credentials do not trust: then the
// authority was rotated while the worker was away, and its certificate is of no use although it has not expired.
bool IsOfAnotherAuthority(const std::string& path, const Secret<std::string>& text) {
  const auto join = secure::ParseAccess(text, secure::TokenKind::kJoin, "");
  const auto trusted = ReadFile(path + "/ca.pem");
  if (!join.ok() || !trusted.ok() || ThisSecond() >= join->unchecked.expires) return false;
  const auto authority = secure::ReadAuthority(*trusted);
  const auto of_join = secure::ReadAuthority(join->authority);
  if (!authority.ok() || !of_join.ok()) return false;
  return of_join->current != authority->current && of_join->current != authority->previous;
}

}  // namespace

Result<Certified> Certify(const std::string& data, const std::string& name, const std::string& join,
                          const std::string& master) {
  const std::string path = secure::CredentialsPath(data);
  Certified out{nullptr, master};
  if (!join.empty()) {
    const bool has_good = HasGood(path);
    // With a certificate, standard input is not read: it may never end.
    const auto text = has_good && join == "-" ? Result<Secret<std::string>>(NotFound("")) : ReadJoinText(join);
    if (has_good && !(text.ok() && IsOfAnotherAuthority(path, *text))) {
      LOG(INFO) << "this worker has a certificate: --join is not used";
    } else {
      if (!text.ok()) return text.status();
      const auto joined = Join(path, name, *text, join == "-" ? "standard input" : join);
      if (joined.ok()) {
        MR_RETURN_IF_ERROR(WriteFileDurably(path + kMasterFile, *joined + "\n"));
        LOG(INFO) << "joined the cluster of " << *joined << " as " << secure::WorkerSubject(name);
      } else if (has_good) {
        LOG(WARNING) << joined.status().message() << "; this worker goes on with the certificate that it has";
      } else {
        return joined.status();
      }
    }
  }
  if (PathExists(path)) {
    auto node = rpc::NodeIdentity::Load(path, [](const std::string& line) { LOG(WARNING) << line; });
    if (!node.ok()) {
      return node.status().With("cannot use the credentials in " + path + " (if they are lost or have expired: mrctl " +
                                "token create --join FILE --worker " + name +
                                " at the master, then mrworker --join FILE)");
    }
    if ((*node)->is_master()) return Rejected(path + " has the credentials of a master, not of a worker");
    out.node = *std::move(node);
    if (out.master.empty()) {
      MR_ASSIGN_OR_RETURN(out.master, ReadFile(path + kMasterFile));
      while (!out.master.empty() && out.master.back() == '\n') out.master.pop_back();
    }
  }
  if (out.master.empty()) return InvalidArgument("--master is missing");
  return out;
}

void KeepMaster(const std::string& data, const std::string& master) {
  const std::string path = secure::CredentialsPath(data);
  if (!PathExists(path)) return;
  const auto kept = ReadFile(path + kMasterFile);
  if (kept.ok() && *kept == master + "\n") return;
  const Status written = WriteFileDurably(path + kMasterFile, master + "\n");
  LOG_IF(INFO, written.ok()) << "later starts use the master at " << master << " without --master, too";
  LOG_IF(WARNING, !written.ok()) << "later starts need --master " << master << ": " << written.message();
}

struct CertificateSession::Impl {
  rpc::KjThread& loop;
  const std::string master;
  const std::shared_ptr<rpc::NodeIdentity> node;
  kj::Own<rpc::RpcConnection> connection;
  Duration pause = kFirstRetry;
  bool renewing = false;
  std::string trust;  // of the master, by its last answer; "": none yet
  Instant next_renewal{0};
  std::string tried_trust;  // with which a renewal was tried last
  Pool disk{1};
  kj::Promise<void> watching = nullptr, renewal = nullptr;

  Impl(rpc::KjThread& l, std::string m, std::shared_ptr<rpc::NodeIdentity> n)
      : loop(l), master(std::move(m)), node(std::move(n)) {
    watching = Watch().eagerlyEvaluate([](kj::Exception&& e) {
      LOG(ERROR) << "the list of revoked tokens is no longer read: " << e.getDescription().cStr();
    });
    renewal = kj::Promise<void>(kj::READY_NOW);
  }

  kj::Promise<void> Watch() {
    return rpc::RpcConnection::Connect(loop.io(), master, JoinHello(node->cluster_id()), kJoinTimeout)
        .then([this](Result<kj::Own<rpc::RpcConnection>> connected) -> kj::Promise<void> {
          if (!connected.ok()) return Fail(connected.status());
          connection = *std::move(connected);
          pause = kFirstRetry;
          return Follow(connection->Bootstrap<rpc::Join>());
        })
        .then([this] { return Watch(); });
  }

  kj::Promise<void> Fail(const Status& why) {
    LOG_EVERY_T(WARNING, 60) << "no list of revoked tokens from " << master << ": " << why.message();
    connection = nullptr;
    const Duration now = pause;
    pause = std::min(pause * 2, kLongestRetry);
    return loop.timer().afterDelay(now.ns * kj::NANOSECONDS);
  }

  // Returns when the connection has failed.
  kj::Promise<void> Follow(rpc::Join::Client client) {
    RenewIfDue(client);
    auto call = client.changesRequest();
    call.setSeen(node->now()->version);
    call.setSeenTrust(trust.c_str());
    return call.send().then(
        [this, client](auto&& answer) mutable {
          secure::TokenList list;
          for (const auto id : answer.getRevoked()) list.revoked.emplace(id.cStr());
          for (const auto subject : answer.getDenied()) list.denied.emplace(subject.cStr());
          node->SetList(std::move(list), answer.getVersion());
          trust = answer.getTrust().cStr();
          return Follow(client);
        },
        [this](kj::Exception&& e) { return Fail(rpc::FromException(e)); });
  }

  // Called at least twice per minute.
  void RenewIfDue(rpc::Join::Client client) {
    const auto state = node->now();
    const bool rotated = state->previous || (!trust.empty() && trust != state->trust);
    const bool due = rotated ? trust != tried_trust || Now() >= next_renewal
                             : state->certificate.RenewalDue(ThisSecond()) && Now() >= next_renewal;
    if (renewing || !due) return;
    renewing = true;
    next_renewal = Now() + (rotated ? kRotationRetry : kRenewalRetry);
    renewal = RenewToTrust(kj::mv(client))
                  .then([](const Status& status) {
                    LOG_IF(ERROR, !status.ok()) << "the certificate was not renewed: " << status.message();
                    LOG_IF(INFO, status.ok()) << "the certificate was renewed";
                  })
                  .catch_([](kj::Exception&& e) {
                    LOG(ERROR) << "the certificate was not renewed: " << e.getDescription().cStr();
                  })
                  .attach(kj::defer([this] { renewing = false; }))
                  .eagerlyEvaluate(nullptr);
  }

  // Renews once more where the master's authority has changed meanwhile: its next answer may be half a minute away.
  kj::Promise<Status> RenewToTrust(rpc::Join::Client client) {
    tried_trust = trust;
    return Renew(client).then([this, client](Status status) mutable -> kj::Promise<Status> {
      if (!status.ok() || trust == tried_trust || trust == node->now()->trust) return status;
      return RenewToTrust(kj::mv(client));
    });
  }

  // Keeps the key: a crash between two files leaves none that do not fit.
  kj::Promise<Status> Renew(rpc::Join::Client client) {
    auto loaded = rpc::MakeAnswer<Status>(loop);
    auto key = std::make_shared<std::optional<secure::PrivateKey>>();
    disk.Post([key, path = node->path(), fulfill = std::move(loaded.fulfill)] {
      const auto pem = secure::ReadPrivateFile(path + "/worker.key");
      if (!pem.ok()) return fulfill(pem.status());
      auto read = secure::PrivateKey::FromPem(*pem, secure::KeyKind::kNode);
      if (read.ok()) *key = *std::move(read);
      fulfill(read.ok() ? Status::Ok() : read.status());
    });
    const std::string subject = node->now()->certificate.common_name;
    return loaded.promise.then(
        [this, key, subject, client = kj::mv(client)](Status status) mutable -> kj::Promise<Status> {
          if (!status.ok()) return status;
          const auto name = secure::WorkerInSubject(subject);
          const auto request = secure::MakeRequest(**key);
          if (!name.ok() || !request.ok()) return name.ok() ? request.status() : name.status();
          return AskToSign(kj::mv(client), *name, *request)
              .then([this, key, name = *name](Signed made) -> kj::Promise<Status> {
                if (!made.status.ok()) return made.status;
                auto kept = rpc::MakeAnswer<Status>(loop);
                disk.Post([key, name, made = std::move(made), node = node, fulfill = std::move(kept.fulfill)] {
                  Status status = Keep(node->path(), name, **key, made);
                  // At once, so that the next look at the master's answer finds it.
                  if (status.ok()) status = node->Refresh();
                  fulfill(std::move(status));
                });
                return kj::mv(kept.promise);
              });
        });
  }
};

CertificateSession::CertificateSession(rpc::KjThread& loop, std::string master, std::shared_ptr<rpc::NodeIdentity> node)
    : impl_(kj::heap<Impl>(loop, std::move(master), std::move(node))) {}
CertificateSession::~CertificateSession() noexcept(false) = default;

}  // namespace mr::worker
