// Source file for the precompiled header of libraries that use Cap'n Proto (CMakeLists.txt).
