// A private cluster of one command: mrmaster and N mrworkers as child processes on loopback, in a
// directory that nobody else can read; the same binaries as any cluster's.
//
// Nothing of it outlives mrctl, however that ends: each daemon holds the read end of a pipe whose
// write end only mrctl has (--lifeline_fd), and a guardian process, forked first and holding
// nothing else, waits for the daemons and removes the directory. They stand in process groups of
// their own, so that a terminal's Ctrl-C reaches mrctl alone.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"

namespace mr::ctl {

struct LocalClusterOptions {
  int workers = 2;
  std::string scheduler;  // --scheduler of the master; empty: its default
};

class LocalCluster {
 public:
  // Makes the directory and forks the guardian. REQUIRES: no thread has been started yet.
  static Result<std::unique_ptr<LocalCluster>> Prepare(LocalClusterOptions options);
  // Ends the cluster and waits until nothing is left of it.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Starts the daemons and waits until they serve. kInternal with the end of the log of the one
  // that did not come up; kInvalidArgument where it refused what we were told to give it.
  Status Start();

  const std::string& address() const { return address_; }      // of the master
  const std::string& directory() const { return directory_; }  // private; "in", "out" may be made there
  // kInternal with the end of its log when the master, or every worker, has ended.
  Status CheckAlive();

 private:
  struct Daemon {
    std::string name, log;
    pid_t pid = 0;
    UniqueFd ready;
    bool ended = false;
  };
  explicit LocalCluster(LocalClusterOptions options) : options_(std::move(options)) {}
  Status Spawn(const std::string& name, std::vector<std::string> argv);
  Result<uint16_t> WaitReady(Daemon& daemon);
  Status Broken(const Daemon& daemon, const std::string& what) const;

  const LocalClusterOptions options_;
  std::string directory_, address_;
  UniqueFd lifeline_read_, lifeline_write_;
  UniqueFd guardian_pipe_;  // pids go in; its end tells the guardian to begin
  pid_t guardian_ = 0;
  std::vector<Daemon> daemons_;  // [0] is the master
};

}  // namespace mr::ctl
