// Builds projects of the SDK and runs mrctl on them in a directory of its own.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "tests/support/cluster.h"

namespace mr::test {

// Configures, builds and tests a project; returns the output if that fails.
inline std::string BuildProject(const std::string& directory, const std::string& options = "") {
  const std::string build = directory + "/build";
  const RunResult run = RunProgram(
      {"/bin/sh", "-c",
       "cmake -S '" + directory + "' -B '" + build + "' -DCMAKE_BUILD_TYPE=Debug " + options + " && cmake --build '" +
           build + "' --parallel 2 && ctest --test-dir '" + build + "' --output-on-failure"},
      Seconds(300));
  return run.exit == 0 ? "" : run.out + run.err;
}

class SdkTest : public testing::Test {
 protected:
  RunResult Mrctl(const std::vector<std::string>& args, Duration limit = Seconds(60)) {
    SpawnOptions options;
    options.directory = directory_.path();
    options.env = {"TMPDIR=" + directory_.path()};
    return RunMrctl(args, limit, options);
  }
  void Write(const std::string& name, const std::string& text) { std::ofstream(directory_ / name) << text; }

  TempDirectory directory_;
};

}  // namespace mr::test
