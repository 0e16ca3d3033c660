// Holds up the syncs of a master's journal in this process. Link mr_disk_shim.
#pragma once

#include <atomic>

#include "tests/support/disk_shim.h"

namespace mr::test {

// Lets the journal's syncs through one at a time once it is armed.
class SyncGate {
 public:
  SyncGate()
      : hook_([this](const DiskCall& call) {
          if (call.kind == DiskCall::kSync && call.data_only && call.path.ends_with("/journal/journal")) Pass();
          return 0;
        }) {}
  ~SyncGate() { Open(); }

  void Arm() { armed_ = true; }
  void LetOneThrough() {
    ++passes_;
    passes_.notify_all();
  }
  void Open() {
    armed_ = false;
    passes_ = 1 << 20;
    passes_.notify_all();
  }
  int arrived() const { return arrived_; }

 private:
  void Pass() {
    if (!armed_) return;
    const int mine = ++arrived_;
    for (int passes = passes_; passes < mine; passes = passes_) passes_.wait(passes);
  }
  std::atomic<bool> armed_{false};
  std::atomic<int> arrived_{0}, passes_{0};
  OnDiskCall hook_;
};

}  // namespace mr::test
