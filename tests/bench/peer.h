// Another engine beside ours: a Python program that stays up and does what it is told (peer_spark.py, peer_duckdb.py).
#pragma once

#include <string>
#include <vector>

#include "common/io/files.h"
#include "tests/support/process.h"

namespace mr::bench {

class Peer {
 public:
  // Started, and up. `program`: of tests/bench, with its arguments; log: where its output goes. Ends the program where
  // it does not come.
  Peer(const std::vector<std::string>& program, const std::string& log);
  Peer(Peer&&) = default;
  // Its input ends, and it with it.
  ~Peer();

  // Until it is done. Ends the program where it fails.
  void Run(const std::string& job, const std::vector<std::string>& inputs, const std::string& output,
           const std::string& pattern = "");

 private:
  void Await(const std::string& what);

  std::string name_, log_;
  UniqueFd orders_, answers_;
  test::Process process_;
};

}  // namespace mr::bench
