// Decides who may connect to a daemon with certificates: nodes of its cluster by their certificates, people and joining
// workers by tokens, and its own user by a unix socket. The counterpart for clients is tls_credentials.h.
#pragma once

#include <memory>
#include <string>

#include "common/rpc/authenticator.h"
#include "common/rpc/node_identity.h"
#include "common/secure/grant_door.h"

namespace mr::rpc {

// Thread: the loop of its server.
class CertifiedAuthenticator final : public Authenticator {
 public:
  // door: of a worker, whose data people reach with tickets of the master, not with tokens. Null: of the master.
  explicit CertifiedAuthenticator(std::shared_ptr<const NodeIdentity> node,
                                  std::shared_ptr<const secure::GrantDoor> door = nullptr);
  // Anywhere: peers prove themselves.
  Status Listening(const std::string& bound, bool loopback) override;
  // Refuses plain TCP.
  Status CheckHello(const Hello& hello, const SocketFacts& peer) const override;
  bool Encrypts(const Hello& hello, const SocketFacts& peer) const override;
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& hello) override;
  Result<Admitted> Authenticate(const Hello& hello, const Credential& credential, const SocketFacts& peer) override;
  bool StillGood(const Lease& lease) const override;

 private:
  Result<Admitted> Node(const std::string& name) const;
  Result<Admitted> Person(const Hello& hello, const Credential& credential) const;
  Result<Admitted> AtWorker(const Hello& hello, const Credential& credential) const;

  const std::shared_ptr<const NodeIdentity> node_;
  const std::shared_ptr<const secure::GrantDoor> door_;
  const uint32_t uid_;
};

}  // namespace mr::rpc
