// A real cluster for end-to-end tests: mrmaster and mrworkers as child processes on loopback, each on a free port, all
// under one temporary directory. Members can be killed and started again (same port, same data). The destructor removes
// everything. The daemons also end with the test process, however it ends: they hold the read end of a pipe, and the
// test holds its write end.
//
//   test::Cluster cluster({.workers = 3});
//   ASSERT_TRUE(cluster.Start().ok());
//   auto run = cluster.Mrctl({"submit", "wordcount", "--input", ..., "--output", ...});
//   EXPECT_EQ(run.exit, 0) << run.err;
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"
#include "tests/support/process.h"
#include "tests/support/temp_directory.h"

namespace mr::test {

// Returns the directory of this build's binaries, which is that of the running test.
std::string BinaryDirectory();

// The result of a finished command.
struct RunResult {
  int exit = -1;  // 128 + signal if a signal ended it; -1 if it was killed at the time limit
  std::string out;
  std::string err;
};

// Runs a program to its end. limit: after it, the program is killed (SIGKILL).
RunResult RunProgram(const std::vector<std::string>& argv, Duration limit = Seconds(60), SpawnOptions options = {});
// Runs `mrctl args...` without a cluster.
RunResult RunMrctl(const std::vector<std::string>& args, Duration limit = Seconds(60), SpawnOptions options = {});

struct ClusterOptions {
  int workers = 2;
  int slots = 2;
  std::vector<std::string> master_flags;  // added after the class's own flags, so they override them
  std::vector<std::string> worker_flags;
  std::vector<std::vector<std::string>> flags_of;  // element i: further flags of worker i; missing: none
  std::vector<std::string> labels;                 // element i: labels of worker i, "k=v,k=v"; missing: none
  std::vector<std::string> env;                    // "NAME=value" for all daemons
  uint64_t open_files = 0;                         // ulimit -n of all daemons; 0 = the test's
  std::string host = "127.0.0.1";                  // address of the master; another one: --insecure for all
  std::vector<int> networks;                       // element i: network namespace of worker i; missing: the test's
  Duration ready_limit = Seconds(20);
  std::string binaries;  // directory of the daemons and mrctl of another build; empty: BinaryDirectory()
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // Starts all members and waits until each is ready. Errors contain the end of the log.
  Status Start();

  // Each starts or ends one member; index from 0. A start waits until the member is ready. A restarted member takes the
  // ports that it had before.
  Status StartMaster();
  Status StartWorker(int index);
  void KillMaster();             // kill -9
  void KillWorker(int index);    // kill -9
  Status StopWorker(int index);  // SIGTERM; exit code 0 expected
  Status StopMaster();
  // Kills the worker (kill -9) and removes its data directory, as if its disk were lost, too.
  void LoseWorker(int index);

  std::string master_address() const;
  uint16_t master_port() const;
  uint16_t master_http_port() const;
  uint16_t worker_port(int index) const;
  uint16_t worker_http_port(int index) const;
  pid_t master_pid() const;
  pid_t worker_pid(int index) const;
  int workers() const;
  const std::string& directory() const { return directory_.path(); }
  std::string worker_data(int index) const;
  std::string master_data() const;
  // Returns the last lines of all logs, for failure messages.
  std::string Logs(int lines = 20) const;

  // Runs mrctl with --master of this cluster.
  RunResult Mrctl(std::vector<std::string> args, Duration limit = Seconds(60), SpawnOptions options = {}) const;
  // Starts mrctl in the background. Its output goes to directory()/<name>.out and .err.
  Result<Process> MrctlInBackground(const std::vector<std::string>& args, const std::string& name) const;
  // Waits until `mrctl workers` lists n live workers.
  Status WaitForWorkers(int n, Duration limit = Seconds(20)) const;

 private:
  struct Member {
    std::string name;  // "master", "worker-0"
    Process process;
    uint16_t port = 0;
    uint16_t http_port = 0;
    std::string data;
    std::string log;
  };
  // Its daemons run with --insecure: mrctl gets MR_INSECURE=1.
  bool Insecure() const;
  std::string Binary(const std::string& name) const;
  Status StartMember(Member& member, std::vector<std::string> argv, int network);

  const ClusterOptions options_;
  TempDirectory directory_;
  UniqueFd lifeline_read_, lifeline_write_;
  Member master_;
  std::vector<std::unique_ptr<Member>> workers_;
};

}  // namespace mr::test
