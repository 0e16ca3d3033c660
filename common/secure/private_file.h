// Files with keys and tokens: written with mode 0600, whole or not at all, and refused where others could read them.
#pragma once

#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"

namespace mr::secure {

inline constexpr size_t kMaxPrivateBytes = 64 << 10;

// Writes the file durably, mode 0600, in place of one that is there. Errors: those of WriteFileDurably.
Status WritePrivateFile(const std::string& path, const Secret<std::string>& value);

// Reads the file. Symbolic links are followed, as mounted secrets are links. Errors: kNotFound; kNotAllowed: others may
// read or write it, or it belongs to another user than this one and root (the message says which, and the remedy);
// kInvalidArgument: not a regular file, empty, or over 64 KiB.
Result<Secret<std::string>> ReadPrivateFile(const std::string& path);

// Makes a directory of mode 0700 whose parent exists. Errors: kRejected: it exists.
Status MakePrivateDirectory(const std::string& path);

// Checks that a directory belongs to this user and that no other may enter it. Errors: as ReadPrivateFile.
Status CheckPrivateDirectory(const std::string& path);

}  // namespace mr::secure
