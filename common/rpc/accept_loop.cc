#include "common/rpc/accept_loop.h"

#include "common/rpc/kj_status.h"

namespace mr::rpc {

AcceptLoop::AcceptLoop(kj::Timer& timer, kj::Own<kj::ConnectionReceiver> receiver, std::string name,
                       std::function<void(kj::Own<kj::AsyncIoStream>)> take, LogLine log)
    : timer_(timer),
      receiver_(kj::mv(receiver)),
      name_(std::move(name)),
      take_(std::move(take)),
      log_(std::move(log)),
      port_(static_cast<uint16_t>(receiver_->getPort())),
      tasks_(*this) {
  tasks_.add(Accept());
}

kj::Promise<void> AcceptLoop::Accept() {
  // KJ throws from accept() itself when the system call fails at once. evalNow turns that into a rejected promise, so
  // that the handler below gets it.
  return kj::evalNow([this] { return receiver_->accept(); })
      .then(
          [this](kj::Own<kj::AsyncIoStream> stream) {
            if (episode_ != 0 && log_) {
              log_(name_ + ": connections are accepted again, after " + std::to_string(episode_) + " failed tries");
            }
            episode_ = 0;
            // An exception ends only its own connection.
            KJ_IF_MAYBE (e, kj::runCatchingExceptions([&] { take_(kj::mv(stream)); })) {
              (void)e;
            }
            return Accept();
          },
          [this](kj::Exception&& e) {
            Failed(e);
            return timer_.afterDelay(kPause).then([this] { return Accept(); });
          });
}

void AcceptLoop::Failed(const kj::Exception& e) {
  ++failures_;
  if (++episode_ != 1 || !log_) return;
  log_(
      name_ + ": cannot accept connections: " + FromException(e).message() +
      "; retrying until it works. Open connections are not affected. Raise the limit of open files (ulimit -n) if this "
      "lasts");
}

void AcceptLoop::taskFailed(kj::Exception&& e) {
  // Not reached while Accept() handles every exception; if it is, accepting goes on.
  Failed(e);
  tasks_.add(timer_.afterDelay(kPause).then([this] { return Accept(); }));
}

}  // namespace mr::rpc
