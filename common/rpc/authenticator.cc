#include "common/rpc/authenticator.h"

#include <netdb.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "common/rpc/certified.h"
#include "common/rpc/tls_credentials.h"

namespace mr::rpc {
namespace {

constexpr Roles kEverything = kAllPeople | kWorker | kMaster;

std::string WhyNotThere(const std::string& flag, const std::string& where) {
  return flag + " " + where +
         " can be reached from other machines: whoever reaches it could run commands on every worker; "
         "listen on 127.0.0.1, or make certificates with 'mrctl cluster init --data DIR' (a worker joins with --join "
         "FILE). --insecure lets in anybody, for test networks only";
}

}  // namespace

Status Authenticator::CheckHello(const Hello&, const SocketFacts&) const { return Status::Ok(); }
bool Authenticator::Encrypts(const Hello&, const SocketFacts&) const { return false; }
bool Authenticator::StillGood(const Lease&) const { return true; }

kj::Promise<Result<Encrypted>> Authenticator::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello&) {
  return Result<Encrypted>(Encrypted{kj::mv(stream), ""});
}

UserAuthenticator::UserAuthenticator(DaemonSecret secret, std::string directory)
    : secret_(std::move(secret)), directory_(std::move(directory)), uid_(::geteuid()), user_(UserName(uid_)) {}

Status UserAuthenticator::Listening(const std::string& bound, bool loopback) {
  if (!loopback) return InvalidArgument(WhyNotThere("--bind", bound));
  if (directory_.empty() || bound == "unix") return Status::Ok();
  auto file = SecretFile::Write(directory_, SecretFileName(bound), secret_);
  if (!file.ok()) return file.status().With("cannot write the secret that clients need");
  files_.push_back(*std::move(file));
  return Status::Ok();
}

Result<Authenticator::Admitted> UserAuthenticator::Authenticate(const Hello&, const Credential& credential,
                                                                const SocketFacts& peer) {
  const Status refused(Code::kNotAllowed, "it lets in only its own user, " + user_);
  if (peer.uid.has_value()) {
    if (*peer.uid != uid_ && *peer.uid != 0) return refused;
    return Admitted{{UserName(*peer.uid), kEverything, Proof::kSocket}, {}, {}};
  }
  const std::string& bytes = credential.bytes.Reveal();
  if (credential.kind != CredentialKind::kSecret || !SameSecret(bytes.data(), bytes.size(), secret_.client.Reveal())) {
    return refused;
  }
  const SecretBytes& proof = secret_.daemon.Reveal();
  return Admitted{{user_, kEverything, Proof::kSecret},
                  Secret<std::string>(std::string(reinterpret_cast<const char*>(proof.data()), proof.size())),
                  {}};
}

Status NoAuthenticator::Listening(const std::string& bound, bool) {
  if (directory_.empty() || bound == "unix") return Status::Ok();
  // This daemon has the port, so the file of a secret for it was left by one that was killed.
  const std::string port = bound.substr(bound.rfind(':'));
  for (const std::string& address : {bound, "127.0.0.1" + port, "[::1]" + port}) {
    RemoveLeftSecret(directory_ + "/" + SecretFileName(address));
  }
  return Status::Ok();
}

Result<Authenticator::Admitted> NoAuthenticator::Authenticate(const Hello&, const Credential&, const SocketFacts&) {
  return Admitted{{"anonymous", kEverything, Proof::kNone}, {}, {}};
}

Result<std::shared_ptr<Authenticator>> MakeAuthenticator(const EntryOptions& options) {
  if (options.node != nullptr) {
    if (options.insecure || options.secret_fd >= 0) {
      return InvalidArgument("a daemon with certificates takes neither --insecure nor --secret_fd");
    }
    SetProcessCredentials(std::make_shared<NodeCredentialsSource>(options.node));
    return std::shared_ptr<Authenticator>(std::make_shared<CertifiedAuthenticator>(options.node, options.door));
  }
  if (options.insecure && options.secret_fd >= 0) return InvalidArgument("--secret_fd does not go with --insecure");
  if (options.secret_fd >= 0) {
    auto secret = ReadSecretFrom(options.secret_fd);
    if (!secret.ok()) return InvalidArgument("--secret_fd: " + secret.status().message());
    SetProcessCredentials(std::make_shared<FixedCredentials>(secret->Copy()));
    return std::shared_ptr<Authenticator>(std::make_shared<UserAuthenticator>(*std::move(secret), ""));
  }
  const auto directory = SecretDirectory(options.secret_dir);
  SetProcessCredentials(
      std::make_shared<FileCredentials>(directory.ok() ? *directory : options.secret_dir, options.insecure));
  if (options.insecure) {
    return std::shared_ptr<Authenticator>(std::make_shared<NoAuthenticator>(directory.ok() ? *directory : ""));
  }
  if (!directory.ok()) return directory.status();
  MR_ASSIGN_OR_RETURN(DaemonSecret secret, MakeDaemonSecret());
  return std::shared_ptr<Authenticator>(std::make_shared<UserAuthenticator>(std::move(secret), *directory));
}

Status CheckBind(const std::string& flag, const std::string& host, bool insecure) {
  if (insecure) return Status::Ok();
  if (host == "*") return InvalidArgument(WhyNotThere(flag, host));
  std::string bare = host;
  if (bare.size() > 2 && bare.front() == '[' && bare.back() == ']') bare = bare.substr(1, bare.size() - 2);
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int error = ::getaddrinfo(bare.c_str(), nullptr, &hints, &list);
  if (error != 0) return InvalidArgument(flag + " " + host + " cannot be resolved: " + ::gai_strerror(error));
  bool all = true;
  for (const addrinfo* at = list; at != nullptr; at = at->ai_next) {
    sockaddr_storage address{};
    if (at->ai_addrlen > sizeof address) continue;
    std::memcpy(&address, at->ai_addr, at->ai_addrlen);
    all = all && IsLoopback(address);
  }
  ::freeaddrinfo(list);
  return all ? Status::Ok() : InvalidArgument(WhyNotThere(flag, host));
}

Result<FileRoots> FileRootsFor(const std::string& flag, const std::string& bind, const EntryOptions& options) {
  if (!flag.empty()) return FileRoots::Parse(flag);
  return options.node == nullptr && CheckBind("--bind", bind, /*insecure=*/false).ok() ? FileRoots::Any() : FileRoots();
}

}  // namespace mr::rpc
