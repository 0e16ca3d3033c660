// A static constructor that never ends.
#include <atomic>

namespace {
std::atomic<bool> go_on{true};
const int never = [] {
  while (go_on) {
  }
  return 1;
}();
}  // namespace

extern "C" __attribute__((visibility("default"))) const void* mr_library_table() { return &never; }
