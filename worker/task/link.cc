#include "worker/task/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/io/clock.h"
#include "common/io/ledger.h"
#include "worker/task/process_tree.h"

namespace mr::task {

static_assert(kLostDaemon != 0 && kLostDaemon != 70, "told apart by the host");

namespace {

// While it exists, the task waits for its daemon.
class Waiting {
 public:
  explicit Waiting(ProgressPage* page) : page_(page) { page_->waits.store(1, std::memory_order_relaxed); }
  ~Waiting() { page_->waits.store(0, std::memory_order_relaxed); }

 private:
  ProgressPage* page_;
};

}  // namespace

Link::Link(int control, char* arena, uint64_t arena_bytes)
    : control_(control),
      arena_(arena),
      layout_(ArenaLayout::Of(arena_bytes)),
      page_(reinterpret_cast<ProgressPage*>(arena)) {
  MR_CHECK(layout_.input_slots > 0 && layout_.output_slots > 0, "the arena is too small");
}

// The helper is gone, too (SpawnFd), so nobody else would end what this process has started.
void Link::DaemonGone() {
  constexpr Duration kLimit = Millis(1500);
  KillBelow(getpid(), kLimit);
  _exit(kLostDaemon);
}

WireTask Link::AwaitTask(std::vector<UniqueFd>* split_fds) {
  std::string blob;
  Packet packet;
  waited_ = {};
  partial_.clear();
  failed_ = {};
  if (room_ != kNoSlot) free_.push_back(std::exchange(room_, kNoSlot));
  for (;;) {
    if (ReceivePacket(control_, &packet, 0) != 0) _exit(0);  // the end of an idle child
    const Header& h = packet.header;
    if (h.kind == Kind::kSplitFds) {
      for (UniqueFd& fd : packet.fds) split_fds->push_back(std::move(fd));
    } else if (h.kind == Kind::kFree) {
      free_.push_back(h.d);  // the last slots of the previous task
    } else if (h.kind == Kind::kRun) {
      blob += packet.payload;
      if (h.more) continue;
      WireTask task;
      MR_CHECK(DecodeFields(blob, &task), "the daemon is of another build");
      return task;
    }
  }
}

Result<bool> Link::Receive(int flags) {
  MR_RETURN_IF_ERROR(failed_);
  Packet packet;
  const int error = ReceivePacket(control_, &packet, flags);
  if (error == EAGAIN) return false;
  if (error != 0) DaemonGone();
  failed_ = Dispatch(packet);
  MR_RETURN_IF_ERROR(failed_);
  return true;
}

Status Link::Dispatch(Packet& packet) {
  const Header& h = packet.header;
  switch (h.kind) {
    case Kind::kInput: return TakeInput(h);
    case Kind::kFree: free_.push_back(h.d); return {};
    case Kind::kMore:
      blob_ += packet.payload;
      if (!h.more) {
        answered_ = true;
        answer_ok_ = h.a == 1;
      }
      return {};
    default: return Internal("a packet of kind " + std::to_string(static_cast<int>(h.kind)) + " came from the daemon");
  }
}

Status Link::TakeInput(const Header& h) {
  if (h.x > 0) {
    MR_CHECK(h.d < layout_.input_slots && h.x <= kSlotBytes, "a bad input slot came from the daemon");
    partial_.append(arena_ + ArenaLayout::InputOffset(h.d), h.x);
    Ledger::Count(Ledger::take_input, h.x);
    Header taken;
    taken.kind = Kind::kTaken;
    taken.d = h.d;
    Send(taken);
  }
  if (h.y & kFragment) return {};
  std::string chunk;
  chunk.swap(partial_);
  if (!on_input_) return Internal("input came before its task");
  return on_input_(h.a, h.b, h.c, std::move(chunk), (h.y & kLastOfSegment) != 0);
}

void Link::Send(const Header& header) {
  if (SendPacket(control_, header, {}, {}, 0) != 0) DaemonGone();
}

Result<uint32_t> Link::TakeSlot() {
  for (bool more = used_slots_ > 0; more && free_.empty();) {
    MR_ASSIGN_OR_RETURN(more, Receive(MSG_DONTWAIT));
  }
  // A slot that was used has memory already, and is perhaps still in the cache.
  if (free_.empty() && used_slots_ < layout_.output_slots) return used_slots_++;
  while (free_.empty()) {
    const Waiting waiting(page_);
    MR_ASSIGN_OR_RETURN([[maybe_unused]] const bool got, Receive(0));
  }
  const uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

char* Link::OutputRoom(uint64_t bytes) {
  if (bytes > kSlotBytes) return nullptr;
  if (room_ == kNoSlot) {
    const Result<uint32_t> slot = TakeSlot();
    if (!slot.ok()) return nullptr;  // failed_: the next send returns it
    room_ = *slot;
  }
  return Slot(room_);
}

Status Link::SendOutput(uint32_t port, uint32_t partition, uint32_t records, std::string_view bytes) {
  MR_RETURN_IF_ERROR(failed_);
  Header h;
  h.kind = Kind::kOutput;
  h.a = port;
  h.b = partition;
  h.c = records;
  if (room_ != kNoSlot && bytes.data() == Slot(room_)) {
    h.d = std::exchange(room_, kNoSlot);
    h.x = bytes.size();
    Send(h);
    return {};
  }
  while (!bytes.empty()) {
    MR_ASSIGN_OR_RETURN(h.d, TakeSlot());
    const std::string_view part = bytes.substr(0, kSlotBytes);
    bytes.remove_prefix(part.size());
    memcpy(Slot(h.d), part.data(), part.size());
    Ledger::Count(Ledger::to_worker, part.size());
    h.x = part.size();
    h.y = bytes.empty() ? 0 : kFragment;
    Send(h);
  }
  return {};
}

Result<std::string> Link::ReadMore(uint32_t split, uint64_t offset, uint32_t length) {
  Header h;
  h.kind = Kind::kReadMore;
  h.a = split;
  h.b = length;
  h.x = offset;
  blob_.clear();
  answered_ = false;
  Send(h);
  MR_RETURN_IF_ERROR(WaitUntil([this] { return answered_; }));
  std::string answer;
  answer.swap(blob_);
  if (!answer_ok_) return Unavailable(answer);
  return answer;
}

Status Link::WaitUntil(const std::function<bool()>& ready) {
  MR_RETURN_IF_ERROR(failed_);
  if (ready()) return {};
  const Instant begin = Now();
  const Waiting waiting(page_);
  while (!ready()) {
    MR_ASSIGN_OR_RETURN([[maybe_unused]] const bool got, Receive(0));
  }
  waited_ = waited_ + (Now() - begin);
  return {};
}

Status Link::Poll() {
  for (;;) {
    MR_ASSIGN_OR_RETURN(const bool got, Receive(MSG_DONTWAIT));
    if (!got) return {};
  }
}

void Link::SendDone(const WireResult& result) {
  Header h;
  h.kind = Kind::kDone;
  if (SendBlob(control_, h, EncodeFields(result)) != 0) DaemonGone();
}

}  // namespace mr::task
