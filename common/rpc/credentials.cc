#include "common/rpc/credentials.h"

#include <unistd.h>

#include <mutex>
#include <utility>

namespace mr::rpc {
namespace {

std::mutex source_mutex;
std::shared_ptr<const Credentials>& ProcessSource() {
  static std::shared_ptr<const Credentials> source = std::make_shared<FileCredentials>();
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

Result<Credentials::Presented> FileCredentials::For(const SocketFacts& server, const Hello&, Role) const {
  if (server.uid.has_value()) {
    // A socket of another user could pass as the daemon's.
    if (*server.uid != ::geteuid() && *server.uid != 0 && ::geteuid() != 0) {
      return Status(Code::kNotAllowed, "that socket is served by " + UserName(*server.uid) + ", not by " +
                                           UserName(::geteuid()) + " or root, and is not trusted");
    }
    return PresentNothing("only its own user and root may use a unix socket");
  }
  if (!server.loopback) return PresentNothing("a secret of this machine is not sent to another one");
  const auto directory = SecretDirectory(directory_);
  if (!directory.ok()) return PresentNothing(directory.status().message());
  const std::string path = *directory + "/" + SecretFileName(server.address);
  // Also where the reply says that the daemon is insecure: who has taken a daemon's port could say so.
  auto secret = ReadSecretFile(path);
  if (secret.ok()) {
    return PresentSecret(*secret, "the secret in " + path +
                                      " is not that daemon's: another program may have its port, or "
                                      "it was started with --insecure beside the file of another one (remove it then)");
  }
  if (secret.status().code() == Code::kNotFound) {
    return PresentNothing("its secret is not at " + path +
                          ": run this command as the user that started it, with the same XDG_STATE_HOME or "
                          "MR_SECRET_DIR; or name its unix socket, if it has one, with --master unix:PATH");
  }
  // Too many open files pass; a file that cannot be trusted or read needs somebody.
  if (secret.status().code() == Code::kOverloaded) return secret.status();
  return Status(Code::kNotAllowed, secret.status().message());
}

Result<Credentials::Presented> FixedCredentials::For(const SocketFacts& server, const Hello&, Role) const {
  if (!server.loopback) return PresentNothing("the secret of a local cluster is not sent to another machine");
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
