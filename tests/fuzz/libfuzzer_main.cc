// One target under libFuzzer. MR_FUZZ_TARGET: its name in target.h. With `--write-seeds DIRECTORY` it writes the seeds
// there and ends.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "tests/fuzz/target.h"

using mr::fuzz::MR_FUZZ_TARGET;

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc != 3 || std::string((*argv)[1]) != "--write-seeds") return 0;
  const std::string directory = (*argv)[2];
  int number = 0;
  for (const std::string& seed : MR_FUZZ_TARGET.seeds()) {
    std::ofstream file(directory + "/seed-" + std::to_string(number++), std::ios::binary);
    file.write(seed.data(), static_cast<std::streamsize>(seed.size()));
    if (!file.flush()) {
      std::fprintf(stderr, "cannot write seeds to '%s'; does the directory exist?\n", directory.c_str());
      std::exit(1);
    }
  }
  std::exit(0);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  MR_FUZZ_TARGET.run({reinterpret_cast<const char*>(data), size});
  return 0;
}
