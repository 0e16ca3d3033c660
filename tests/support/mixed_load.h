// A load for fault campaigns: clients that submit jobs and put files until they are stopped, and compare every answer
// with one that coreutils gave before. A client acts as a careful user's script: what was not acknowledged it asks for
// again under the same submission id; what was acknowledged must be right, and stay.
//
//   MixedLoad load(cluster, {});
//   load.Start();
//   ... faults; after each of them load.WaitForProgress() ...
//   load.Finish();   // stops the clients, reads each acknowledged file again
//   EXPECT_EQ(load.Violations(), "");
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/cluster.h"

namespace mr::test {

class MixedLoad {
 public:
  struct Options {
    uint64_t seed = 1;
    int job_clients = 2;
    uint64_t lines = 8'000;  // of each input; 30 to 40 bytes a line
    // True for an end of a command that this campaign allows: then the command is repeated, as one that was not
    // acknowledged. The default allows that the master cannot be reached (5) and that --timeout ran out (124).
    std::function<bool(const RunResult&)> may_fail;
  };

  MixedLoad(Cluster& cluster, Options options);
  ~MixedLoad();

  // Writes the inputs, puts them into the block store, computes the answers, starts the clients. The cluster serves.
  void Start();
  // Until each client has finished something that it began after this call. A client that does not within the limit is
  // a violation, and false.
  bool WaitForProgress(Duration limit);
  // Lets each client end what it does, and reads all acknowledged files. The cluster serves.
  void Finish();

  // One line each: wrong answers, lost files, commands that ended as they must not, clients that hung. Empty: none.
  std::string Violations() const;
  uint64_t jobs_done() const { return jobs_done_; }
  uint64_t files_put() const { return files_put_; }
  uint64_t repeated() const { return repeated_; }  // commands that were not acknowledged at first

 private:
  struct Kind {
    std::string name;
    std::vector<std::string> args;  // of submit, without --output
    std::string answer;             // sorted lines
  };

  void RunJobs(int client);
  void PutFiles(int client);
  // True when it ended with 0, with its output; false when the load was stopped or on a violation.
  bool Repeat(const std::vector<std::string>& args, RunResult* run);
  bool OneJob(int client, uint64_t number, const Kind& kind);
  void Violation(const std::string& text);
  std::string Path(const std::string& name) const { return cluster_.directory() + "/load/" + name; }

  Cluster& cluster_;
  const Options options_;
  std::vector<Kind> kinds_;
  std::vector<std::string> files_;  // local files that are put, each with another content
  std::vector<std::thread> clients_;
  std::atomic<bool> stop_{false};
  std::vector<std::atomic<uint64_t>> began_, ended_;  // operations of each client
  std::atomic<uint64_t> jobs_done_{0}, files_put_{0}, repeated_{0};
  mutable std::mutex mutex_;
  std::map<std::string, size_t> put_;  // path in the block store -> index into files_, of acknowledged puts
  std::set<std::string> violations_;
};

}  // namespace mr::test
