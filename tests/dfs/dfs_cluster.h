// A block store in one process: a namespace behind real RPC on loopback, and data servers with
// stores of their own, each on its own KJ thread. Effects are carried out as a master would.
#pragma once

#include <kj/async-io.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/io/clock.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/server.h"
#include "dfs/block/block_server.h"
#include "dfs/client/dfs_client.h"
#include "dfs/meta/service.h"
#include "schema/client.capnp.h"

namespace mr::dfs::test {

inline constexpr uint64_t kCluster = 77;

// A directory of its own, gone at the end.
class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "dfs_test_XXXXXX").string();
    MR_CHECK(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline NamespaceConfig SmallBlocks() {
  NamespaceConfig config;
  config.block_bytes = 1 << 20;
  return config;
}

// Until fn() holds; false after 10 s.
template <class F>
bool Eventually(F fn) {
  for (int i = 0; i < 500; ++i) {
    if (fn()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return false;
}

// One thread that may block.
class TestPool {
 public:
  TestPool() : thread_([this] { Main(); }) {}
  ~TestPool() { Stop(); }
  void Stop() {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
      cv_.notify_one();
    }
    if (thread_.joinable()) thread_.join();
  }
  // Nothing that was not begun runs any more, as on a disk that hangs; Stop drops it.
  void Hold() {
    std::lock_guard lock(mutex_);
    holds_ = true;
  }
  // Ends a Hold.
  void Release() {
    std::lock_guard lock(mutex_);
    holds_ = false;
    cv_.notify_one();
  }
  size_t waiting() {
    std::lock_guard lock(mutex_);
    return queue_.size();
  }
  Pool AsPool() {
    return [this](std::function<void()> fn) {
      std::lock_guard lock(mutex_);
      if (stopping_) return;
      queue_.push_back(std::move(fn));
      cv_.notify_one();
    };
  }

 private:
  void Main() {
    while (true) {
      std::function<void()> fn;
      {
        std::unique_lock lock(mutex_);
        cv_.wait(lock, [this] { return stopping_ || (!holds_ && !queue_.empty()); });
        if (stopping_) return;
        fn = std::move(queue_.front());
        queue_.pop_front();
      }
      fn();
    }
  }
  std::mutex mutex_;
  std::condition_variable cv_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false, holds_ = false;
  std::thread thread_;
};

class DfsCluster;

// A worker, as far as blocks go.
class Node {
 public:
  Node(DfsCluster& cluster, WorkerId id, const std::string& rack);
  ~Node();  // as a crash: connections break, files stay
  WorkerId id() const { return id_; }
  const std::string& address() const { return address_; }
  BlockStore& store() { return *store_; }
  rpc::KjThread& loop() { return *loop_; }
  BlockServer& server() { return *server_; }
  std::string directory() const { return directory_; }
  Incarnation incarnation() const { return incarnation_; }
  TestPool& pool() { return pool_; }

 private:
  DfsCluster& cluster_;
  const WorkerId id_;
  const Incarnation incarnation_;
  std::string directory_;
  std::string address_;
  TestPool pool_;
  std::unique_ptr<BlockStore> store_;
  std::unique_ptr<rpc::KjThread> loop_;
  kj::Own<BlockServer> server_;
  kj::Own<rpc::RpcServer> rpc_;
};

class DfsCluster : public FsHost {
 public:
  DfsCluster(int workers, NamespaceConfig config);
  ~DfsCluster();

  Node& node(int i) { return *nodes_[static_cast<size_t>(i)]; }
  Node& NodeOf(WorkerId id);
  void StartNode(int i);
  // The process is gone; the master has not noticed.
  void Crash(int i) { nodes_[static_cast<size_t>(i)].reset(); }
  // The master notices, and time passes.
  void NoticeLoss(int i);
  void Tick(Duration passed);

  BlockingDfs& client() { return *client_; }
  const std::string& master_address() const { return master_; }
  const std::string& root() const { return root_.path(); }
  // On the owner's thread.
  template <class F>
  auto Ask(F fn) {
    return master_loop_.Run([&] { return fn(static_cast<const Namespace&>(*ns_)); });
  }
  // Called with each record that is asked for, on the owner's thread; not ok: the caller gets that for an answer. The
  // record is applied where `applied` is left true, as by a master whose answer is lost.
  using Intercept = std::function<Status(const Record&, bool* applied)>;
  void OnMutation(Intercept intercept) {
    master_loop_.Run([&] { intercept_ = std::move(intercept); });
  }
  // Any thread: a worker's word.
  void Report(Record record);
  // Calls of clients and workers that wrote one block, and that wrote several.
  struct WriteCalls {
    std::atomic<int> single{0}, grouped{0};
  };
  WriteCalls& write_calls() { return write_calls_; }

 private:
  friend class Node;
  kj::Promise<Changed> Mutate(PrepareFn prepare, std::function<void(const Namespace&)> then) override;
  kj::Promise<void> Query(std::function<void(const Namespace&)> fn) override;
  void Apply(const Record& record);
  Stamp Present() const { return {Instant{Now().ns + shift_.ns}, WallClockMs()}; }

  TempDir root_;
  rpc::KjThread master_loop_{"test-master"};
  rpc::KjThread client_loop_{"test-client"};
  std::unique_ptr<Namespace> ns_;  // on master_loop_
  Duration shift_;                 // on master_loop_
  Intercept intercept_;            // on master_loop_
  WriteCalls write_calls_;
  kj::Own<rpc::RpcServer> rpc_;
  std::string master_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Incarnation> incarnations_;
  std::unique_ptr<BlockingDfs> client_;
};

}  // namespace mr::dfs::test
