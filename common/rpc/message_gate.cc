#include "common/rpc/message_gate.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>

namespace mr::rpc {

MessageGate::MessageGate(kj::AsyncIoStream& stream, kj::Timer& timer, Limits limits, SharedQueue& shared,
                         std::function<size_t()> queued)
    : inner_(stream),
      timer_(timer),
      limits_(limits),
      shared_(shared),
      queued_(std::move(queued)),
      last_message_(timer.now()),
      write_began_(last_message_) {}

MessageGate::~MessageGate() noexcept(false) { shared_.bytes -= counted_; }

void MessageGate::Count() {
  const uint64_t now = queued_();
  shared_.bytes += now - counted_;
  counted_ = now;
}

bool MessageGate::Open() {
  Count();
  if (counted_ > limits_.queued_bytes) return false;
  return calls_.size() < (shared_.bytes > shared_.limit ? 1 : limits_.calls);
}

kj::Promise<void> MessageGate::WhenOpen() {
  if (Open()) return kj::READY_NOW;
  auto paf = kj::newPromiseAndFulfiller<void>();
  waiting_ = kj::mv(paf.fulfiller);
  // Runs after all events that are due now: the network removes a message from its queue only after its write.
  return paf.promise.then([] { return kj::evalLast([] {}); }).then([this] { return WhenOpen(); });
}

kj::Promise<kj::Maybe<capnp::MessageReaderAndFds>> MessageGate::tryReadMessage(kj::ArrayPtr<kj::AutoCloseFd> fds,
                                                                               capnp::ReaderOptions options,
                                                                               kj::ArrayPtr<capnp::word> scratch) {
  auto read =
      Open() ? inner_.tryReadMessage(fds, options, scratch)
             : WhenOpen().then([this, fds, options, scratch] { return inner_.tryReadMessage(fds, options, scratch); });
  return read.then([this](kj::Maybe<capnp::MessageReaderAndFds> message) {
    KJ_IF_MAYBE (m, message) {
      Read(*m->reader);
    }
    return message;
  });
}

void MessageGate::Read(capnp::MessageReader& message) {
  last_message_ = timer_.now();
  const auto root = message.getRoot<capnp::rpc::Message>();
  switch (root.which()) {
    case capnp::rpc::Message::CALL: calls_.insert(root.getCall().getQuestionId()); break;
    case capnp::rpc::Message::BOOTSTRAP: calls_.insert(root.getBootstrap().getQuestionId()); break;
    default: break;
  }
}

kj::Promise<void> MessageGate::writeMessage(kj::ArrayPtr<const int> fds,
                                            kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>> segments) {
  write_began_ = timer_.now();
  write_bytes_ = 0;
  for (const auto& segment : segments) write_bytes_ += segment.size() * sizeof(capnp::word);
  kj::Maybe<uint32_t> answer;
  {
    capnp::SegmentArrayMessageReader reader(segments);
    const auto root = reader.getRoot<capnp::rpc::Message>();
    if (root.isReturn()) answer = root.getReturn().getAnswerId();
  }
  return inner_.writeMessage(fds, segments).then([this, answer] {
    KJ_IF_MAYBE (id, answer) {
      calls_.erase(*id);
    }
    Wrote();
  });
}

kj::Promise<void> MessageGate::writeMessages(
    kj::ArrayPtr<kj::ArrayPtr<const kj::ArrayPtr<const capnp::word>>> messages) {
  // Writing them one after the other is equivalent: the RPC system of this release does the same.
  kj::Promise<void> all = kj::READY_NOW;
  for (const auto& message : messages) {
    all = all.then([this, message] { return writeMessage(nullptr, message); });
  }
  return all;
}

void MessageGate::Wrote() {
  last_message_ = timer_.now();
  write_bytes_ = 0;
  KJ_IF_MAYBE (waiting, waiting_) {
    auto open = kj::mv(*waiting);
    waiting_ = nullptr;
    open->fulfill();
  }
}

}  // namespace mr::rpc
