// Constants of the tests of common/secure.
#pragma once

#include "common/secure/unix_time.h"

namespace mr::secure {

inline constexpr uint64_t kCluster = 0x123456789abcdef0;
inline constexpr UnixTime kNow{1'800'000'000};  // 2027-01-15

}  // namespace mr::secure
