// Decides who may connect to one port of a daemon: the server's side of common/adr/0016.
#pragma once

#include <kj/async-io.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/file_roots.h"
#include "common/io/secret_file.h"
#include "common/model/identity.h"
#include "common/rpc/credential.h"
#include "common/rpc/credentials.h"
#include "common/rpc/entry_options.h"
#include "common/rpc/hello.h"
#include "common/rpc/socket_facts.h"

namespace mr::rpc {

// How long a credential is good: what its server asks for again while the connection is open.
struct Lease {
  std::string id;      // of a token, or the name in a certificate; "": nothing can revoke it
  int64_t until = 0;   // seconds since 1970; 0: no end
  std::string worker;  // of a join token: the only worker that it is for; "": any
};

// Thread: the loop of its server.
class Authenticator {
 public:
  struct Admitted {
    Identity identity;
    Secret<std::string> proof;  // for the verdict: proves this daemon to the client; may be empty
    Lease lease;
  };
  virtual ~Authenticator() = default;

  // Called when a socket is bound, before the first accept. bound: its address, as AddressText() gives it. Errors: the
  // daemon must not listen there (kInvalidArgument), or cannot publish what its clients need.
  virtual Status Listening(const std::string& bound, bool loopback) = 0;
  // Returns whether a client may go on with this hello, before it has proved anything. Here: always.
  virtual Status CheckHello(const Hello& hello, const SocketFacts& peer) const;
  // Returns whether TLS follows the reply to this hello. Here: never.
  virtual bool Encrypts(const Hello& hello, const SocketFacts& peer) const;
  // Turns the stream into an encrypted one, after a reply that has announced it. Here: returns it as it is. Errors:
  // kNotAllowed, for this daemon's log.
  virtual kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& hello);
  // Returns the identity that the credential proves. Errors: kNotAllowed, with a text that any peer may read.
  virtual Result<Admitted> Authenticate(const Hello& hello, const Credential& credential, const SocketFacts& peer) = 0;
  // Returns whether an open connection may go on. Asked once per second for each. Here: always.
  virtual bool StillGood(const Lease& lease) const;
  // Returns whether anybody is let in, which the reply to each hello reports.
  virtual bool insecure() const { return false; }
};

// Lets in the daemon's own user: who has its secret, and on unix sockets its uid and root. All of them have all roles.
class UserAuthenticator final : public Authenticator {
 public:
  // secret: fresh for each start of a daemon. directory: of secret files; empty: no file is written, since those who
  // may connect have the secret already.
  UserAuthenticator(DaemonSecret secret, std::string directory);
  Status Listening(const std::string& bound, bool loopback) override;
  Result<Admitted> Authenticate(const Hello& hello, const Credential& credential, const SocketFacts& peer) override;

 private:
  const DaemonSecret secret_;
  const std::string directory_;
  const uint32_t uid_;
  const std::string user_;
  std::vector<SecretFile> files_;  // one per bound socket
};

// Lets in anybody (--insecure).
class NoAuthenticator final : public Authenticator {
 public:
  // directory: where a left secret of the same port is removed, since clients would insist on it; empty: none.
  explicit NoAuthenticator(std::string directory = "") : directory_(std::move(directory)) {}
  Status Listening(const std::string& bound, bool loopback) override;
  Result<Admitted> Authenticate(const Hello& hello, const Credential& credential, const SocketFacts& peer) override;
  bool insecure() const override { return true; }

 private:
  const std::string directory_;
};

// Makes the authenticator of a daemon (with certificates: certified.h), and sets the credentials that its process
// presents to other daemons. Reads and closes secret_fd. Errors: kInvalidArgument.
Result<std::shared_ptr<Authenticator>> MakeAuthenticator(const EntryOptions& options);

// The bind rule: a daemon without certificates listens where only this machine reaches it, unless it was started with
// --insecure. Resolves names, so it may block. flag: the flag that named the host, for the error. Errors:
// kInvalidArgument, with what to do.
Status CheckBind(const std::string& flag, const std::string& host, bool insecure);

// Returns the directories that jobs may use (--file_roots). flag: "": all where the daemon's own user alone can
// connect, none elsewhere. May block like CheckBind. Errors: kInvalidArgument.
Result<FileRoots> FileRootsFor(const std::string& flag, const std::string& bind, const EntryOptions& options);

}  // namespace mr::rpc
