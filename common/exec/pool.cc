#include "common/exec/pool.h"

#include <utility>

namespace mr {

Pool::Pool(unsigned threads) {
  for (unsigned i = 0; i < threads; ++i) threads_.emplace_back([this] { Main(); });
}

Pool::~Pool() { Stop(); }

bool Pool::Post(std::function<void()> fn) {
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return false;
    queue_.push_back(std::move(fn));
  }
  wake_.notify_one();
  return true;
}

std::shared_ptr<Strand> Pool::NewStrand() { return std::make_shared<Strand>(*this); }

void Pool::Settle() {
  std::unique_lock lock(mutex_);
  settled_.wait(lock, [this] { return queue_.empty() && busy_ == 0; });
}

void Pool::Stop() {
  // Destroyed last, after the threads have ended: a closure may own what another one uses.
  std::deque<std::function<void()>> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    dropped.swap(queue_);
  }
  Join();
}

void Pool::Finish() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  Join();
}

void Pool::Join() {
  wake_.notify_all();
  for (auto& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void Pool::Main() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
    if (queue_.empty()) return;
    std::function<void()> fn = std::move(queue_.front());
    queue_.pop_front();
    ++busy_;
    lock.unlock();
    fn();
    fn = nullptr;
    lock.lock();
    if (--busy_ == 0 && queue_.empty()) settled_.notify_all();
  }
}

// One turn of a strand, while it waits in the pool. If the pool drops it, the strand drops its queue: its closures may
// own the strand.
struct Strand::Turn {
  explicit Turn(std::shared_ptr<Strand> s) : strand(std::move(s)) {}
  ~Turn() {
    if (strand != nullptr) strand->Drop();
  }
  std::shared_ptr<Strand> strand;
};

void Strand::Post(std::function<void()> fn) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(fn));
    if (std::exchange(scheduled_, true)) return;
  }
  Schedule();
}

void Strand::Schedule() {
  pool_.Post([turn = std::make_shared<Turn>(shared_from_this())] { std::exchange(turn->strand, nullptr)->Run(); });
}

// Runs what is queued now. Closures that arrive meanwhile get a turn of their own, after the pool's other work.
void Strand::Run() {
  std::vector<std::function<void()>> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(queue_);
  }
  for (auto& fn : batch) {
    fn();
    fn = nullptr;
  }
  {
    const std::lock_guard lock(mutex_);
    if (queue_.empty()) {
      scheduled_ = false;
      return;
    }
  }
  Schedule();
}

void Strand::Drop() {
  std::vector<std::function<void()>> dropped;
  const std::lock_guard lock(mutex_);
  dropped.swap(queue_);
  scheduled_ = false;
}

}  // namespace mr
