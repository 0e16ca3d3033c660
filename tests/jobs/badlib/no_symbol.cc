// A shared library that is no operator library.
extern "C" __attribute__((visibility("default"))) int something_else() { return 1; }
