// Makes token files and join files, for `cluster init` and `token create`.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/secure/cluster_files.h"

namespace mr::ctl {

// Returns the directory of the credentials of a master's --data directory. Errors: kNotFound: there are none, with what
// to do; kNotAllowed: others could use them.
Result<std::string> CredentialsOf(const std::string& data);

struct NewAccess {
  secure::Token token;
  std::string file;
};

// Signs a token with the keys at `credentials` and writes its file, mode 0600. master: address, for a join file.
// Errors: kRejected: the file exists; those of IssueToken; of the file system. A token whose file could not be written
// is revoked.
Result<NewAccess> IssueAccess(const std::string& credentials, const secure::NewToken& wanted, const std::string& master,
                              const std::string& file, secure::UnixTime now);

// Errors: kRejected: the file exists.
Status CheckNewFile(const std::string& file);

// Returns the address of a master for other machines: as given, else this machine's name and the default port. Errors:
// kInvalidArgument: no HOST:PORT.
Result<std::string> MasterAddress(const std::string& given);

// Returns the name of this process's user, "admin" where it has none or one that tokens do not take.
std::string LoginName();

}  // namespace mr::ctl
