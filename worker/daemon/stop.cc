#include "worker/daemon/stop.h"

#include <signal.h>

#include <array>
#include <asio.hpp>
#include <optional>

namespace mr::worker {

struct StopWaiter::Impl {
  asio::io_context io{1};
  asio::signal_set signals{io, SIGTERM, SIGINT};
  std::optional<asio::posix::stream_descriptor> lifeline;
  std::array<char, 64> ignored;
  std::optional<StopReason> reason;

  void Stop(StopReason why) {
    reason = why;
    io.stop();
  }
  void ReadLifeline() {
    lifeline->async_read_some(asio::buffer(ignored), [this](const asio::error_code& error, size_t) {
      if (error) return Stop(StopReason::kLifeline);
      ReadLifeline();
    });
  }
};

StopWaiter::StopWaiter(int lifeline_fd) : impl_(new Impl) {
  impl_->signals.async_wait([this](const asio::error_code& error, int) {
    if (!error) impl_->Stop(StopReason::kSignal);
  });
  if (lifeline_fd >= 0) {
    impl_->lifeline.emplace(impl_->io, lifeline_fd);
    impl_->ReadLifeline();
  }
}

StopWaiter::~StopWaiter() { delete impl_; }

StopReason StopWaiter::Wait() {
  impl_->io.run();
  return impl_->reason.value_or(StopReason::kSignal);
}

}  // namespace mr::worker
