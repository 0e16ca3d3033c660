// The inputs of ./dev bench speed: generated once, stored beside the build, equal on every machine.
#pragma once

#include <cstdint>
#include <string>

namespace mr::bench {

struct SpeedData {
  std::string directory;
  double scale = 1;  // of all sizes; .1 in tests of a change

  // Each makes its file unless it exists, and returns its path. Ends the process on errors.
  // Linux: Debian's kernel source as one text, 1.3 GB, 12 M distinct words; the head of it below scale 1.
  std::string Linux() const;
  std::string FewWords() const;  // 1 GB, 50,000 distinct words, Zipf-distributed
  std::string TeraSort() const;  // 1 GB: lines of 100 bytes, the first 10 of each random
  std::string Left() const;      // CSV id,name: 1e7 rows, each id once
  std::string Right() const;     // CSV id,amount,note: 2e7 rows, ids of the left, each twice on average
  std::string Log() const;       // 8e6 lines of a web server's log in Apache's combined form, 1.1 GB

 private:
  template <class Fill>
  std::string Make(const std::string& name, Fill&& fill) const;
};

// The number of lines of a file and the sum of their digests, independent of their order.
struct LinesDigest {
  uint64_t lines = 0, sum = 0;
  bool operator==(const LinesDigest&) const = default;
};
LinesDigest DigestOfLines(const std::string& path);

}  // namespace mr::bench
