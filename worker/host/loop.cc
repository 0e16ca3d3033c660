#include "worker/host/loop.h"

#include <asio.hpp>
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

namespace mr::worker {

struct Loop::Impl {
  asio::io_context context{1};
  std::optional<asio::executor_work_guard<asio::io_context::executor_type>> guard;
  std::thread thread;
  std::atomic<bool> stopped{false};
};

namespace {

class AsioWatch : public Watch {
 public:
  AsioWatch(asio::io_context& context, int fd) : descriptor_(context, fd) {}
  ~AsioWatch() override {
    *alive_ = false;
    descriptor_.cancel();
    descriptor_.release();  // the owner closes it
  }
  void WhenReadable(std::function<void()> call) override {
    Wait(asio::posix::descriptor_base::wait_read, std::move(call));
  }
  void WhenWritable(std::function<void()> call) override {
    Wait(asio::posix::descriptor_base::wait_write, std::move(call));
  }

 private:
  void Wait(asio::posix::descriptor_base::wait_type type, std::function<void()> call) {
    descriptor_.async_wait(type, [alive = alive_, call = std::move(call)](const asio::error_code& error) {
      if (*alive && !error) call();
    });
  }
  asio::posix::stream_descriptor descriptor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace

Loop::Loop() : impl_(std::make_unique<Impl>()) {}
Loop::~Loop() { Stop(); }

void Loop::Start() {
  impl_->guard.emplace(impl_->context.get_executor());
  impl_->thread = std::thread([this] { impl_->context.run(); });
}

void Loop::Stop() {
  impl_->stopped = true;
  impl_->guard.reset();
  impl_->context.stop();
  if (impl_->thread.joinable()) impl_->thread.join();
}

void Loop::Post(std::function<void()> call) {
  if (!impl_->stopped.load(std::memory_order_relaxed)) asio::post(impl_->context, std::move(call));
}

void Loop::After(Duration delay, std::function<void()> call) {
  auto timer = std::make_shared<asio::steady_timer>(impl_->context, std::chrono::nanoseconds(delay.ns));
  timer->async_wait([timer, call = std::move(call)](const asio::error_code& error) {
    if (!error) call();
  });
}

std::unique_ptr<Watch> Loop::MakeWatch(int fd) { return std::make_unique<AsioWatch>(impl_->context, fd); }

}  // namespace mr::worker
