// Another engine beside ours: a Python program that stays up and runs jobs on request (peer_spark.py, peer_duckdb.py).
#pragma once

#include <string>
#include <vector>

#include "common/io/files.h"
#include "tests/support/process.h"

namespace mr::bench {

class Peer {
 public:
  // Starts the program and waits until it is up. `program`: in tests/bench, with its arguments; log: file for its
  // output. Ends this process if the program does not start.
  Peer(const std::vector<std::string>& program, const std::string& log);
  Peer(Peer&&) = default;
  // Closes the program's input, which ends it.
  ~Peer();

  // Runs a job and waits until it is done. Ends this process if it fails.
  void Run(const std::string& job, const std::vector<std::string>& inputs, const std::string& output,
           const std::string& pattern = "");

 private:
  void Await(const std::string& what);

  std::string name_, log_;
  UniqueFd orders_, answers_;
  test::Process process_;
};

}  // namespace mr::bench
