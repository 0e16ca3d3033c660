// Represents one child process on the io thread: packets in and out, its log, its end. Serves one task after another if
// its operators are reusable. io thread only.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "common/exec/loop.h"
#include "worker/host/arena.h"
#include "worker/host/cgroups.h"
#include "worker/host/log_sink.h"
#include "worker/host/orphans.h"
#include "worker/host/processes.h"
#include "worker/task/protocol.h"

namespace mr::worker {

class Child : public std::enable_shared_from_this<Child> {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    virtual void OnPacket(task::Packet& packet) = 0;
    // The child sent something that is not a packet. The handler kills it.
    virtual void OnGarbage() = 0;
    // The child and all that it started have ended, and all its packets have been handled. The last call.
    virtual void OnExit(Helper::Exit exit) = 0;
  };

  // leased, room: as in Helper::Spawn. leaf: to live in, or null; given back to `cgroups` at the
  // child's end, and not after an error.
  static Result<std::shared_ptr<Child>> Spawn(Loop* loop, Helper* helper, Orphans* orphans,
                                              std::shared_ptr<Arena> arena, bool leased, ChildRoom room = {},
                                              Cgroups* cgroups = nullptr, CgroupLeaf* leaf = nullptr);
  ~Child();

  // Sets the receiver of further packets and of the end; null: none.
  void SetHandler(Handler* handler) { handler_ = handler; }
  void Send(const task::Header& header, std::string payload = {}, std::vector<UniqueFd> fds = {});
  void SendBlob(task::Header header, const std::string& blob);
  // Packets that were given to Send() so far, and how many of them its socket has taken.
  uint64_t queued() const { return queued_; }
  uint64_t sent() const { return sent_; }
  // Kills first all that the child has started, and then the child. May be repeated.
  void Kill();
  // Kills the child alone, after it has reported its end. Its descendants pass to this process, which kills them
  // (orphans.h). Killing them first would cost 20 us per attempt (measured).
  void KillAtOnce();
  // Ignores further packets. For a child that broke the protocol and has been killed.
  void Mute() { muted_ = true; }

  pid_t pid() const { return process_.pid; }
  // Returns whether the child is reaped. OnExit follows when all that it had started has ended, too.
  bool exited() const { return exited_; }
  const std::shared_ptr<Arena>& arena() const { return arena_; }
  LogSink& log() { return log_; }
  // Its control group, or null. It may be another child's after OnExit.
  const CgroupLeaf* leaf() const { return leaf_; }
  void DrainLog() { log_.Drain(log_pipe_.get()); }

 private:
  struct Outgoing {
    task::Header header;
    std::string payload;
    std::vector<UniqueFd> fds;
  };
  Child() = default;
  void Watches(Loop* loop);
  void ReadSoon();
  void ReadLogSoon();
  // Handles the packets that are there, at most `limit`. Returns false at the end of the connection.
  bool ReadPackets(int limit);
  void Flush();
  void Ended();
  void KillRound(Instant give_up);
  // Kills what is left in its control group, and then reports the end.
  void LeafRound(Helper::Exit exit, Instant give_up);
  void GiveBackLeaf();

  Loop* loop_ = nullptr;
  Helper* helper_ = nullptr;
  Orphans* orphans_ = nullptr;
  Handler* handler_ = nullptr;
  std::shared_ptr<Arena> arena_;
  Cgroups* cgroups_ = nullptr;
  CgroupLeaf* leaf_ = nullptr;
  Spawned process_;
  UniqueFd control_, log_pipe_;
  std::unique_ptr<Loop::Watch> control_watch_, log_watch_, exit_watch_;
  std::deque<Outgoing> outgoing_;
  uint64_t queued_ = 0, sent_ = 0;
  LogSink log_;
  bool exited_ = false;
  bool killing_ = false;
  bool muted_ = false;   // received packets are ignored
  bool closed_ = false;  // the child closed its end, and all has been received
  bool deaf_ = false;    // the socket takes nothing more
};

}  // namespace mr::worker
