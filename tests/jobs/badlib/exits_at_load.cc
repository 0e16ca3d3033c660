// A static constructor that ends the process, and says that all is well.
#include <stdlib.h>

namespace {
const int gone = [] {
  exit(0);
  return 1;
}();
}  // namespace

extern "C" __attribute__((visibility("default"))) const void* mr_library_table() { return &gone; }
