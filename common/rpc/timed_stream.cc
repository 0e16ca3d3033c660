#include "common/rpc/timed_stream.h"

#include "common/rpc/kj_status.h"

namespace mr::rpc {

bool TimedStream::Slow(Duration grace, uint64_t rate) const {
  const Duration wanted = FromSeconds(static_cast<double>(unfinished_) / static_cast<double>(rate));
  return unfinished_ != 0 && timer_.now() - waits_since_ > ToKj(grace + wanted);
}

// The continuations below run at the end of the operation, also where nobody waits for its promise yet.
kj::Promise<size_t> TimedStream::tryRead(void* buffer, size_t least, size_t most) {
  return inner_->tryRead(buffer, least, most)
      .then([this](size_t n) {
        moved_ = timer_.now();
        return n;
      })
      .eagerlyEvaluate(nullptr);
}

kj::Promise<void> TimedStream::write(const void* buffer, size_t size) {
  Begin(size);
  return Ended(size, inner_->write(buffer, size));
}

kj::Promise<void> TimedStream::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  Begin(size);
  return Ended(size, inner_->write(pieces));
}

void TimedStream::Begin(size_t size) {
  if (unfinished_ == 0) waits_since_ = timer_.now();
  unfinished_ += size;
}

kj::Promise<void> TimedStream::Ended(size_t size, kj::Promise<void> written) {
  return written
      .then([this, size] {
        moved_ = waits_since_ = timer_.now();
        unfinished_ -= size;
      })
      .eagerlyEvaluate(nullptr);
}

}  // namespace mr::rpc
