// The memory that a child and the daemon share: a sealed memfd, so that no child can truncate it under the daemon.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/status.h"
#include "common/io/files.h"
#include "worker/task/protocol.h"

namespace mr::worker {

class Arena {
 public:
  static Result<std::shared_ptr<Arena>> Make(uint64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  int fd() const { return fd_.get(); }
  uint64_t bytes() const { return bytes_; }
  const task::ArenaLayout& layout() const { return layout_; }
  char* input(uint32_t slot) { return base_ + task::ArenaLayout::InputOffset(slot); }
  const char* output(uint32_t slot) const { return base_ + layout_.OutputOffset(slot); }
  task::ProgressPage* page() const { return reinterpret_cast<task::ProgressPage*>(base_); }
  void ClearProgress();

 private:
  Arena() = default;
  UniqueFd fd_;
  char* base_ = nullptr;
  uint64_t bytes_ = 0;
  task::ArenaLayout layout_;
};

}  // namespace mr::worker
