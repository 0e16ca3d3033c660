// Calls what nothing defines.
extern "C" int a_symbol_that_nobody_has();
extern "C" __attribute__((visibility("default"))) const void* mr_library_table() {
  a_symbol_that_nobody_has();
  return nullptr;
}
