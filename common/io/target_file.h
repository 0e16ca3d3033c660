// Files that a user names to be written: results, reports, histories. Command-line programs use these; the daemons' own
// files are in files.h.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr {

// Writes the file that a user named. Symbolic links are followed. A regular file appears when it is complete, in place
// of the one that is there, and keeps its mode. Devices, FIFOs and names of open descriptors (/dev/stdout, /dev/fd/N)
// get the bytes directly, without `overwrite`; a reader that leaves a pipe early, such as head, is no error.
// overwrite: whether an existing regular file, block device or link may be written. write: writes the bytes to the
// descriptor. Errors: kRejected: it exists; kInvalidArgument: a directory; kNotFound: its directory does not exist;
// kNotAllowed: no permission, or a read-only file system; of `write`. Messages name `path`.
Status WriteTarget(const std::string& path, bool overwrite, const std::function<Status(int fd)>& write);

// Writes these bytes, with overwrite, and syncs a regular file.
Status WriteTarget(const std::string& path, std::string_view bytes);

// Returns whether WriteTarget could write with overwrite. Changes nothing, and opens no device or FIFO. Errors: those
// of WriteTarget.
Status CheckTarget(const std::string& path);

// Returns whether nobody reads from a pipe or socket any more, after a write to it has failed. False for files and
// devices.
bool ReaderLeft(int fd);

}  // namespace mr
