// The join file: what a new worker needs to ask its master for a certificate. Text, for `mrworker --join FILE`.
#pragma once

#include <string>
#include <string_view>

#include "common/base/secret.h"
#include "common/base/status.h"

namespace mr::secure {

// A worker that has it believes the master that the authority signed, and no other.
struct JoinFile {
  std::string master;  // HOST:PORT
  uint64_t cluster_id = 0;
  Secret<std::string> token;  // a join token (token.h): one worker, 15 minutes
  std::string authority;      // the cluster's CA certificate, PEM
};

// Returns the text of a join file: a first line, "name value" lines, an empty line, the certificate.
Secret<std::string> JoinText(const JoinFile& join);

// Reads JoinText. Errors: kInvalidArgument: not one, or its parts do not belong together; the message names the line.
Result<JoinFile> ParseJoin(const Secret<std::string>& text);

}  // namespace mr::secure
