// A library that seems to be built for an ABI of the future.
#include "common/abi/operator_table.h"

extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() {
  static const mr_library library = {MR_ABI_MAGIC, MR_ABI_VERSION + 1, sizeof(mr_library), 0, nullptr, 0, 0,
                                     nullptr,      "a later SDK"};
  return &library;
}
