// Writes long texts to standard output, whose reader may have read enough.
#pragma once

#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

// Writes the bytes. reader_left: set to whether the reader closed its end, such as head; that is no failure. Ends soon
// after an interrupt or --timeout, even if the reader takes nothing. Errors: of the file system, such as a full disk;
// kCancelled, kDeadline.
Status PrintPiece(std::string_view piece, bool* reader_left);

}  // namespace mr::ctl
