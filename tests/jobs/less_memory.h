// A smaller limit of the data segment while a test runs: operators make smaller tables.
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace mr::builtin {

class LessMemory {
 public:
  explicit LessMemory(uint64_t bytes) {
    getrlimit(RLIMIT_DATA, &before_);
    const rlimit less{bytes, before_.rlim_max};
    setrlimit(RLIMIT_DATA, &less);
  }
  ~LessMemory() { setrlimit(RLIMIT_DATA, &before_); }
  LessMemory(const LessMemory&) = delete;

 private:
  rlimit before_{};
};

}  // namespace mr::builtin
