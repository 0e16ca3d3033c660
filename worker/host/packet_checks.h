// Checks the packets of one child against the state of its task: their order, ids and sizes. A child runs user code and
// may send anything. Does no I/O, so that a fuzzer can drive it. Thread: one, the io thread of the host.
//
// A child uses a slot again, or reads more, only after it has received the packet that allows it. So the packets that
// wait for a child are limited, also where it never reads: packets are counted in the order in which they were queued
// for it (Child::queued), and `sent` is how many of them its socket has taken (Child::sent).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/task/protocol.h"

namespace mr::worker {

// The effect of a packet that fits.
struct PacketEffect {
  enum Kind : uint8_t {
    kNothing,    // part of a blob
    kFragment,   // part of a chunk: its output slot may be used again
    kChunk,      // `chunk` is whole
    kTaken,      // the input slot `d` of the packet is free
    kReadMore,   // it reads `b` bytes at `x` of split `a`
    kTaskResult  // `result` is whole: nothing may follow
  };
  Kind kind = kNothing;
  std::string chunk;  // of the shuffle: after kOutputFront bytes
  task::WireResult result;
};

class PacketChecks {
 public:
  struct Port {
    bool files = false;
    uint32_t partitions = 1;  // 1 for files
  };
  PacketChecks(const std::vector<Port>& ports, size_t splits, const task::ArenaLayout& slots);

  // Checks a packet, and fills *effect. output_slots: memory of the output slots, which the child may write at any
  // time; null only in tests without output. Returns null, or the error in the packet. Requires: none had an error.
  const char* Take(const task::Packet& packet, uint64_t sent, const char* output_slots, PacketEffect* effect);

  // Returns an input slot that the child does not have.
  std::optional<uint32_t> FreeInputSlot() const;
  // Records that the child gets the input slot with the queued packet number `queued`.
  void InputGiven(uint32_t slot, uint64_t queued) { input_slots_[slot] = {true, queued}; }
  // Records that the chunk in this slot is stored. The slot cannot be used before OutputFreed.
  void OutputFreed(uint32_t slot, uint64_t queued) { output_slots_[slot] = {false, queued}; }
  // Records that the queued packets up to this number answer the read.
  void ReadAnswered(uint64_t queued) { reading_ = {false, queued}; }

  // Returns whether a chunk in this slot waits to be stored.
  bool OutputPending(uint32_t slot) const { return output_slots_[slot].busy; }
  // Returns whether the child waits for the answer to a read.
  bool reading() const { return reading_.busy; }

 private:
  struct Use {
    bool busy = false;
    uint64_t known_from = 0;  // the child knows the last change when so many packets were sent
  };
  const char* Output(const task::Header& h, uint64_t sent, const char* output_slots, PacketEffect* effect);
  const char* Taken(const task::Header& h, uint64_t sent);
  const char* ReadMore(const task::Header& h, uint64_t sent);
  const char* Done(const task::Packet& packet, PacketEffect* effect);

  std::vector<uint32_t> port_of_;  // partition over all ports -> port
  std::vector<bool> files_;        // of a port
  size_t splits_ = 0;
  std::vector<Use> input_slots_;   // busy: the child has it
  std::vector<Use> output_slots_;  // busy: the daemon has it
  Use reading_;
  std::string partial_;      // fragments of an output chunk
  uint32_t partial_of_ = 0;  // its partition
  uint32_t last_partition_ = 0;
  std::string done_blob_;
  bool done_ = false;
};

}  // namespace mr::worker
