// Paths of the routes of the pages.
#pragma once

#include <string>

namespace mr::web {

// Puts an id where a pattern has ID.
inline std::string PathFor(std::string pattern) {
  const size_t at = pattern.find("ID");
  if (at == std::string::npos) return pattern;
  const char* id = pattern.find("/workers/") != std::string::npos    ? "w1"
                   : pattern.find("/attempts/") != std::string::npos ? "attempt_1_0001_0_m_000000_1"
                                                                     : "job_1_0001";
  return pattern.replace(at, 2, id);
}

}  // namespace mr::web
