// The block store's part of a worker: its replicas, their server, and the client by which attempts
// read dfs:/// splits and write dfs:/// outputs. The store opens before the loop; everything else
// lives on the loop. Disk work has a pool of its own: attempts' strands may wait for the loop, and
// what the loop waits for must not stand behind them.
#pragma once

#include <kj/async.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/rpc/connection.h"
#include "dfs/block/block_server.h"
#include "dfs/block/block_store.h"
#include "dfs/client/dfs_client.h"
#include "worker/daemon/output.h"
#include "worker/daemon/pool.h"
#include "worker/daemon/types.h"

namespace mr::worker {

class BlockHost final : private kj::TaskSet::ErrorHandler {
 public:
  struct Options {
    std::string master;       // host:port
    std::string own_address;  // of our data server
    Incarnation incarnation = 0;
    // All on the loop.
    std::function<void(const BlockName&)> on_durable;
    std::function<void(const std::vector<DamagedBlock>&)> on_damaged;
    std::function<void(const BlockName&, bool source_failed, const std::string& why)> on_not_copied;
    std::function<void(const std::string& why)> on_disk;  // it fails; empty: it works again
  };
  BlockHost(rpc::KjThread& loop, std::unique_ptr<dfs::BlockStore> store, Options options);
  ~BlockHost();

  // After each registration: reports all damage that is known, connects to the namespace where it is not connected,
  // begins to scrub and to probe the disk.
  void Registered(WorkerId self, uint64_t cluster_id);
  // Of an attempt. What cannot be removed now goes with the staging directory when the job has ended. On the loop.
  void RemoveStaged(const std::string& directory);
  dfs::BlockServer& server() { return *server_; }
  // A client that has a connection. Behind a restart of the master attempts come sooner than the connection is there
  // again, so it is waited for; null where that takes too long, or after StopWaiting. On the loop.
  kj::Promise<dfs::DfsClient*> Client();
  // Ends the waits for a client: threads of the pool are held by them.
  void StopWaiting();
  std::vector<BlockName> List() const;
  uint64_t used_bytes() const { return store_->used_bytes(); }
  void Delete(const BlockName& block);
  void EmptyQuarantine(const BlockName& block);
  void Replicate(const BlockName& block, const std::string& to_address);
  // A sink that writes the attempt's part to the block store, hidden until the job's commit.
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
  kj::Own<dfs::DfsClient> client_;  // from the first connection on: what writes goes on with the next one
  bool reached_now_ = false;
  kj::Own<kj::PromiseFulfiller<void>> on_reached_, on_retry_;  // on_retry_ ends the pause before another Connect
  kj::ForkedPromise<void> reached_{nullptr};                   // of the next connection
  bool started_ = false, stopped_ = false;
  // What other threads post to the loop asks it whether this object is still there.
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  kj::TaskSet tasks_;
};

}  // namespace mr::worker
