// The parts of a worker that an attempt's runner uses. Made once per worker, and outlives all runners. Everything here
// lives on the worker's KJ loop unless a comment says otherwise.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/exec/pool.h"
#include "common/rpc/kj_thread.h"
#include "worker/daemon/disk_watch.h"
#include "worker/daemon/inputs.h"
#include "worker/daemon/library_cache.h"
#include "worker/daemon/output.h"
#include "worker/daemon/side_files.h"
#include "worker/daemon/types.h"
#include "worker/host/task_host.h"
#include "worker/shuffle/fetch.h"
#include "worker/shuffle/replicate.h"

namespace mr::worker {

struct Services {
  rpc::KjThread& loop;
  Pool& pool;
  TaskHost& host;
  ShuffleStore& store;  // on the pool, where it may touch the disk
  LibraryCache& libraries;
  SideFiles& side_files;
  Directory& directory;
  InputOpener& inputs;
  const FileRoots& file_roots;
  // Makes one fetcher per slice of an attempt.
  std::function<std::unique_ptr<Fetcher>(FetchObserver&)> make_fetcher;
  // Makes the sink of one port for a dfs:// staging URI. Empty if the daemon has no block store.
  std::function<std::unique_ptr<OutputSink>(const StageInfo&, uint32_t port, AttemptId)> make_dfs_sink;
  // Sends a report until it is answered. `answered` is called once, on the loop; it may be empty. Returns the report's
  // number, for withdraw.
  std::function<uint64_t(Report, std::function<void(Verdict)>)> report;
  // Removes a report before the unanswered ones are sent again. It gets no answer.
  std::function<void(uint64_t)> withdraw;
  Replicator& replicator;
  WorkerRef self;                 // id 0 until registered
  std::string scratch_directory;  // has one directory for each job
  std::string log_directory;
  // Called on the loop: on_kept when an attempt's output stays (its replica can be read from then on), on_ended when
  // the attempt's record is no longer needed.
  std::function<void(const Replica&)> on_kept;
  std::function<void(AttemptId)> on_ended;
  DiskWatch* disk = nullptr;  // null: it is not watched
  // Called on the loop when the attempt no longer holds its slot.
  std::function<void(AttemptId)> on_slot_free;
};

}  // namespace mr::worker
