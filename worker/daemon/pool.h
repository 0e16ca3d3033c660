// The threads that may block: disk, RocksDB, compression, digests. Asio inside; this and stop.h are
// the only places that know it. Results go to the KJ loop by KjThread::Post.
#pragma once

#include <functional>
#include <memory>

namespace mr::worker {

class Pool {
 public:
  // 2 threads a core, at least 4 and at most 16: enough to keep a disk busy while some of them
  // compress (guess).
  static unsigned DefaultThreads();
  explicit Pool(unsigned threads);
  // Drops what has not begun, waits for what has.
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  // Any thread. Closures must not throw. The queue needs no bound of its own: it holds work of attempts that have a
  // slot, of unanswered calls (rpc::ServerLimits), and of repairs that the master asked for.
  void Post(std::function<void()> fn);

  // The same as a value, for those who need no more. The pool must outlive it.
  std::function<void(std::function<void()>)> poster() {
    return [this](std::function<void()> fn) { Post(std::move(fn)); };
  }

  // Closures of one strand run one at a time, in order, on any thread of the pool.
  class Strand {
   public:
    virtual ~Strand() = default;  // what was posted still runs
    virtual void Post(std::function<void()> fn) = 0;
  };
  std::shared_ptr<Strand> NewStrand();

  // Stops as the destructor does; later posts are dropped.
  void Stop();

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mr::worker
