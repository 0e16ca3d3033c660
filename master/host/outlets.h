// Calls of the master's thread to the world: sessions of workers, watchers, other threads.
#pragma once

#include <capnp/message.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/digest.h"
#include "master/sched/event.h"

namespace mr::master {

using Message = std::shared_ptr<capnp::MallocMessageBuilder>;

// The finding of a probe of a replica of an output.
struct Looked {
  enum class At : uint8_t {
    kUnreachable,   // its worker does not answer
    kGone,          // it is not there
    kDamaged,       // some of it cannot be read, or differs from the digest that was stored with it
    kOtherContent,  // as it was stored, and not what was committed: the worker's memory damaged it
    kWhole,
    kUnknown,  // it is there, and was not verified
  };
  At at = At::kUnknown;
  std::string why;
};

// How the host reaches sockets and other threads. Called on the master's thread; must not block.
class Outlets {
 public:
  virtual ~Outlets() = default;
  // batch: root rpc::CommandBatch.
  virtual void Apply(uint64_t session, Message batch) = 0;
  // The same. Calls `taken` on the master's thread when the worker has taken the batch; never if the session ends.
  virtual void ApplyThen(uint64_t session, Message batch, std::function<void()> taken) {
    const std::function<void()> call = std::move(taken);
    Apply(session, std::move(batch));
    call();
  }
  virtual void CloseSession(uint64_t session) = 0;
  // status: root rpc::JobStatus. Watchers::Pushed follows when the watcher has taken it.
  virtual void PushStatus(uint64_t watcher, Message status) = 0;
  // The replica to probe and, where its bytes are in doubt, their committed digest.
  struct Look {
    std::string address;  // of the replica's worker
    Replica replica;
    bool verify = false;  // its worker reads all of it; else only whether it is there
    Digest128 content;
    uint32_t partitions = 0;
  };
  // Asks the replica's worker; `done` is called on the master's thread.
  virtual void Probe(const Look& look, std::function<void(Looked)> done) = 0;
  virtual void InPool(std::function<void()> work) = 0;
  // For what computes for seconds, one after the other.
  virtual void InBackground(std::function<void()> work) { InPool(std::move(work)); }
  // For what nobody waits for. It gives way to all other threads.
  virtual void AtLowPriority(std::function<void()> work) { InPool(std::move(work)); }
};

}  // namespace mr::master
