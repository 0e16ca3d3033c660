// Rotation of a cluster's authority and of the key that signs tokens: new keys beside the old ones, then, when
// everybody has changed over, the end of the old ones. On the files of cluster_files.h; no master need run, and one
// that runs reads them again.
//
// Each step replaces one file, in an order that shows where a crash came: a rotation writes token.pub first and ca.pem
// last, and so does a finish. So the numbers of keys in token.pub and of authorities in ca.pem are 1 and 1 at rest, 2
// and 1 in an interrupted rotation, 2 and 2 in a rotation, 1 and 2 in an interrupted finish. A new private key is in
// NAME.key.next until its public part is in place. Thread: any. Blocks for disks.
#pragma once

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/secure/token.h"
#include "common/secure/unix_time.h"

namespace mr::secure {

// Makes a new authority and a new key for tokens. Both old ones stay trusted. Completes a rotation that was
// interrupted. Errors: kRejected: a rotation is in progress, with what to do; kNotFound: there are no credentials;
// those of ReadPrivateFile and of the file system.
Status BeginRotation(const std::string& path, UnixTime now);

// Workers without a certificate of the new authority, and tokens that the old key signed.
struct Behind {
  std::vector<std::string> workers;  // "worker:NAME": joined, not denied, no certificate of the new authority
  std::vector<Token> tokens;         // valid, signed by the old key
  bool empty() const { return workers.empty() && tokens.empty(); }
};

// Ends the trust in the old authority and key if nobody is behind, or if `force`. Returns those that are behind: with
// `force` their certificates and tokens are of no use any more, else nothing has changed. Completes a finish that was
// interrupted. Errors: kRejected: no rotation is in progress; else as BeginRotation.
Result<Behind> FinishRotation(const std::string& path, UnixTime now, bool force);

// Returns whether the master has a certificate of the newest authority: a master that runs takes one within a second of
// BeginRotation. Errors: of the files.
Result<bool> MasterHasNew(const std::string& path, UnixTime now);

}  // namespace mr::secure
