// Writes long texts to standard output, whose reader may have read enough.
#pragma once

#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

// Writes the bytes. reader_left: set to whether the reader closed its end, such as head; that is no failure. Errors: of
// the file system, such as a full disk.
Status WriteStdout(std::string_view bytes, bool* reader_left);

// Like WriteStdout, but ends soon after an interrupt even if the reader takes nothing. Errors: also kCancelled.
Status PrintPiece(std::string_view piece, bool* reader_left);

}  // namespace mr::ctl
