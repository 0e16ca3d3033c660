#include "common/rpc/kj_thread.h"

#include <pthread.h>
#include <signal.h>

#include <cstdio>
#include <optional>

namespace mr::rpc {

KjThread::KjThread(const std::string& name) {
  thread_ = std::thread([this, name] { Main(name); });
  std::unique_lock lock(mutex_);
  started_cv_.wait(lock, [this] { return started_; });
}

KjThread::~KjThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (wake_.get() != nullptr) wake_->fulfill();
    wake_ = nullptr;
  }
  thread_.join();
}

void KjThread::Post(kj::Function<void()> fn) {
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> wake;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(kj::mv(fn));
    wake = kj::mv(wake_);
  }
  // One wake per batch: the loop arms it again when the queue is empty. Not under the lock, which the
  // loop takes first when it wakes.
  if (wake.get() != nullptr) wake->fulfill();
}

void KjThread::Main(const std::string& name) {
  pthread_setname_np(pthread_self(), name.c_str());
  // KJ 0.9 writes to sockets without MSG_NOSIGNAL. A closed connection must be an error on this thread,
  // not the end of the process. A mask, unlike SIG_IGN, does not reach child processes.
  sigset_t pipe_signal;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe_signal, nullptr);
  auto io = kj::setupAsyncIo();
  {
    std::optional<kj::TaskSet> tasks;
    tasks.emplace(static_cast<kj::TaskSet::ErrorHandler&>(*this));
    {
      std::lock_guard lock(mutex_);
      io_ = &io;
      tasks_ = &*tasks;
      started_ = true;
    }
    started_cv_.notify_one();
    // Each round has promises of its own: one chain for the life of the thread would grow.
    for (bool waited = false;;) {
      std::vector<kj::Function<void()>> batch;
      kj::Promise<void> wake = nullptr;
      {
        // One lock for both: a destructor that came between them would wake nobody, and wait for ever.
        std::lock_guard lock(mutex_);
        if (stopping_) break;
        if (queue_.empty()) {
          auto paf = kj::newPromiseAndCrossThreadFulfiller<void>();
          wake_ = kj::mv(paf.fulfiller);
          wake = kj::mv(paf.promise);
        } else {
          batch.swap(queue_);
        }
      }
      if (batch.empty()) {
        wake.wait(io.waitScope);
        waited = true;
        continue;
      }
      // Runs the loop's own events (sockets, timers) between batches.
      if (!waited) io.waitScope.poll();
      waited = false;
      for (auto& fn : batch) {
        KJ_IF_MAYBE (exception, kj::runCatchingExceptions([&] { fn(); })) {
          taskFailed(kj::mv(*exception));
        }
      }
    }
    io.waitScope.poll();  // runs events that the last batch has begun
    // Objects of dropped closures and tasks may post again from their destructors, on this thread too.
    const auto drop_all = [this] {
      for (bool more = true; more;) {
        std::vector<kj::Function<void()>> dropped;
        std::lock_guard lock(mutex_);
        dropped.swap(queue_);
        more = !dropped.empty();
      }
    };
    drop_all();
    tasks.reset();
    drop_all();
  }
}

void KjThread::taskFailed(kj::Exception&& exception) {
  std::fprintf(stderr, "rpc: a background task failed: %s\n", exception.getDescription().cStr());
}

}  // namespace mr::rpc
