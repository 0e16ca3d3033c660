// Libraries that mrtask must refuse, one per BROKEN_* define.
#include "common/abi/operator_table.h"

#if defined(BROKEN_ABI) || defined(BROKEN_MAGIC)
extern "C" __attribute__((visibility("default"))) const mr_library* mr_library_table() {
  static mr_library library{};
  library.magic = MR_ABI_MAGIC;
  library.abi = MR_ABI_VERSION;
  library.struct_size = sizeof library;
#if defined(BROKEN_ABI)
  library.abi = 99;
#else
  library.magic = 7;
#endif
  return &library;
}
#elif defined(BROKEN_UNDEFINED)
extern "C" int a_symbol_that_nobody_has();
extern "C" const mr_library* mr_library_table() {
  a_symbol_that_nobody_has();
  return nullptr;
}
#elif defined(BROKEN_CRASH)
static const int crash = [] {
  __builtin_trap();
  return 1;
}();
extern "C" int unused() { return crash; }
#else
extern "C" int nothing_to_see() { return 0; }
#endif
