// How a worker gets its certificate from the master: at its first start by a join file, later by the certificate that
// it has. Renews it after two thirds of its life, and takes the master's list of revoked tokens meanwhile.
#pragma once

#include <memory>
#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/node_identity.h"

namespace mr::worker {

// Makes a key, asks the master of the join file for a certificate of the worker `name`, and keeps them in
// `credentials`. text: of the join file; source: its name, for messages. Returns the master's address. Blocks. Errors:
// kInvalidArgument: no join file; kNotAllowed, kRejected: the master refuses, with what to do; kUnavailable: it does
// not answer.
Result<std::string> Join(const std::string& credentials, const std::string& name, const Secret<std::string>& text,
                         const std::string& source);

// The credentials of a worker that starts.
struct Certified {
  std::shared_ptr<rpc::NodeIdentity> node;  // null: it has none
  std::string master;                       // HOST:PORT
};
// Loads the worker's credentials from `data`. Without any, and with a join file (a path, or - for standard input),
// joins first. master: as given by a flag; empty: the one that is kept. Blocks. Errors: those of Join
// and rpc::NodeIdentity::Load, with what to do; kInvalidArgument: no master is named.
Result<Certified> Certify(const std::string& data, const std::string& name, const std::string& join,
                          const std::string& master);

// Keeps `master` (HOST:PORT), at which a worker with credentials has registered, as its master at later starts. Blocks.
void KeepMaster(const std::string& data, const std::string& master);

// Keeps a joined worker's credentials good while it lives. Thread: made and destroyed on the loop.
class CertificateSession {
 public:
  // master: HOST:PORT. Must not outlive the loop.
  CertificateSession(rpc::KjThread& loop, std::string master, std::shared_ptr<rpc::NodeIdentity> node);
  ~CertificateSession() noexcept(false);

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::worker
