// MR_CHECK: a condition whose failure is a bug of ours. Always on; ends the process, and the
// journal survives. Never for what a user, a peer or a disk can cause: that is a Status.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

namespace mr {

[[noreturn]] inline void CheckFailed(const char* file, int line, const char* condition, const std::string& detail) {
  std::fprintf(stderr, "%s:%d: check failed: %s %s\n", file, line, condition, detail.c_str());
  std::fflush(stderr);
  std::abort();
}

}  // namespace mr

#define MR_CHECK(condition, ...)                                                     \
  do {                                                                               \
    if (!(condition)) [[unlikely]]                                                   \
      ::mr::CheckFailed(__FILE__, __LINE__, #condition, ::std::string(__VA_ARGS__)); \
  } while (false)
