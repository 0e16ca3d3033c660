#include "common/rpc/tls_credentials.h"

#include <utility>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/secure/names.h"

namespace mr::rpc {
namespace {

// Returns the name that a server must prove. A daemon's own probe goes to either kind, as its reply says.
std::string NameOfServer(uint64_t cluster_id, Role role, const Hello& reply) {
  const bool data = role == Role::kData || (role == Role::kProbe && reply.role == Role::kDataServer);
  return data ? secure::AnyWorkerName(cluster_id) : secure::MasterName(cluster_id);
}

// rotated: what to do where the server has an authority of later than these credentials.
kj::Promise<Result<Encrypted>> EncryptAs(const std::shared_ptr<const Tls>& tls, kj::Own<kj::AsyncIoStream> stream,
                                         const std::string& name, const std::string& address,
                                         const std::string& rotated) {
  return tls->Connect(kj::mv(stream), name)
      .then([address, rotated](Result<Encrypted> made) -> Result<Encrypted> {
        if (made.ok()) return made;
        const Status status = made.status().With("cannot connect to " + address);
        if (status.code() != Code::kNotAllowed) return status;
        return Status(status.code(), status.message() + "; if the authority of the cluster was rotated, " + rotated);
      })
      .attach(std::shared_ptr<const Tls>(tls));
}

// Returns the commands by which a node gets a certificate of the present authority.
std::string JoinAgain(const secure::Certificate& certificate) {
  const auto worker = secure::WorkerInSubject(certificate.common_name);
  if (!worker.ok()) return "a restart of the master";
  return "mrctl token create --join FILE --worker " + *worker + " at the master, then mrworker --join FILE";
}

constexpr char kAskForToken[] =
    "an administrator makes one with mrctl token create; name its file with MR_TOKEN_FILE, or keep it in ";

std::string PlaceOf(const std::string& directory, uint64_t cluster_id) {
  return (directory.empty() ? "~/.local/state/paceline/tokens" : directory) + "/" + secure::ClusterText(cluster_id);
}

}  // namespace

std::jthread TokenCredentials::Prepare() {
  std::string path = places_.file;
  if (path.empty()) {
    const auto tokens = ListDirectory(places_.directory);
    if (tokens.ok() && tokens->size() == 1) path = places_.directory + "/" + tokens->front();
  }
  if (path.empty()) return {};
  std::promise<Result<std::shared_ptr<const Access>>> read;
  const std::lock_guard lock(mutex_);
  prepared_path_ = path;
  prepared_ = read.get_future();
  return std::jthread([path, read = std::move(read)]() mutable { read.set_value(Read(path)); });
}

Result<std::shared_ptr<const TokenCredentials::Access>> TokenCredentials::Read(const std::string& path) {
  auto file = secure::ReadAccessFile(path, secure::TokenKind::kPerson);
  if (!file.ok()) return Status(Code::kNotAllowed, file.status().message());
  auto access = std::make_shared<Access>();
  access->path = path;
  access->file = *std::move(file);
  MR_ASSIGN_OR_RETURN(access->tls, Tls::ForPerson(access->file.authority, access->file.cluster_id));
  return std::shared_ptr<const Access>(std::move(access));
}

Result<std::shared_ptr<const TokenCredentials::Access>> TokenCredentials::AccessTo(uint64_t cluster_id) const {
  const std::lock_guard lock(mutex_);
  if (const auto it = known_.find(cluster_id); it != known_.end()) return it->second;
  const bool named = !places_.file.empty();
  if (!named && places_.directory.empty()) return NotFound("there is no directory of tokens");
  const std::string path = named ? places_.file : PlaceOf(places_.directory, cluster_id);
  if (!named && !PathExists(path)) return NotFound(path + " does not exist");
  const bool prepared = prepared_.valid() && prepared_path_ == path;
  MR_ASSIGN_OR_RETURN(const std::shared_ptr<const Access> access, prepared ? prepared_.get() : Read(path));
  if (access->file.cluster_id != cluster_id) {
    return Status(Code::kNotAllowed, "the token in " + access->path + " is for the cluster " +
                                         secure::ClusterText(access->file.cluster_id) + ", and this one is " +
                                         secure::ClusterText(cluster_id) +
                                         ": check the address of the master (--master), or name another token file "
                                         "with MR_TOKEN_FILE");
  }
  const secure::UnixTime now{static_cast<int64_t>(WallClockMs() / 1000)};
  if (now >= access->file.unchecked.expires) {
    return Status(Code::kNotAllowed, "the token in " + access->path + " has expired (" +
                                         secure::Text(access->file.unchecked.expires) + "): ask for another one; " +
                                         "an administrator makes it with mrctl token create");
  }
  known_[cluster_id] = access;
  return access;
}

kj::Promise<Result<Encrypted>> TokenCredentials::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own,
                                                         const Hello& reply, const std::string& address) const {
  const auto access = AccessTo(reply.cluster_id);
  if ((reply.flags & kHelloTls) == 0) {
    // On this machine's own sockets there is no TLS. Elsewhere a daemon without it cannot be the one of the token.
    const SocketFacts facts = FactsOfPeer(*stream);
    const bool has_token = access.ok() || access.status().code() != Code::kNotFound;
    if (!facts.uid.has_value() && (!places_.file.empty() || has_token)) {
      return Result<Encrypted>(Status(Code::kNotAllowed, address +
                                                             " speaks no TLS, so it is not the cluster of the token" +
                                                             (access.ok() ? " in " + (*access)->path : "") +
                                                             ": check the address; for a cluster without certificates, "
                                                             "unset MR_TOKEN_FILE"));
    }
    return fallback_->Encrypt(kj::mv(stream), own, reply, address);
  }
  if (!access.ok()) {
    const bool none = access.status().code() == Code::kNotFound;
    return Result<Encrypted>(
        Status(Code::kNotAllowed, none ? "the cluster of " + address + " needs a token, and there is none for it: " +
                                             kAskForToken + PlaceOf(places_.directory, reply.cluster_id)
                                       : access.status().message()));
  }
  return EncryptAs((*access)->tls, kj::mv(stream), NameOfServer((*access)->file.cluster_id, own.role, reply), address,
                   "the token in " + (*access)->path + " is of no use any more: " + kAskForToken +
                       PlaceOf(places_.directory, reply.cluster_id));
}

Result<Credentials::Presented> TokenCredentials::For(const SocketFacts& server, const Hello& reply, Role role) const {
  if (server.certificate.empty()) return fallback_->For(server, reply, role);
  MR_ASSIGN_OR_RETURN(const auto access, AccessTo(reply.cluster_id));
  // Never to a worker: one that was taken over would use it at the master.
  if (role == Role::kProbe && reply.role == Role::kDataServer) return Presented{};
  if (role != Role::kClient && role != Role::kProbe) {
    return Status(Code::kNotAllowed, "workers get no tokens of people, but tickets that the master makes");
  }
  return Presented{{CredentialKind::kToken, access->file.token.Copy()},
                   {},
                   "the token is in " + access->path + "; an administrator makes another with mrctl token create"};
}

uint32_t TicketCredentials::HelloFlags(const SocketFacts& server, Role role) const {
  return token_->HelloFlags(server, role);
}

kj::Promise<Result<Encrypted>> TicketCredentials::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own,
                                                          const Hello& reply, const std::string& address) const {
  return token_->Encrypt(kj::mv(stream), own, reply, address);
}

Result<Credentials::Presented> TicketCredentials::For(const SocketFacts& server, const Hello& reply, Role role) const {
  if (server.certificate.empty()) return token_->For(server, reply, role);
  return Presented{{CredentialKind::kTicket, ticket_.Copy()},
                   {},
                   "the master made a ticket for this worker; try again, and if that does not help, see mrctl doctor"};
}

kj::Promise<Result<Encrypted>> NodeCredentialsSource::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own,
                                                              const Hello& reply, const std::string& address) const {
  if ((reply.flags & kHelloTls) == 0) {
    return Result<Encrypted>(
        Status(Code::kNotAllowed, address + " speaks no TLS, so it is not of this cluster: check the address, and that "
                                            "the daemon there was started with its credentials"));
  }
  const auto state = node_->now();
  return EncryptAs(state->tls, kj::mv(stream), NameOfServer(state->certificate.cluster_id, own.role, reply), address,
                   state->certificate.common_name + " must join again, by " + JoinAgain(state->certificate));
}

Result<Credentials::Presented> NodeCredentialsSource::For(const SocketFacts&, const Hello&, Role) const {
  return Presented{
      {}, {}, "this daemon is " + node_->now()->certificate.common_name + ", by the certificate in " + node_->path()};
}

Result<std::shared_ptr<const Credentials>> JoinCredentials::Make(const secure::AccessFile& join) {
  MR_ASSIGN_OR_RETURN(auto tls, Tls::ForPerson(join.authority, join.cluster_id));
  return std::shared_ptr<const Credentials>(new JoinCredentials(std::move(tls), join.token.Copy()));
}

kj::Promise<Result<Encrypted>> JoinCredentials::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello&,
                                                        const Hello& reply, const std::string& address) const {
  if ((reply.flags & kHelloTls) == 0) {
    return Result<Encrypted>(Status(Code::kNotAllowed, address + " speaks no TLS, so it is not the master of the join "
                                                                 "file: check its address, and that the master was "
                                                                 "started with its credentials"));
  }
  return EncryptAs(tls_, kj::mv(stream), secure::MasterName(tls_->cluster_id()), address,
                   "make another join file with mrctl token create --join FILE");
}

Result<Credentials::Presented> JoinCredentials::For(const SocketFacts&, const Hello&, Role) const {
  return Presented{{CredentialKind::kJoin, token_.Copy()},
                   {},
                   "a join file adds one worker within 15 minutes: make another with mrctl token create --join FILE"};
}

}  // namespace mr::rpc
