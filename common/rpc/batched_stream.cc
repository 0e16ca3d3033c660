#include "common/rpc/batched_stream.h"

#include <kj/debug.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace mr::rpc {

BatchedStream::~BatchedStream() noexcept(false) {
  if (!due_) return;
  // The last words of a connection that ends itself, such as the reason. The stream writes at once what it can.
  kj::runCatchingExceptions([this] { auto begun = inner_->write(waiting_.begin(), waiting_.size()); });
}

kj::Promise<size_t> BatchedStream::tryRead(void* buffer, size_t least, size_t most) {
  auto* const to = static_cast<kj::byte*>(buffer);
  const size_t have = std::min(most, end_ - begin_);
  if (have > 0) {
    memcpy(to, ahead_ + begin_, have);
    begin_ += have;
    if (have >= least) return have;
    return tryRead(to + have, least - have, most - have).then([have](size_t n) { return have + n; });
  }
  if (most >= kBytes) return inner_->tryRead(buffer, least, most);
  return inner_->tryRead(ahead_, least, kBytes).then([this, to, most](size_t n) {
    const size_t taken = std::min(n, most);
    memcpy(to, ahead_, taken);
    begin_ = taken;
    end_ = n;
    return taken;
  });
}

kj::Promise<void> BatchedStream::write(const void* buffer, size_t size) {
  const kj::ArrayPtr<const kj::byte> piece(static_cast<const kj::byte*>(buffer), size);
  if (waiting_.size() + size <= kBytes) return write(kj::arrayPtr(&piece, 1));
  auto pieces = kj::heapArray<kj::ArrayPtr<const kj::byte>>({piece});
  auto written = write(pieces);
  return written.attach(kj::mv(pieces));
}

kj::Promise<void> BatchedStream::write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) {
  KJ_IF_MAYBE (e, failed_) {
    return kj::cp(*e);
  }
  size_t size = 0;
  for (const auto& piece : pieces) size += piece.size();
  if (waiting_.size() + size <= kBytes) {
    for (const auto& piece : pieces) waiting_.addAll(piece);
    FlushSoon();
    return kj::READY_NOW;
  }
  if (!flushing_) return inner_->write(pieces);
  auto paf = kj::newPromiseAndFulfiller<void>();
  on_flushed_ = kj::mv(paf.fulfiller);
  return paf.promise.then([this, pieces] { return inner_->write(pieces); });
}

void BatchedStream::shutdownWrite() {
  shut_down_ = true;
  if (!flushing_) inner_->shutdownWrite();
}

void BatchedStream::FlushSoon() {
  if (std::exchange(flushing_, true)) return;
  due_ = true;
  flush_ = kj::evalLast([this] { return Flush(); }).eagerlyEvaluate([this](kj::Exception&& e) {
    flushing_ = false;
    KJ_IF_MAYBE (waits, on_flushed_) {
      (*waits)->reject(kj::cp(e));
    }
    failed_ = kj::mv(e);
    // Answers to what was not written would be awaited for ever. The end of the read ends the connection.
    kj::runCatchingExceptions([this] { inner_->abortRead(); });
  });
}

kj::Promise<void> BatchedStream::Flush() {
  due_ = false;
  std::swap(waiting_, leaving_);
  waiting_.clear();
  return inner_->write(leaving_.begin(), leaving_.size()).then([this]() -> kj::Promise<void> {
    if (!waiting_.empty()) return Flush();
    flushing_ = false;
    if (shut_down_) inner_->shutdownWrite();
    KJ_IF_MAYBE (waits, on_flushed_) {
      auto go_on = kj::mv(*waits);
      on_flushed_ = nullptr;
      go_on->fulfill();
    }
    return kj::READY_NOW;
  });
}

kj::Own<kj::AsyncIoStream> ForMessagesOf(Role role, kj::Own<kj::AsyncIoStream> stream) {
  if (role != Role::kWorker) return stream;
  return kj::heap<BatchedStream>(kj::mv(stream));
}

}  // namespace mr::rpc
