// Uploads of operator libraries and side files: pieces that become a file named by its SHA-256.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/io/retention.h"
#include "master/host/libraries.h"

namespace mr::master {

inline constexpr uint64_t kMaxLibraryBytes = 1ull << 30;
inline constexpr size_t kUploadPiece = 1 << 20;

// Returns whether the text is a SHA-256 in lower-case hexadecimal.
bool LibraryName(const std::string& name);

// Stores one piece of an upload in directory/part. The last piece is checked, synced and given its name, and the owner
// of a new file is noted for the next process. Errors: kInvalidArgument: the pieces are out of order; kCorrupted: the
// bytes have another SHA-256, and the part is removed. Thread: one that may wait.
Status StorePiece(const std::string& directory, const LibraryUpload& upload, uint64_t offset, const std::string& data);

// Removes the file of an upload that was given up. Blocks.
void RemovePart(const std::string& directory, const std::string& part);
// Removes a file of the directory that has not changed since it was listed, with the note of its owner. Blocks.
void RemoveLibrary(const std::string& directory, const StoredFile& file);
// Enters the files of the directory, with their owners. Removes unfinished uploads of an earlier process, and notes of
// owners without a file. Makes the directory. Blocks. Errors: of the file system.
Status ReadLibraries(const std::string& directory, Libraries* libraries);

}  // namespace mr::master
