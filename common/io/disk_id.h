// Identifies the disk of a path across processes, so that its free space is counted once.
#pragma once

#include <cstdint>
#include <string>

namespace mr {

// Returns a number that is equal for paths on one file system of one machine since its last boot, also in several
// containers whose directories are on it. 0: not known. Cost: a system call, which blocks as long as the disk does.
uint64_t DiskId(const std::string& path);

}  // namespace mr
