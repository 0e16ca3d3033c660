// The threads that may block: disk, RocksDB, compression, digests. Results return to the KJ loop by KjThread::Post.
// Only this class and stop.h use Asio.
#pragma once

#include <functional>
#include <memory>

namespace mr::worker {

class Pool {
 public:
  // Returns 2 threads per core, at least 4 and at most 16: enough to keep a disk busy while some of them compress
  // (guess).
  static unsigned DefaultThreads();
  explicit Pool(unsigned threads);
  // Drops closures that have not begun, and waits for the others.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Any thread. Closures must not throw. The queue needs no bound of its own: it holds work of attempts that have a
  // slot, of unanswered calls (rpc::ServerLimits), and of repairs that the master ordered.
  void Post(std::function<void()> fn);

  // Returns Post as a function, for code that needs no more. The pool must outlive it.
  std::function<void(std::function<void()>)> poster() {
    return [this](std::function<void()> fn) { Post(std::move(fn)); };
  }

  // Runs its closures one at a time, in order, on any thread of the pool.
  class Strand {
   public:
    virtual ~Strand() = default;  // posted closures still run
    virtual void Post(std::function<void()> fn) = 0;
  };
  std::shared_ptr<Strand> NewStrand();

  // Stops like the destructor. Later posts are dropped.
  void Stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mr::worker
