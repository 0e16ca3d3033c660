// The audit log: one line of JSON for each call that changed something, or that tried to. Each line's hash covers the
// line before it, so a line that was changed, added or removed is found (CheckAudit). Lines cut off from the end of the
// newest file are not: copy the files elsewhere where that matters.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/status.h"
#include "common/exec/pool.h"
#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/call_log.h"

namespace mr::master {

// Files are DIRECTORY/audit-000001.log and so on, mode 0600. A file begins with a line that has the hash of the last
// line before it.
class AuditLog final : public rpc::CallLog {
 public:
  struct Options {
    std::string directory;
    uint64_t file_bytes = 64ull << 20;  // a file that has reached this size is followed by the next
    size_t files = 10;                  // kept; older ones are removed
    std::function<uint64_t()> wall_ms = WallClockMs;
  };
  explicit AuditLog(Options options);
  // Writes what is queued. Blocks.
  ~AuditLog() override;

  // Reads the end of the newest file, to continue it. A line that a crash cut short is removed. Before any call;
  // blocks. Errors: the directory cannot be made or read.
  Status Open();
  // Queues the call. A call that cannot be queued, because the disk is slow, or written, because it is full, is lost:
  // the next line that is written has the number of lost ones.
  // Thread: any. Does not block.
  void Called(rpc::CallRecord record) override;
  // Returns when all that was queued is written or lost. Blocks; for tests.
  void Settle() { pool_.Settle(); }
  // Returns the calls that are not in the log, since the start. Thread: any.
  uint64_t lost() const { return lost_; }

 private:
  Status Continue(const std::string& name);
  Status NextFile();
  Status WriteLine(const std::string& head);
  void Write(const rpc::CallRecord& record, uint64_t wall_ms);

  const Options options_;
  std::atomic<uint64_t> queued_{0}, lost_{0};
  // Below: of Open, then of the pool's thread.
  UniqueFd file_;
  uint64_t number_ = 0;  // of the newest file
  uint64_t bytes_ = 0;   // of it
  uint64_t lines_ = 0;   // of all files ever
  std::string hash_;     // of the last line
  uint64_t lost_told_ = 0;
  uint64_t unsynced_ = 0;  // lines
  Pool pool_{1};           // one thread: lines keep their order. The last member, so that it ends first
};

// The result of a check of all files in a directory.
struct AuditCheck {
  uint64_t files = 0, lines = 0;
  uint64_t lost = 0;   // calls that the lines say are missing
  std::string broken;  // "audit-000002.log, line 17: ..."; empty: every line follows from the one before it
};
// Errors: kNotFound: there is no audit log; a file cannot be read. Blocks.
Result<AuditCheck> CheckAudit(const std::string& directory);

// Escapes text for a line of the log: as JsonEscape, and also characters that change the direction or the look of text
// on a terminal.
std::string AuditEscape(const std::string& text);

}  // namespace mr::master
