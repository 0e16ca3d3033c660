// A load for fault campaigns: clients submit jobs and put files until they are stopped, and compare every answer with
// that of coreutils. A client acts like a careful user's script. It repeats a request that was not acknowledged, under
// the same submission id. An acknowledged result must be right, and must stay so.
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
    // Returns true if the campaign allows this failure of a command. The command then counts as not acknowledged and is
    // repeated. Default: allows exit codes 5 (no master) and 124 (--timeout).
    std::function<bool(const RunResult&)> may_fail;
  };

  MixedLoad(Cluster& cluster, Options options);
  ~MixedLoad();

  // Writes the inputs, puts them into the block store, computes the answers and starts the clients. Requires: the
  // cluster is ready.
  void Start();
  // Waits until each client has finished an operation that it began after this call. If a client does not within the
  // limit, that is a violation, and the result is false.
  bool WaitForProgress(Duration limit);
  // Lets each client finish its operation, then reads all acknowledged files. Requires: the cluster is ready.
  void Finish();

  // Returns one line per violation, or "": wrong answers, lost files, commands that failed in a way that is not
  // allowed, and clients that hung.
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
  // Runs the command until it succeeds. Returns false if the load was stopped, or after a violation.
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
