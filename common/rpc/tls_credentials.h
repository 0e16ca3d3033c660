// The credentials that a process presents to daemons with certificates: a person's token, a node's certificate, or a
// join token. Each has a fallback for daemons of this machine that have none.
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "common/rpc/credentials.h"
#include "common/rpc/node_identity.h"
#include "common/rpc/tls.h"
#include "common/secure/access_file.h"

namespace mr::rpc {

// A person's token. The daemon's reply names its cluster, and this finds the token for it. That choice grants nothing:
// the daemon must then prove, by TLS, that it is of the cluster whose authority is in the same file.
class TokenCredentials final : public Credentials {
 public:
  struct Places {
    std::string file;       // MR_TOKEN_FILE: the only token that is used, and TLS is demanded; "": none
    std::string directory;  // of token files, named by cluster; "": none
  };
  TokenCredentials(Places places, std::shared_ptr<const Credentials> fallback)
      : places_(std::move(places)), fallback_(std::move(fallback)) {}

  // Begins to read the token that is probably needed, on a thread of its own: the start of OpenSSL takes some ms. The
  // first connection waits for it. Keep the thread until the process ends.
  [[nodiscard]] std::jthread Prepare();

  uint32_t HelloFlags(const SocketFacts&, Role) const override { return kHelloTls; }
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const Hello& reply,
                                         const std::string& address) const override;
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  struct Access {
    secure::AccessFile file;
    std::string path;
    std::shared_ptr<const Tls> tls;
  };
  // Errors: kNotAllowed: it cannot be used, with what to do; kInvalidArgument.
  static Result<std::shared_ptr<const Access>> Read(const std::string& path);
  // Returns the token for a cluster. Errors: kNotFound: there is none; kNotAllowed: it cannot be used, with what to do.
  Result<std::shared_ptr<const Access>> AccessTo(uint64_t cluster_id) const;

  const Places places_;
  const std::shared_ptr<const Credentials> fallback_;
  mutable std::mutex mutex_;  // guards what follows
  mutable std::map<uint64_t, std::shared_ptr<const Access>> known_;
  std::string prepared_path_;
  mutable std::future<Result<std::shared_ptr<const Access>>> prepared_;
};

// The master's ticket for one worker (common/secure/ticket.h). TLS is that of the process's credentials.
class TicketCredentials final : public Credentials {
 public:
  TicketCredentials(Secret<std::string> ticket, std::shared_ptr<const Credentials> token)
      : ticket_(std::move(ticket)), token_(std::move(token)) {}

  uint32_t HelloFlags(const SocketFacts& server, Role role) const override;
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const Hello& reply,
                                         const std::string& address) const override;
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  const Secret<std::string> ticket_;
  const std::shared_ptr<const Credentials> token_;
};

// The certificate of a daemon: it talks to no daemon without one.
class NodeCredentialsSource final : public Credentials {
 public:
  explicit NodeCredentialsSource(std::shared_ptr<const NodeIdentity> node) : node_(std::move(node)) {}

  uint32_t HelloFlags(const SocketFacts&, Role) const override { return kHelloTls | kHelloNode; }
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const Hello& reply,
                                         const std::string& address) const override;
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  const std::shared_ptr<const NodeIdentity> node_;
};

// The join token of a new worker: for one connection with role kJoin.
class JoinCredentials final : public Credentials {
 public:
  // Errors: those of Tls::ForPerson.
  static Result<std::shared_ptr<const Credentials>> Make(const secure::AccessFile& join);

  uint32_t HelloFlags(const SocketFacts&, Role) const override { return kHelloTls; }
  kj::Promise<Result<Encrypted>> Encrypt(kj::Own<kj::AsyncIoStream> stream, const Hello& own, const Hello& reply,
                                         const std::string& address) const override;
  Result<Presented> For(const SocketFacts& server, const Hello& reply, Role role) const override;

 private:
  JoinCredentials(std::shared_ptr<const Tls> tls, Secret<std::string> token)
      : tls_(std::move(tls)), token_(std::move(token)) {}
  const std::shared_ptr<const Tls> tls_;
  const Secret<std::string> token_;
};

}  // namespace mr::rpc
