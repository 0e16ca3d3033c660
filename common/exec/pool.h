// Threads for work that may block: disks, RocksDB, compression, digests. Results go back to a loop by its Post.
//
// Threads: every method except the destructor may be called on any thread. Closures of a pool run in no particular
// order; those of a strand run one at a time, in their order.
// Ownership: a pool owns its closures until they have run. A closure that will not run is destroyed at once, so what it
// holds need not outlive Stop(). The pool outlives all calls of its strands.
// Errors: closures must not throw.
// Bounds: the queue has none of its own. Each user posts a bounded amount: work for attempts that have a slot, for jobs
// that are open, for unanswered calls (rpc::ServerLimits).
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace mr {

class Strand;

class Pool {
 public:
  explicit Pool(unsigned threads);
  ~Pool();  // Stop()
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Runs a closure on one of the threads. Returns false if the pool is stopped: the closure is dropped.
  bool Post(std::function<void()> fn);
  // Returns Post as a function, for code that needs no more. The pool must outlive it.
  std::function<void(std::function<void()>)> poster() {
    return [this](std::function<void()> fn) { Post(std::move(fn)); };
  }
  std::shared_ptr<Strand> NewStrand();

  // Returns when no closure is queued or running. Must not be called from a closure of this pool.
  void Settle();
  // Ends the threads after the closures that run now. Drops those that are queued. Must not be called from a closure of
  // this pool.
  void Stop();
  // Like Stop, but runs the queued closures first.
  void Finish();

 private:
  void Main();
  void Join();

  std::mutex mutex_;  // guards the queue, busy_ and stopping_
  std::condition_variable wake_, settled_;
  std::deque<std::function<void()>> queue_;
  unsigned busy_ = 0;  // threads that run a closure
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// Runs its closures one at a time, in order, on any thread of its pool. They run even if the strand's last owner has
// dropped it. When the pool stops, what is queued is dropped.
class Strand : public std::enable_shared_from_this<Strand> {
 public:
  explicit Strand(Pool& pool) : pool_(pool) {}  // owned by a shared_ptr: Pool::NewStrand
  void Post(std::function<void()> fn);

 private:
  struct Turn;

  void Schedule();
  void Run();
  void Drop();

  Pool& pool_;
  std::mutex mutex_;  // guards what is below
  std::vector<std::function<void()>> queue_;
  bool scheduled_ = false;  // a turn of the strand is in the pool
};

}  // namespace mr
