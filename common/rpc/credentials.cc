#include "common/rpc/credentials.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>

namespace mr::rpc {
namespace {

bool TrustsAll() {
  const char* value = std::getenv("MR_INSECURE");
  return value != nullptr && std::strcmp(value, "1") == 0;
}

std::mutex source_mutex;
std::shared_ptr<const Credentials>& ProcessSource() {
  static std::shared_ptr<const Credentials> source = std::make_shared<FileCredentials>("", TrustsAll());
  return source;
}

std::string AsBytes(const SecretBytes& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

Credentials::Presented PresentSecret(const DaemonSecret& secret, std::string advice) {
  return {{CredentialKind::kSecret, Secret<std::string>(AsBytes(secret.client.Reveal()))},
          Secret<std::string>(AsBytes(secret.daemon.Reveal())),
          std::move(advice)};
}

Credentials::Presented PresentNothing(std::string advice) { return {{}, {}, std::move(advice)}; }

}  // namespace

uint32_t Credentials::HelloFlags(const SocketFacts&, Role) const { return 0; }

kj::Promise<Result<Encrypted>> Credentials::Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello&, const Hello&,
                                                    const std::string&) const {
  return Result<Encrypted>(Encrypted{kj::mv(stream), ""});
}

Result<Credentials::Presented> FileCredentials::Unproved(const SocketFacts& server, const std::string& why,
                                                         Role role) const {
  if (trusts_all_) return PresentNothing(why);
  const std::string flag = role == Role::kClient || role == Role::kProbe ? "MR_INSECURE=1" : "--insecure";
  return Status(Code::kNotAllowed, server.address + " is not used, because it cannot prove that it is a daemon of " +
                                       UserName(::geteuid()) + ": " + why +
                                       ". Where all daemons run with --insecure, " + flag +
                                       " connects without a proof: only in a network that you trust");
}

Result<Credentials::Presented> FileCredentials::For(const SocketFacts& server, const Hello&, Role role) const {
  if (server.uid.has_value()) {
    // A socket of another user could pass as the daemon's.
    if (*server.uid != ::geteuid() && *server.uid != 0 && ::geteuid() != 0) {
      return Status(Code::kNotAllowed, "that socket is served by " + UserName(*server.uid) + ", not by " +
                                           UserName(::geteuid()) + " or root, and is not trusted");
    }
    return PresentNothing("only its own user and root may use a unix socket");
  }
  if (!server.loopback) return Unproved(server, "it is on another machine", role);
  const auto directory = SecretDirectory(directory_);
  if (!directory.ok()) return Unproved(server, directory.status().message(), role);
  const std::string path = *directory + "/" + SecretFileName(server.address);
  // Also where the reply says that the daemon is insecure: who has taken a daemon's port could say so.
  auto secret = ReadSecretFile(path);
  if (secret.ok()) {
    return PresentSecret(*secret, "the secret in " + path +
                                      " is not that daemon's: another program may have its port, or "
                                      "it was started with --insecure beside the file of another one (remove it then)");
  }
  if (secret.status().code() == Code::kNotFound) {
    return Unproved(server,
                    "its secret is not at " + path +
                        ". Run this command as the user that started it, with the same XDG_STATE_HOME or "
                        "MR_SECRET_DIR; or name its unix socket, if it has one, with --master unix:PATH",
                    role);
  }
  // Too many open files pass; a file that cannot be trusted or read needs somebody.
  if (secret.status().code() == Code::kOverloaded) return secret.status();
  return Status(Code::kNotAllowed, secret.status().message());
}

Result<Credentials::Presented> FixedCredentials::For(const SocketFacts& server, const Hello&, Role) const {
  if (!server.loopback) {
    return Status(Code::kNotAllowed, server.address + " is not used: daemons of a local cluster are on this machine");
  }
  return PresentSecret(secret_, "that daemon does not belong to this local cluster");
}

std::shared_ptr<const Credentials> ProcessCredentials() {
  const std::lock_guard lock(source_mutex);
  return ProcessSource();
}

void SetProcessCredentials(std::shared_ptr<const Credentials> credentials) {
  const std::lock_guard lock(source_mutex);
  ProcessSource() = std::move(credentials);
}

}  // namespace mr::rpc
