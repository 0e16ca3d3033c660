// MR_CHECK(condition, detail): ends the process if the condition is false, which is a bug in Paceline. Also active in
// release builds: the journal survives the abort. Not for errors that a user, a peer or a disk can cause: these are a
// Status.
#pragma once

#include <string_view>

namespace mr {

// Prints the place, the condition and the detail to stderr, and aborts. Out of line: each check of the tree compiles to
// a branch and this call.
[[noreturn, gnu::cold]] void CheckFailed(const char* file, int line, const char* condition, std::string_view detail);

}  // namespace mr

// Aborts if the condition is false. The detail is computed only then.
#define MR_CHECK(condition, ...)                                                          \
  do {                                                                                    \
    if (!(condition)) [[unlikely]]                                                        \
      ::mr::CheckFailed(__FILE__, __LINE__, #condition, ::std::string_view(__VA_ARGS__)); \
  } while (false)
