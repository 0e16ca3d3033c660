// MR_CHECK(condition, detail): ends the process where the condition is false, which is a bug of ours. Always on; the
// journal survives. Never for errors that a user, a peer or a disk can cause: these are a Status.
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
