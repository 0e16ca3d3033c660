#include "worker/daemon/pool.h"

#include <algorithm>
#include <asio.hpp>
#include <thread>

namespace mr::worker {

struct Pool::Impl {
  asio::thread_pool threads;
  explicit Impl(unsigned n) : threads(n) {}
};

namespace {

class AsioStrand : public Pool::Strand {
 public:
  explicit AsioStrand(asio::thread_pool& pool) : strand_(asio::make_strand(pool)) {}
  void Post(std::function<void()> fn) override { asio::post(strand_, std::move(fn)); }

 private:
  asio::strand<asio::thread_pool::executor_type> strand_;
};

}  // namespace

unsigned Pool::DefaultThreads() { return std::clamp(2 * std::thread::hardware_concurrency(), 4u, 16u); }

Pool::Pool(unsigned threads) : impl_(std::make_shared<Impl>(threads)) {}
Pool::~Pool() { Stop(); }

void Pool::Post(std::function<void()> fn) { asio::post(impl_->threads, std::move(fn)); }

std::shared_ptr<Pool::Strand> Pool::NewStrand() { return std::make_shared<AsioStrand>(impl_->threads); }

void Pool::Stop() {
  impl_->threads.stop();
  impl_->threads.join();
}

}  // namespace mr::worker
