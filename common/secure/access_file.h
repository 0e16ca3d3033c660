// Access files: what a person or a joining worker needs to reach a cluster. Text: a token, and the certificate of the
// authority that the master must prove itself by. `mrctl` finds a person's by the cluster's id, or by MR_TOKEN_FILE;
// `mrworker --join FILE` takes a join file.
#pragma once

#include <string>
#include <string_view>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/secure/token.h"

namespace mr::secure {

struct AccessFile {
  TokenKind kind = TokenKind::kPerson;
  std::string master;  // HOST:PORT; of a join file only
  uint64_t cluster_id = 0;
  Secret<std::string> token;
  std::string authority;  // the cluster's CA certificate, PEM
  Token unchecked;        // what the token says, without its signature: for messages and expiry
};

// Returns the text: a first line with the kind, "name value" lines, an empty line, the certificate. `unchecked` is not
// used. Requires: all parts are of one cluster.
Secret<std::string> AccessText(const AccessFile& access);

// Reads AccessText of this kind. name: the file, for messages. Errors: kInvalidArgument: not one, the other kind, or
// its parts do not belong together. No message has a byte of the token.
Result<AccessFile> ParseAccess(const Secret<std::string>& text, TokenKind kind, const std::string& name);

// Reads a file of a person. Errors: those of ReadPrivateFile and ParseAccess.
Result<AccessFile> ReadAccessFile(const std::string& path, TokenKind kind);

}  // namespace mr::secure
