#include "worker/host/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "common/io/clock.h"

namespace mr::worker {

using task::Header;
using task::Packet;

namespace {
// How long the descendants of a child may take to end before the child is killed, too.
constexpr Duration kTreeLimit = Millis(1500);
constexpr Duration kLookAgain = Millis(1);
}  // namespace

Result<std::shared_ptr<Child>> Child::Spawn(Loop* loop, Helper* helper, Orphans* orphans, std::shared_ptr<Arena> arena,
                                            bool leased, ChildRoom room, Cgroups* cgroups, CgroupLeaf* leaf) {
  int control[2], log[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) != 0) {
    return ErrnoStatus(errno, "cannot start a task: socketpair");
  }
  const UniqueFd theirs(control[1]);
  std::shared_ptr<Child> child(new Child);
  if (leaf != nullptr) room.joins = leaf->joins();
  child->control_.reset(control[0]);
  if (pipe2(log, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot start a task: pipe");
  child->log_pipe_.reset(log[0]);
  const UniqueFd their_log(log[1]);
  fcntl(log[0], F_SETFL, O_NONBLOCK);
  child->loop_ = loop;
  child->helper_ = helper;
  child->orphans_ = orphans;
  child->arena_ = std::move(arena);
  MR_ASSIGN_OR_RETURN(child->process_, helper->Spawn({theirs.get(), child->arena_->fd(), their_log.get(),
                                                      child->control_.get(), child->log_pipe_.get()},
                                                     leased, room));
  child->cgroups_ = cgroups;
  child->leaf_ = leaf;
  child->Watches(loop);
  return child;
}

Child::~Child() {
  if (process_.pid != 0 && !exited_) {
    EndChild(helper_, process_);
    if (leaf_ != nullptr) leaf_->Kill();
  }
  GiveBackLeaf();
}

void Child::GiveBackLeaf() {
  if (leaf_ != nullptr) cgroups_->GiveBack(std::exchange(leaf_, nullptr));
}

void Child::Watches(Loop* loop) {
  control_watch_ = loop->MakeWatch(control_.get());
  log_watch_ = loop->MakeWatch(log_pipe_.get());
  exit_watch_ = loop->MakeWatch(process_.pidfd.get());
  ReadSoon();
  ReadLogSoon();
  exit_watch_->WhenReadable([this] { Ended(); });
}

void Child::ReadSoon() {
  control_watch_->WhenReadable([this] {
    const auto self = shared_from_this();  // a handler may release the last reference
    constexpr int kTurn = 64;              // then others have their turn
    if (ReadPackets(kTurn) && !exited_) ReadSoon();
  });
}

void Child::ReadLogSoon() {
  log_watch_->WhenReadable([this] {
    if (log_.Drain(log_pipe_.get())) ReadLogSoon();
  });
}

bool Child::ReadPackets(int limit) {
  Packet packet;
  for (int i = 0; i < limit && !closed_ && !muted_; ++i) {
    const int error = task::ReceivePacket(control_.get(), &packet, MSG_DONTWAIT);
    if (error == EAGAIN) return true;
    if (error == ECONNRESET) continue;  // it ended without reading all packets; those that it sent can still be read
    if (error == EBADMSG) {
      muted_ = true;
      if (handler_ != nullptr) handler_->OnGarbage();
      return false;
    }
    if (error != 0) {
      closed_ = true;
      return false;
    }
    if (handler_ != nullptr) handler_->OnPacket(packet);
  }
  return !closed_ && !muted_;
}

void Child::Send(const Header& header, std::string payload, std::vector<UniqueFd> fds) {
  if (exited_ || deaf_) return;
  outgoing_.push_back({header, std::move(payload), std::move(fds)});
  ++queued_;
  if (outgoing_.size() == 1) Flush();
}

void Child::SendBlob(Header header, const std::string& blob) {
  size_t at = 0;
  do {
    std::string part = blob.substr(at, task::kMaxPayload);
    at += part.size();
    header.more = at < blob.size();
    Send(header, std::move(part));
  } while (at < blob.size());
}

void Child::Flush() {
  while (!outgoing_.empty()) {
    const Outgoing& o = outgoing_.front();
    std::vector<int> fds;
    for (const UniqueFd& fd : o.fds) fds.push_back(fd.get());
    const int error = task::SendPacket(control_.get(), o.header, o.payload, fds, MSG_DONTWAIT);
    if (error == EAGAIN) {
      control_watch_->WhenWritable([this] { Flush(); });
      return;
    }
    if (error != 0) {  // it is about to end
      outgoing_.clear();
      deaf_ = true;
      return;
    }
    outgoing_.pop_front();
    ++sent_;
  }
}

void Child::Kill() {
  if (exited_ || std::exchange(killing_, true)) return;
  KillRound(Now() + kTreeLimit);
}

void Child::KillAtOnce() {
  if (!exited_) KillChild(process_);
}

void Child::KillRound(Instant give_up) {
  if (exited_) return;
  // Processes that are left below it then pass to this process.
  if (KillBelow(process_) || Now() >= give_up) return KillChild(process_);
  loop_->After(kLookAgain, [weak = weak_from_this(), give_up] {
    if (const auto self = weak.lock()) self->KillRound(give_up);
  });
}

void Child::Ended() {
  const auto self = shared_from_this();
  ReadPackets(1 << 20);  // more than a socket holds
  const Helper::Exit exit = helper_->Reap(process_);
  exited_ = true;
  DrainLog();
  control_watch_.reset();
  log_watch_.reset();
  exit_watch_.reset();
  orphans_->WhenGone([self, exit] { self->LeafRound(exit, Now() + kTreeLimit); });
}

void Child::LeafRound(Helper::Exit exit, Instant give_up) {
  if (leaf_ != nullptr && !leaf_->Kill() && Now() < give_up) {
    loop_->After(kLookAgain, [self = shared_from_this(), exit, give_up] { self->LeafRound(exit, give_up); });
    return;
  }
  DrainLog();  // output of orphans
  if (handler_ != nullptr) handler_->OnExit(exit);
  GiveBackLeaf();
}

}  // namespace mr::worker
