// The inputs of ./dev bench speed: made once, kept beside the build, the same on each machine.
#pragma once

#include <cstdint>
#include <string>

namespace mr::bench {

struct SpeedData {
  std::string directory;
  double scale = 1;  // of all sizes; the tests of a change take .1

  // Each makes its file where that is not there yet, and gives its path. They end the program where they cannot.
  std::string Linux()
      const;  // Debian's kernel source as one text, 1.3 GB with 12 M distinct words; a head of it below scale 1
  std::string FewWords() const;  // 1 GB, 50,000 distinct words, as Zipf has them
  std::string TeraSort() const;  // 1 GB: lines of 100 bytes, the first 10 of each random
  std::string Left() const;      // CSV id,name: 1e7 rows, each id once
  std::string Right() const;     // CSV id,amount,note: 2e7 rows, ids of the left, each twice on average

 private:
  template <class Fill>
  std::string Make(const std::string& name, Fill&& fill) const;
};

// Of all lines of these files, whatever their order: how many, and a sum of their digests.
struct LinesDigest {
  uint64_t lines = 0, sum = 0;
  bool operator==(const LinesDigest&) const = default;
};
LinesDigest DigestOfLines(const std::string& path);

}  // namespace mr::bench
