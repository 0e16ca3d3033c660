// Runs one step of a rotation, for rotation_test: a process that MR_FAULT kills (common/io/fault.h).
#include <cstdio>
#include <string_view>

#include "common/secure/rotation.h"
#include "tests/common/secure/constants.h"

int main(int argc, char** argv) {
  using namespace mr::secure;
  if (argc != 3) return 2;
  const mr::Status status = std::string_view(argv[1]) == "begin" ? BeginRotation(argv[2], kNow)
                                                                 : FinishRotation(argv[2], kNow, true).status();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return status.ok() ? 0 : 1;
}
