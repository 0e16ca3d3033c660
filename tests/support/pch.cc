// The source file from which the precompiled header of all tests is built (tests/CMakeLists.txt).
