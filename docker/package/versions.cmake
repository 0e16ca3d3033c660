# Read by cpack: dependencies between the packages. A daemon and its programs are of one build, so the versions are equal.
set(same "(= ${CPACK_PACKAGE_VERSION})")
set(CPACK_DEBIAN_MASTER_PACKAGE_DEPENDS "paceline-client ${same}, systemd, init-system-helpers (>= 1.51)")
set(CPACK_DEBIAN_WORKER_PACKAGE_DEPENDS "paceline-client ${same}, systemd, init-system-helpers (>= 1.51)")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_DEPENDS "libdw1, libcurl4")  # loaded when they are needed, so SHLIBDEPS does not see them
set(CPACK_DEBIAN_RUNTIME_PACKAGE_RECOMMENDS "ca-certificates")  # for https:// inputs
set(CPACK_DEBIAN_SDK_PACKAGE_DEPENDS "paceline-client ${same}")
set(CPACK_DEBIAN_SDK_PACKAGE_RECOMMENDS "cmake, g++, libgtest-dev")
