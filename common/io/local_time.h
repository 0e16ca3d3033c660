// Times of day as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace mr {

// Returns the local date and time: "2026-05-09 07:29:33".
std::string LocalDateTime(uint64_t unix_ms);

}  // namespace mr
