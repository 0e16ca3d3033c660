// What one attempt's runner needs of its worker. Made once by Worker; everything here lives on the
// worker's KJ loop unless said otherwise, and outlives all runners.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "common/rpc/kj_thread.h"
#include "worker/daemon/inputs.h"
#include "worker/daemon/library_cache.h"
#include "worker/daemon/output.h"
#include "worker/daemon/pool.h"
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
  // One for each slice of an attempt.
  std::function<std::unique_ptr<Fetcher>(FetchObserver&)> make_fetcher;
  // Of one port, for a dfs:// staging URI; may be empty where the daemon has no block store.
  std::function<std::unique_ptr<OutputSink>(const StageInfo&, uint32_t port, AttemptId)> make_dfs_sink;
  // Sends a report until it is answered; `answered` is called on the loop, once. Empty: no interest.
  // Returns its number, by which it can be withdrawn.
  std::function<uint64_t(Report, std::function<void(Verdict)>)> report;
  // Before the reports without an answer go again: this one shall not, and gets no answer.
  std::function<void(uint64_t)> withdraw;
  Replicator& replicator;
  WorkerRef self;  // id 0 until registered
  std::string scratch_directory, log_directory;
  // Called on the loop when an attempt's output is to stay (its copy can be read from here on), and
  // when the attempt needs no record any more.
  std::function<void(const CopyName&)> on_kept;
  std::function<void(AttemptId)> on_ended;
};

}  // namespace mr::worker
