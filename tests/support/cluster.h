// A real cluster for end-to-end tests: mrmaster and mrworkers as child processes on loopback, each
// on a port of its own choosing, all under one temporary directory. Members can be killed and
// started again (same port, same data). Everything is gone with the object, and with the test
// process however it ends (the daemons hold the read end of a pipe whose write end is here).
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

namespace mr::test {

// Where the binaries of this build are: beside the running test.
std::string BinaryDirectory();

// A directory under $TMPDIR or /tmp, removed with the object.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// The result of a finished command.
struct RunResult {
  int exit = -1;  // 128 + signal where a signal ended it; -1 where it had to be killed at the limit
  std::string out;
  std::string err;
};

// Runs a program to its end (limit: then kill -9).
RunResult RunProgram(const std::vector<std::string>& argv, Duration limit = Seconds(60), SpawnOptions options = {});
// `mrctl args...` without a cluster.
RunResult RunMrctl(const std::vector<std::string>& args, Duration limit = Seconds(60), SpawnOptions options = {});

struct ClusterOptions {
  int workers = 2;
  int slots = 2;
  std::vector<std::string> master_flags;  // behind the class's own, so they win
  std::vector<std::string> worker_flags;
  std::vector<std::vector<std::string>> flags_of;  // one worker's own; none where there are fewer
  std::vector<std::string> labels;                 // of each worker: "k=v,k=v"; none where there are fewer
  std::vector<std::string> env;                    // "NAME=value" for all daemons
  uint64_t open_files = 0;                         // ulimit -n of all daemons; 0 = the test's
  Duration ready_limit = Seconds(20);
};

class Cluster {
 public:
  explicit Cluster(ClusterOptions options = {});
  ~Cluster();
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  // All of them, and waits until each says that it serves. An error holds the end of the log.
  Status Start();

  // One member; index from 0. A start waits until the member serves; after the first start it
  // takes the ports it had before.
  Status StartMaster();
  Status StartWorker(int index);
  void KillMaster();             // kill -9
  void KillWorker(int index);    // kill -9
  Status StopWorker(int index);  // SIGTERM; exit code 0 expected
  Status StopMaster();
  // Its disk is lost too: kill -9, and the data directory is removed.
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
  // The last lines of all logs, for failure messages.
  std::string Logs(int lines = 20) const;

  // mrctl with --master of this cluster.
  RunResult Mrctl(std::vector<std::string> args, Duration limit = Seconds(60), SpawnOptions options = {}) const;
  // The same, in the background; output under directory()/<name>.out and .err.
  Result<Process> MrctlInBackground(const std::vector<std::string>& args, const std::string& name) const;
  // Until `mrctl workers` counts n live ones.
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
  Status StartMember(Member& member, std::vector<std::string> argv);

  const ClusterOptions options_;
  TempDirectory directory_;
  UniqueFd lifeline_read_, lifeline_write_;
  Member master_;
  std::vector<std::unique_ptr<Member>> workers_;
};

}  // namespace mr::test
