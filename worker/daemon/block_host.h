// The block store of a worker: its replicas, their server, and the client by which attempts read dfs:/// splits and
// write dfs:/// outputs.
//
// The store opens before the loop; everything else lives on the loop. Disk work has a pool of its own: strands of
// attempts may wait for the loop, so work that the loop waits for must not queue behind them.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/pool.h"
#include "common/rpc/connection.h"
#include "dfs/block/block_server.h"
#include "dfs/block/block_store.h"
#include "dfs/client/dfs_client.h"
#include "worker/daemon/output.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class BlockHost final : private kj::TaskSet::ErrorHandler {
 public:
  struct Options {
    std::string master;       // host:port
    std::string own_address;  // of this worker's data server
    Incarnation incarnation = 0;
    // All are called on the loop.
    std::function<void(const BlockRef&)> on_durable;
    std::function<void(const std::vector<DamagedBlock>&)> on_damaged;
    std::function<void(const BlockRef&, bool source_failed, const std::string& why)> on_not_copied;
    std::function<void(const std::string& why)> on_disk;  // why it fails; empty: it works again
  };
  BlockHost(rpc::KjThread& loop, std::unique_ptr<dfs::BlockStore> store, Options options);
  ~BlockHost();

  // Called after each registration. Reports all known damage and connects to the namespace if it is not connected. The
  // first call also starts to scrub and to probe the disk.
  void Registered(WorkerId self, uint64_t cluster_id);
  // Removes an attempt's staging directory. If that fails, it is removed with the job's staging directory at the end of
  // the job. Thread: the loop.
  void RemoveStaged(const std::string& directory);
  dfs::BlockServer& server() { return *server_; }
  // Returns a client that has a connection. Attempts run on while the master is away, so this waits until it is back.
  // Null when it has been away for 120 s (kReachLimit), 10 s after the call at the earliest, and after StopWaiting.
  // Thread: the loop.
  kj::Promise<dfs::DfsClient*> Client();
  // Ends all waits for a client, because they hold threads of the pool.
  void StopWaiting();
  std::vector<BlockRef> List() const;
  uint64_t used_bytes() const { return store_->used_bytes(); }
  void Delete(const BlockRef& block);
  void EmptyQuarantine(const BlockRef& block);
  // Carries the command out.
  void Replicate(const command::ReplicateBlock& command);
  // Returns a sink that writes the attempt's part to the block store, hidden until the job's commit.
  std::unique_ptr<OutputSink> MakeSink(const StageInfo& stage, uint32_t port, AttemptId attempt);

 private:
  void taskFailed(kj::Exception&& exception) override;
  void Connect();
  void Connected(rpc::FileSystem::Client files);
  void Disconnected();
  void ExpectClient();
  void ScrubLater();
  void ProbeLater();
  void ObserveStore();

  rpc::KjThread& loop_;
  const std::unique_ptr<dfs::BlockStore> store_;
  const Options options_;
  Pool pool_{4};
  rpc::Hello hello_;
  kj::Own<dfs::BlockServer> server_;
  kj::Own<rpc::RpcConnection> connection_;
  kj::Own<dfs::DfsClient> client_;  // from the first connection on: writers continue with the next one
  bool reached_now_ = false;
  Instant gone_at_;                                            // when the connection last broke
  Duration pause_;                                             // before the next Connect, after one that fails
  kj::Own<kj::PromiseFulfiller<void>> on_reached_, on_retry_;  // on_retry_ ends the pause before the next Connect
  kj::ForkedPromise<void> reached_{nullptr};                   // fulfilled by the next connection
  bool started_ = false, stopped_ = false;
  // False after destruction. Closures that other threads post to the loop check it.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kj::TaskSet tasks_;
};

}  // namespace mr::worker
