#include "common/io/local_time.h"

#include <ctime>

namespace mr {

std::string LocalDateTime(uint64_t unix_ms) {
  const auto seconds = static_cast<time_t>(unix_ms / 1000);
  tm parts{};
  localtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

}  // namespace mr
