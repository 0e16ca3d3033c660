// TLS 1.3 for connections between machines: OpenSSL's, with the cluster's own authority only. Nodes prove themselves by
// their certificates in the handshake; people and joining workers send a token afterwards (credential.h).
//
// A server has two contexts, with and without a demand for a certificate, and the hello says which one the client
// wants. It grants nothing: a client without a certificate fails in the first.
#pragma once

#include <kj/async-io.h>

#include <cstdint>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/rpc/credentials.h"
#include "common/secure/cluster_files.h"

struct ssl_ctx_st;  // OpenSSL's SSL_CTX; its headers stay in .cc files

namespace mr::rpc {

// The contexts of one process, for both directions. Immutable: a renewed certificate makes another one, and connections
// that are open keep theirs. Thread: any number at a time, also on several loops.
class Tls {
 public:
  // For the master and workers. Errors: kInvalidArgument: the certificate or the key cannot be used.
  static Result<std::shared_ptr<const Tls>> ForNode(const secure::NodeCredentials& credentials);
  // For people and joining workers, which only connect. authority_pem: of an access file that was checked, like the
  // cluster. Errors: kInvalidArgument: not the certificate of an authority. Cost: some ms in a new process, the start
  // of OpenSSL.
  static Result<std::shared_ptr<const Tls>> ForPerson(const std::string& authority_pem, uint64_t cluster_id);

  uint64_t cluster_id() const { return cluster_id_; }
  // Whether it has a certificate of its own.
  bool is_node() const { return server_for_nodes_ != nullptr; }

  // Takes a connection as the server. node: the client has promised a node's certificate. Errors: kNotAllowed: the
  // client has no certificate of this cluster, or speaks no TLS; the text is for logs. Not limited in time. Requires:
  // is_node().
  kj::Promise<Result<Encrypted>> Accept(kj::Own<kj::AsyncIoStream> stream, bool node) const;

  // Turns a connection into an encrypted one as the client, if the server proves `name` (secure::MasterName,
  // AnyWorkerName, WorkerSubject). Errors: kNotAllowed: another cluster, another name, an expired certificate;
  // kUnavailable: the connection ended. Not limited in time.
  kj::Promise<Result<Encrypted>> Connect(kj::Own<kj::AsyncIoStream> stream, const std::string& name) const;

 private:
  Tls() = default;
  uint64_t cluster_id_ = 0;
  std::shared_ptr<ssl_ctx_st> client_;
  std::shared_ptr<ssl_ctx_st> server_for_nodes_, server_for_people_;  // null for people
};

// Returns whether an exception while a client waits for the server's verdict means that the server has refused its
// certificate: with TLS 1.3 the client's own handshake has succeeded by then.
bool IsCertificateAlert(const kj::Exception& exception);

}  // namespace mr::rpc
