// A private cluster of one command: mrmaster and N mrworkers as child processes on loopback, with a directory that only
// this user can read. The binaries are those of any cluster.
//
// Nothing of it outlives mrctl, however mrctl ends. Each daemon holds the read end of a pipe, and only mrctl holds its
// write end (--lifeline_fd). A guardian process, which is forked first and holds nothing else, waits for the daemons
// and removes the directory. All of them are in separate process groups, so that a terminal's Ctrl-C reaches only
// mrctl.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "common/io/secret_file.h"

namespace mr::ctl {

struct LocalClusterOptions {
  int workers = 2;
  std::string scheduler;  // --scheduler of the master; empty: its default
};

class LocalCluster {
 public:
  // Makes the directory and forks the guardian. Requires: no thread has been started yet.
  static Result<std::unique_ptr<LocalCluster>> Prepare(LocalClusterOptions options);
  // Ends the cluster and waits until nothing is left of it.
  ~LocalCluster();
  LocalCluster(const LocalCluster&) = delete;
  LocalCluster& operator=(const LocalCluster&) = delete;

  // Starts the daemons and waits until they serve. Errors: kInternal with the end of a daemon's log, if it did not
  // become ready; kInvalidArgument if a daemon refused a setting of the user.
  Status Start();

  const std::string& address() const { return address_; }      // of the master
  const std::string& directory() const { return directory_; }  // private; callers may make "in" and "out" in it
  // Errors: kInternal with the end of a log, when the master or all workers have ended.
  Status CheckAlive();

 private:
  struct Daemon {
    std::string name, log;
    pid_t pid = 0;
    UniqueFd ready;
    bool ended = false;
    int wait_status = 0;  // of waitpid, if it has ended
  };
  explicit LocalCluster(LocalClusterOptions options) : options_(std::move(options)) {}
  Status Spawn(const std::string& name, std::vector<std::string> argv);
  Result<uint16_t> WaitReady(Daemon& daemon);
  Status Broken(const Daemon& daemon, const std::string& what) const;

  const LocalClusterOptions options_;
  std::string directory_, address_;
  DaemonSecret secret_;  // of all daemons; each gets it by a descriptor, and this process presents it
  UniqueFd lifeline_read_, lifeline_write_;
  UniqueFd guardian_pipe_;  // pids go in; closing it makes the guardian begin
  pid_t guardian_ = 0;
  std::vector<Daemon> daemons_;  // [0] is the master
};

}  // namespace mr::ctl
