// Decompresses a file of the block store as it is printed (`mrctl fs text`).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/file_format.h"
#include "common/base/status.h"

namespace mr::ctl {

// Largest file in a JSON document (a guess: a larger result belongs in a file).
inline constexpr uint64_t kMostTextInJson = 64u << 20;

// Returns the compression that all these parts have by their names, for files made of their stored bytes: frames of one
// kind after each other are a valid file. Errors: kInvalidArgument if they differ.
Result<Compression> CompressionOfParts(const std::vector<std::string>& names);

// Returns a note if a merged file is compressed and its name does not say so; else "". directory: as the user named it.
std::string MergedNote(Compression parts, const std::string& target, const std::string& directory);

// Reads `name` piece by piece and writes its raw bytes. read: bytes from an offset on, empty at the end. compression:
// kNone passes all on. Memory: a piece, and 1 MiB of raw bytes.
// Errors: kInvalidArgument with the place, for damaged or cut data; those of read and write.
Status WriteDecompressed(const std::string& name, Compression compression,
                         const std::function<Result<std::string>(uint64_t offset)>& read,
                         const std::function<Status(std::string_view bytes)>& write);

}  // namespace mr::ctl
