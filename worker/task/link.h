// The child's end of the control socket and the arena. Used by one thread; every call blocks. If the daemon is gone,
// the process ends at once. A replay (replay.h) has no daemon, and overrides the calls that a runner makes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "worker/task/protocol.h"

namespace mr::task {

class Link {
 public:
  // Receives the segment chunks that arrive. An error ends the task.
  using InputFn =
      std::function<Status(uint32_t input, uint32_t upstream, uint32_t partition, std::string chunk, bool last)>;

  Link(int control, char* arena, uint64_t arena_bytes);
  virtual ~Link() = default;

  // Waits for the next task and the descriptors of its splits.
  WireTask AwaitTask(std::vector<UniqueFd>* split_fds);
  void SetInput(InputFn on_input) { on_input_ = std::move(on_input); }

  // Returns an output slot's memory for the next chunk, or null if `bytes` do not fit in one. Blocks while all slots
  // are in use. A chunk that is sent from there is not copied. One at a time: a second call returns the same slot.
  virtual char* OutputRoom(uint64_t bytes);
  // Sends a chunk. Blocks while all output slots are in use.
  virtual Status SendOutput(uint32_t port, uint32_t partition, uint32_t records, std::string_view bytes);
  virtual Result<std::string> ReadMore(uint32_t split, uint64_t offset, uint32_t length);
  // Receives until `ready`, and adds the time to waited().
  virtual Status WaitUntil(const std::function<bool()>& ready);
  // Handles what has arrived, without waiting.
  virtual Status Poll();
  void SendDone(const WireResult& result);

  ProgressPage* page() { return page_; }
  Duration waited() const { return waited_; }

 protected:
  InputFn on_input_;

 private:
  // Receives one packet. Returns false if `flags` has MSG_DONTWAIT and there is none.
  Result<bool> Receive(int flags);
  Status Dispatch(Packet& packet);
  Status TakeInput(const Header& h);
  void Send(const Header& header);
  // Waits for a free output slot.
  Result<uint32_t> TakeSlot();
  [[noreturn]] static void DaemonGone();

  int control_;
  char* arena_;
  ArenaLayout layout_;
  ProgressPage* page_;
  char* Slot(uint32_t slot) { return arena_ + layout_.OutputOffset(slot); }

  std::vector<uint32_t> free_;  // the most recently freed one last
  uint32_t used_slots_ = 0;     // slots from this one on were never used
  uint32_t room_ = kNoSlot;     // the slot of OutputRoom
  Status failed_;               // the first error of what arrived: the task has lost it, and cannot go on
  std::string partial_;         // fragments of an input chunk
  std::string blob_;            // parts of an answer
  bool answered_ = false, answer_ok_ = false;
  Duration waited_;
};

}  // namespace mr::task
