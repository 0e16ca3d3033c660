// Dies before anybody asked it anything.
#include <cstdlib>

namespace {
struct AtLoad {
  AtLoad() { std::abort(); }
} at_load;
}  // namespace

extern "C" __attribute__((visibility("default"))) const void* mr_library_table() { return &at_load; }
