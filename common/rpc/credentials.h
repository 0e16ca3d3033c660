// The credentials that this process presents where it connects: one source per process, since a process acts for one
// user or is one daemon.
#pragma once

#include <kj/async-io.h>

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/io/secret_file.h"
#include "common/rpc/credential.h"
#include "common/rpc/hello.h"
#include "common/rpc/socket_facts.h"

namespace mr::rpc {

// A stream that is encrypted, or as it was, and the common name that the other end's certificate proved ("": none).
struct Encrypted {
  kj::Own<kj::AsyncIoStream> stream;
  std::string certificate;
};

// Thread: any; the functions are const and may run on several loops at once.
class Credentials {
 public:
  struct Presented {
    Credential credential;
    Secret<std::string> proof;  // that the server must return; empty: none is expected
    std::string advice;         // for people, if the server refuses the credential: where it is from, what to do next
  };
  virtual ~Credentials() = default;

  // Returns the flags (HelloFlag) of the hello to a server. Here: none.
  virtual uint32_t HelloFlags(const SocketFacts& server, Role role) const;
  // Turns the stream into an encrypted one, after the server's reply to the hello, where that announces TLS. Here:
  // returns it as it is. Errors: kNotAllowed: the server does not prove what it must, or there is no credential for it;
  // kUnavailable.
  virtual kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own,
                                                 const Hello& reply, const std::string& address) const;
  // Returns the credential for a server. Errors: kNotAllowed, if the one at hand cannot be trusted. May read a small
  // file of this machine.
  virtual Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const = 0;
};

// Presents the secret that the server wrote for its user (common/io/secret_file.h), found by its numeric address.
// Without a file it does not use a server, since anybody could listen there, unless this process trusts all (--insecure
// of a daemon, MR_INSECURE=1 of other programs). It decides, not a server: its reply is not authenticated.
class FileCredentials final : public Credentials {
 public:
  // directory: as for SecretDirectory().
  explicit FileCredentials(std::string directory = "", bool trusts_all = false)
      : directory_(std::move(directory)), trusts_all_(trusts_all) {}
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  // The answer where no secret is at hand.
  Result<Presented> Unproved(const SocketFacts& server, const std::string& why, Role role) const;

  const std::string directory_;
  const bool trusts_all_;
};

// Presents one secret to every server on this machine: the daemons of one command (`--local`) share it.
class FixedCredentials final : public Credentials {
 public:
  explicit FixedCredentials(DaemonSecret secret) : secret_(std::move(secret)) {}
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  const DaemonSecret secret_;
};

// The source of this process. Without a call of Set: FileCredentials(), which trusts all with
// MR_INSECURE=1. Thread: any; Set before the first connection.
std::shared_ptr<const Credentials> ProcessCredentials();
void SetProcessCredentials(std::shared_ptr<const Credentials> credentials);

}  // namespace mr::rpc
