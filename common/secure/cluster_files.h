// The files of a cluster's credentials: those of the master (`mrctl cluster init` makes them) and of a worker (it makes
// them where it joins). Both are a directory `credentials`, mode 0700, in the daemon's --data.
//
//   master: ca.pem ca.key  master.pem master.key  token.pub token.key  tokens (token_log.h)  address
//   worker: ca.pem  worker.pem worker.key  token.pub
//
// ca.pem and token.pub have more than one entry while the authority is rotated (authority.h, rotation.h).
//
// Thread: any. Blocks for disks: not for an event loop.
#pragma once

#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/secure/certificate.h"
#include "common/secure/token.h"

namespace mr::secure {

// The parts with which a daemon speaks TLS and checks tokens.
struct NodeCredentials {
  Certificate certificate;  // of this node, checked
  std::string certificate_pem;
  Secret<std::string> key_pem;
  std::string authority_pem;  // AuthorityText
  std::string token_key_pem;  // public: check tokens
  bool previous = false;      // the certificate is of the previous authority of a rotation
  std::string trust;          // TrustText of authority_pem and token_key_pem
  std::string signer;         // SignWorker: serial number of the certificate of the authority that signed
};

// Returns DIRECTORY/credentials of a --data directory.
std::string CredentialsPath(const std::string& data);

// Makes the credentials of a new cluster at `path`, whole or not at all. Errors: kRejected: it exists (nothing is ever
// overwritten: workers and tokens of the cluster would be lost); of the file system.
Status MakeClusterFiles(const std::string& path, uint64_t cluster_id, UnixTime now);

// Keeps the address at which workers reach the master, HOST:PORT, for join files. Errors: of the file system.
Status KeepAddress(const std::string& path, const std::string& address);
// Returns the address that was kept, "" if none was: the credentials are of a release that kept none.
std::string KnownAddress(const std::string& path);

// Reads the master's. A certificate past two thirds of its life, expired, or of the previous authority of a rotation is
// replaced by a new one first. Errors:
// kNotFound: there are none; kNotAllowed: others could read the keys, or parts do not belong together; kCorrupted.
Result<NodeCredentials> LoadMaster(const std::string& path, UnixTime now);

// Reads a worker's. Errors: as LoadMaster; kNotAllowed also where the certificate has expired.
Result<NodeCredentials> LoadWorker(const std::string& path, UnixTime now);

// Writes a worker's, at the end its certificate: without it LoadWorker finds none. Replaces those that are there.
Status KeepWorker(const std::string& path, const NodeCredentials& credentials);

// Signs the request of a worker with the authority's key. Returns all that the worker keeps, but its key. Errors: those
// of SignRequest and ReadPrivateFile.
Result<NodeCredentials> SignWorker(const std::string& path, const std::string& name, const std::string& request,
                                   UnixTime now);

struct NewToken {
  TokenKind kind = TokenKind::kPerson;
  std::string subject;
  Roles roles = 0;
  Duration life = kTokenLife;
};
struct IssuedToken {
  Token token;
  Secret<std::string> text;
  std::string authority_pem;  // the only one that its holder needs to trust
};
// Signs a token with the cluster's key and enters it in the list. Errors: kInvalidArgument: a field; kNotFound: there
// are no credentials at `path`; those of ReadPrivateFile and TokenLog.
Result<IssuedToken> IssueToken(const std::string& path, const NewToken& wanted, UnixTime now);

}  // namespace mr::secure
