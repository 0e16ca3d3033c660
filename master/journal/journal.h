// The journal: an append-only sequence of records from which the master recovers its state. A thread of
// its own syncs them in groups. A file that has grown past segment_bytes is closed and the next one
// begins. directory.h describes how the files make one journal, and how snapshots replace old ones.
//
// Append() only queues a record and returns its sequence. The journal's thread writes the queue with one
// write and one fdatasync, and then reports the durable sequence. Messages that promise a record wait
// for that (outbox.h). Hard records are written at once or within `may_wait`, soft ones within kSoftDelay; the first
// one that is due takes the others with it. If a sync or a write fails for another reason than a full disk, the process
// ends at once: it may not promise anything that is not on disk.
//
// A full disk (ENOSPC, EDQUOT): space is allocated ahead, and the next segment exists before it is needed (DIR/spare,
// held open, so that it needs no descriptor either). When no more can be allocated, on_room(false) is called. The owner
// then refuses new work, and the records that it still writes use that reserve. When the reserve is used up, or is
// shorter than the next record, that record and all after it wait. They are not durable, nothing is acknowledged, and
// the process goes on. on_room(true) follows when there is room again. A file system without fallocate has no reserve:
// there on_room(false) is called when a write finds no room.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/latency_histogram.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"
#include "master/journal/directory.h"
#include "master/journal/format.h"
#include "master/journal/witness.h"

namespace mr::journal {

// How long a soft record may wait to share a sync. Bounds how much unpromised state a crash loses.
inline constexpr Duration kSoftDelay = Millis(20);

class Journal {
 public:
  struct Options {
    std::string directory;
    uint64_t cluster_id = 0;                  // for a new file; must match where the file exists
    uint64_t preallocate_bytes = 4ull << 20;  // per step, and of the spare; measured: larger ones only cost space
    uint64_t segment_bytes = 64ull << 20;     // a longer file is closed
    std::string witness;                      // path of the witness (witness.h); empty: there is none
    bool expected = false;                    // the cluster is known, so a missing journal is a loss
    std::optional<uint64_t> accept_loss;      // the number from a refusal of Open
  };
  // Takes the directory's lock, creates the first file or reads the existing ones through `on_record`
  // (ReadWhatIsThere), and cuts off a torn tail. Does not start the thread.
  // Errors: kRejected: another process has the lock. kCorrupted: acknowledged records are lost; the message has the
  // numbers and the choices, and only the lock was written. kOverloaded: the disk is full and no reserve is left.
  static Result<std::unique_ptr<Journal>> Open(const Options& options, const OnRecord& on_record);
  // Writes and syncs the queued records, and a seal.
  ~Journal();

  const Recovery& recovery() const { return read_.last; }
  const DirectoryRead& read() const { return read_; }
  // The loss that Open accepted; nothing where nothing was lost.
  const std::optional<Loss>& accepted_loss() const { return accepted_; }
  // The highest known epoch, also of lost records.
  uint32_t last_epoch() const { return last_epoch_; }

  // Starts the thread. Records carry `epoch` from here on. The callbacks run on the journal's thread:
  // on_durable(sequence) after each sync, on_segment(sequence) when a file was closed after this record, and on_room.
  void Start(uint32_t epoch, std::function<void(uint64_t)> on_durable,
             std::function<void(uint64_t)> on_segment = nullptr, std::function<void(bool)> on_room = nullptr);

  // Makes further records carry this epoch. Requires: it is at least the present one. Thread: any.
  void RaiseEpoch(uint32_t epoch);

  // Queues a record and returns its sequence. The order of calls is the order of records. may_wait: how long
  // the record may wait for others to share the sync. Requires: Start() was called. Thread: any.
  uint64_t Append(RecordClass record_class, uint8_t kind, std::string payload, Duration may_wait);
  uint64_t Append(RecordClass record_class, uint8_t kind, std::string payload) {
    return Append(record_class, kind, std::move(payload), record_class == RecordClass::kHard ? Duration{} : kSoftDelay);
  }
  // Returns the sequence of the next record, which the caller must append then. Thread: the one that appends.
  uint64_t Reserve();
  // Waits until `sequence` is on disk. For start-up and tests, never on the master's thread.
  void WaitDurable(uint64_t sequence);
  // Records that a worker knows a record that this journal lacks. The next Open refuses until that is accepted.
  // Thread: any.
  void ReportLoss(uint32_t epoch, uint64_t sequence);
  // Records that the consequences of the accepted loss are durable here. Without it, the next Open refuses as before.
  void LossSettled() { ReportLoss(0, 0); }

  uint64_t durable() const;
  uint64_t syncs() const;
  // Returns how long the syncs of groups took. Thread: any.
  const LatencyHistogram& sync_times() const { return sync_times_; }
  // Returns the bytes that Start()'s thread has written, with headers and seals. Thread: any.
  uint64_t written_bytes() const { return written_bytes_; }
  // Returns why the witness cannot be written; "" where it can.
  std::string witness_failure() const { return witness_ == nullptr ? std::string() : witness_->failure(); }

 private:
  struct Queued {
    uint64_t sequence;
    uint32_t epoch;
    RecordClass record_class;
    uint8_t kind;
    std::string payload;
  };
  Journal() = default;
  Status CheckLoss(const Witnessed& witness);
  Status KeepAside(const Loss& loss);
  Status OpenLast();
  void Main();
  bool TakeGroup(std::vector<Queued>* group);
  size_t WriteSome(std::span<const Queued> group);
  size_t RoomFor(std::span<const Queued> group);
  bool WriteGroup(std::span<const Queued> group);
  void Settle();
  bool WaitForRoom();
  void SayRoom(bool room);
  void WriteSeal();
  bool BeginSegment();
  void PrepareSpare();
  bool Ensure(uint64_t bytes);
  bool WriteAt(const std::string& bytes, uint64_t at);
  bool CutTorn();
  void LookForRoom();

  Options options_;
  std::string path_;
  UniqueFd lock_, fd_;
  UniqueFd directory_fd_, spare_;  // held, so that a new segment needs no descriptor
  DirectoryRead read_;
  std::optional<Loss> accepted_;
  uint32_t last_epoch_ = 0;

  // The fields from here to mutex_ belong to the journal's thread.
  ChainEnd end_;
  uint64_t allocated_ = 0;
  uint64_t spare_bytes_ = 0;
  uint64_t synced_ = 0;  // the last durable record; never a seal
  std::string buffer_;
  bool room_ = true;   // the last value given to on_room_
  bool torn_ = false;  // a write that found no room may have left bytes after end_

  std::atomic<uint64_t> written_bytes_{0};
  LatencyHistogram sync_times_{kCallBounds};

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_, durable_cv_;
  std::vector<Queued> queue_;
  uint64_t queued_bytes_ = 0;
  Instant due_;  // when the queue must be written, while it is not empty
  bool stopping_ = false;
  bool reserved_ = false;  // next_sequence_ is promised: no seal takes it
  uint64_t next_sequence_ = 1, durable_ = 0, syncs_ = 0;
  uint32_t epoch_ = 0;

  std::function<void(uint64_t)> on_durable_, on_segment_;
  std::function<void(bool)> on_room_;
  std::unique_ptr<WitnessFile> witness_;
  std::thread thread_;
};

}  // namespace mr::journal
