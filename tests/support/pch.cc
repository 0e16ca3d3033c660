// The precompiled header of all tests is made with this file (tests/CMakeLists.txt).
