// The parts that the files of a daemon's credentials share (cluster_files.h, rotation.h): reading them together, under
// one lock, so that nobody sees half of a rotation. Thread: any. Blocks for disks.
#pragma once

#include <string>

#include "common/base/status.h"
#include "common/io/files.h"
#include "common/secure/authority.h"
#include "common/secure/keys.h"

namespace mr::secure {

// Locks the directory of credentials until the descriptor is closed. Writers that change several files that belong
// together lock it exclusively. Errors: as CheckPrivateDirectory.
Result<UniqueFd> LockCredentials(const std::string& path, bool exclusive);

// The authority and the keys of tokens that a directory trusts. A worker has none of the private halves.
struct CredentialStore {
  std::string path;
  std::string authority_text, token_keys_text;
  Authority authority;
  TokenKeys token_keys;

  // Reads the private half that belongs to authority.current, or to the first of token_keys, from NAME.key, or from
  // NAME.key.next where a rotation was interrupted. Errors: those of ReadPrivateFile; kCorrupted: neither fits.
  Result<PrivateKey> AuthorityKey() const;
  Result<PrivateKey> TokenKey() const;
};
// Requires: the directory is locked. Errors: kNotFound; kCorrupted, with the file.
Result<CredentialStore> ReadStore(const std::string& path);

// Reads a file of certificates or public keys. Errors: kNotFound; kCorrupted: too large.
Result<std::string> ReadPem(const std::string& path);
// Errors: those of ReadPrivateFile; kCorrupted: no key of this kind.
Result<PrivateKey> ReadKey(const std::string& path, KeyKind kind);

}  // namespace mr::secure
