// Removes files that would otherwise grow for ever: staging of ended jobs, operator libraries and side files, logs.
#pragma once

#include <set>
#include <string>

#include "common/exec/loop.h"
#include "master/host/block_store.h"
#include "master/host/driver.h"
#include "master/host/host_clock.h"
#include "master/host/kept_logs.h"
#include "master/host/libraries.h"
#include "master/host/outlets.h"
#include "master/host/submissions.h"

namespace mr::master {

// Thread: the master's; directories are read and changed on pool threads.
class Housekeeping {
 public:
  Housekeeping(const HostOptions& options, MasterCore& core, HostClock& clock, Loop& loop, Outlets& outlets,
               BlockStore& block_store, const Submissions& submissions, Libraries& libraries, KeptLogs& logs);

  // Runs once per HostOptions::housekeeping from here on.
  void Tick();
  // Returns the SHA-256 of libraries and side files that jobs name which are planned or have not ended.
  std::set<std::string> FilesInUse() const;
  // Removes the file of an upload that was given up.
  void RemovePart(const std::string& part);

 private:
  void SweepStaging();
  void TrimLibraries();

  const HostOptions& options_;
  MasterCore& core_;
  HostClock& clock_;
  Loop& loop_;
  Outlets& outlets_;
  BlockStore& block_store_;
  const Submissions& submissions_;
  Libraries& libraries_;
  KeptLogs& logs_;
  bool trimming_ = false;  // a trim of the libraries is under way
};

}  // namespace mr::master
