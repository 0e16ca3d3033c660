// Runs one worker process: pool, loop, stores, servers, session and heartbeats. mrworker_main.cc makes it from flags.
// Thread: main.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/codec.h"
#include "common/io/retention.h"
#include "common/rpc/entry_options.h"
#include "common/url/reader.h"
#include "worker/daemon/worker.h"
#include "worker/host/memory_share.h"
#include "worker/host/task_host.h"

namespace mr::worker {

class Daemon {
 public:
  struct Options {
    std::string master;  // host:port or unix:/path; empty: that of the join file
    std::string data;    // created if missing
    std::string name;    // of this worker, for good; empty: the one that `data` has, or a random one
    std::string bind = "127.0.0.1";
    std::string advertise;                   // host by which others reach this worker; empty: bind
    uint16_t port = 7071, http_port = 7081;  // 0 = any
    std::string http_bind = "127.0.0.1";
    std::string file_roots;   // rpc::FileRootsFor
    url::Settings urls;       // which URLs jobs may read, and how
    std::string join;         // join file, or - for standard input: for a worker without a certificate; empty: none
    rpc::EntryOptions entry;  // who may connect to the RPC port
    SlotLimits slots;
    std::shared_ptr<MemoryShare> memory;  // of attempts; null: not limited
    std::string rack;
    std::vector<std::string> labels;
    std::string builtin_library;
    RetentionLimits libraries = {8ull << 30, Seconds(30 * 86400)};  // operator libraries and side files
    RetentionLimits logs = {1ull << 30, Seconds(7 * 86400)};        // of attempts
    uint64_t owner_log_bytes = 512ull << 20;                        // of the logs of one owner's jobs; 0: no limit
    Duration housekeeping = Seconds(60);                            // period of both checks
    CodecPolicy codec;                                              // of shuffle outputs
    bool direct_io = true;                                          // write large blocks past the page cache
    std::optional<uint64_t> min_free;                               // bytes kept free on its disk (FreeSpaceGate)
    uint64_t descriptors = 1024;                                    // limit of open files of this process
    Duration idle_timeout = Seconds(3600);                          // of a data connection (rpc::ServerLimits)
    Duration send_timeout = Seconds(30);                            // of peers that do not read (rpc::ServerLimits)
  };
  // Locks the data directory, removes the data of an earlier incarnation, listens, and starts to register. host:
  // started before the first thread.
  static Result<std::unique_ptr<Daemon>> Start(Options options, std::unique_ptr<TaskHost> host);
  ~Daemon();

  uint16_t port() const;
  uint16_t http_port() const;
  // Returns a function that runs a closure on the control loop, which must not stand still. It lives until this daemon
  // ends.
  std::function<void(std::function<void()>)> loop();

  // Takes no new attempts and waits at most this long until the running ones have ended and been reported. Kills the
  // rest. Returns whether all ended by themselves.
  bool Drain(Duration grace);
  // Ends all children and the heartbeats. Nothing else needs a shutdown: the data on disk survive a crash at any time,
  // so the process may exit.
  void StopChildren();

 private:
  struct Impl;
  explicit Daemon(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::worker
