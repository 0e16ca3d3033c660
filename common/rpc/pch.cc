// The precompiled header of libraries that use Cap'n Proto is made with this file (CMakeLists.txt).
