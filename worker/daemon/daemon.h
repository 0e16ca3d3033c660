// One worker, put together: pool, loop, stores, servers, session, heartbeats. mrworker_main.cc
// makes it from flags. Made and used on the main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/retention.h"
#include "worker/daemon/worker.h"
#include "worker/host/task_host.h"

namespace mr::worker {

class Daemon {
 public:
  struct Options {
    std::string master;  // host:port
    std::string data;    // directory; made where missing
    std::string bind = "127.0.0.1";
    std::string advertise;                   // host by which others reach us; empty: bind
    uint16_t port = 7071, http_port = 7081;  // 0 = any
    SlotLimits slots;
    std::string rack;
    std::vector<std::string> labels;
    std::string builtin_library;
    RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};  // operator libraries and side files
    RetentionLimits logs = {1ull << 30, Seconds(7 * 86400)};        // of attempts
    Duration housekeeping = Seconds(60);                            // between two looks at both
    std::optional<uint64_t> min_free;       // bytes of its disk that stay free of new blocks (FreeSpaceGate)
    uint64_t descriptors = 1024;            // open files that this process may have
    Duration idle_timeout = Seconds(3600);  // of a data connection (rpc::ServerLimits)
    Duration send_timeout = Seconds(30);    // of peers that do not read (rpc::ServerLimits)
  };
  // Takes the lock of the data directory, wipes what belonged to an earlier life, listens, begins to
  // register. host: started before the first thread.
  static Result<std::unique_ptr<Daemon>> Start(Options options, std::unique_ptr<TaskHost> host);
  ~Daemon();

  uint16_t port() const;
  uint16_t http_port() const;

  // No new attempts; waits until those that run are over and reported, at most this long. What is
  // left is killed. Returns whether all came to their end.
  bool Drain(Duration grace);
  // Ends all children and the heartbeats. The rest has no farewell to make: what is on disk is
  // always fit for a crash, so the process may end on the spot.
  void StopChildren();

 private:
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
