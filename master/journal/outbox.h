// Holds actions until a record is durable, such as messages that promise it.
// Used by one thread, which calls Release() when the journal reports its durable sequence.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

namespace mr::journal {

class Outbox {
 public:
  // Runs `action` in the Release() that covers `sequence`; at once where it is durable already.
  void Hold(uint64_t sequence, std::function<void()> action);

  // Runs the actions of all records up to `sequence`, which are on disk. Actions run in the order of
  // their sequences, and of Hold() within one; they may Hold() further ones.
  void Release(uint64_t sequence);

  uint64_t durable() const { return durable_; }
  size_t size() const { return held_.size(); }

 private:
  uint64_t durable_ = 0;
  std::multimap<uint64_t, std::function<void()>> held_;
};

}  // namespace mr::journal
