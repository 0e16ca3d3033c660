// Writes to a pipe whose reader may be slow, so that an interrupt still ends mrctl.
#pragma once

#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

// kStop: an interrupt or --timeout ends the writing. kWriteWhileRoom: only an interrupt, if the reader takes nothing.
enum class OnInterrupt { kStop, kWriteWhileRoom };

// Writes all bytes to a pipe, socket, terminal or file. Sets errno to EPIPE if the reader has closed its end, else to
// another value. Errors: kCancelled after an interrupt, with a part of the bytes written; those of write.
Status WriteToReader(int fd, std::string_view bytes, OnInterrupt on_interrupt);

}  // namespace mr::ctl
