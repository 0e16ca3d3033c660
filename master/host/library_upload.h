// Uploads of operator libraries and side files: pieces that become a file named by its SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace mr::master {

inline constexpr uint64_t kMaxLibraryBytes = 1ull << 30;
inline constexpr size_t kUploadPiece = 1 << 20;

// Returns whether the text is a SHA-256 in lower-case hexadecimal.
bool LibraryName(const std::string& name);

// Stores one piece of an upload in directory/part. The last piece is checked, synced and given its name. Errors:
// kInvalidArgument: the pieces are out of order; kCorrupted: the bytes have another SHA-256. Thread: one that may wait.
Status StorePiece(const std::string& directory, const std::string& part, const std::string& sha256, uint64_t total,
                  uint64_t offset, const std::string& data);

}  // namespace mr::master
