// The master's memory: an append-only row of records, synced in groups by a thread of its own. A
// file that has grown past segment_bytes is closed and the next one begun; directory.h says how the
// files make one journal, and how snapshots let the older ones go.
//
// Append() only queues and gives the record's sequence; the journal's thread writes what is queued
// in one write and one fdatasync, and then says up to where all is on disk. Whatever promises a
// record to somebody waits for that (outbox.h). Hard records are written at once or within the time
// that was said, soft ones within kSoftDelay, all with the first that is due. If a sync or a write fails for another
// reason than a full disk, the process ends at once: nothing may be said any more that the disk does not know.
//
// A full disk (ENOSPC, EDQUOT): space is allocated ahead, and the next segment is there before it is needed (DIR/spare,
// held open, so that it needs no descriptor either). When no more can be allocated on_room(false) is called: the owner
// refuses new work, and what it still writes is paid from that reserve. When the reserve is used up, or is shorter than
// the next record, that record and all behind it wait: they are not durable, nothing is acknowledged, and nothing ends.
// on_room(true) follows when there is room again. A file system without fallocate has no reserve: there on_room(false)
// is called when a write finds no room.
#pragma once

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

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"
#include "master/journal/directory.h"
#include "master/journal/format.h"
#include "master/journal/witness.h"

namespace mr::journal {

// How long a soft record may wait for company; bounds what a crash forgets of unpromised things.
inline constexpr Duration kSoftDelay = Millis(20);

class Journal {
 public:
  struct Options {
    std::string directory;
    uint64_t cluster_id = 0;                  // for a new file; must match where the file exists
    uint64_t preallocate_bytes = 4ull << 20;  // per step, and of the spare; measured: larger ones only cost space
    uint64_t segment_bytes = 64ull << 20;     // a file that is longer is closed
    std::string witness;                      // path of the witness (witness.h); empty: there is none
    bool expected = false;                    // the cluster is known: no journal at all is a loss
    std::optional<uint64_t> accept_loss;      // the number that a refusal of Open named
  };
  // Takes the directory's lock (kRejected where another process has it), creates the first file or
  // reads what is there through `on_record` (ReadDirectory), cuts off a torn tail. The thread does
  // not run yet.
  // Errors: kCorrupted where acknowledged records are lost, with the numbers and the choices. Nothing but the lock was
  // written then. kOverloaded: the disk is full and no reserve is left.
  static Result<std::unique_ptr<Journal>> Open(const Options& options, const OnRecord& on_record);
  // Writes and syncs what is queued, and a seal.
  ~Journal();

  const Recovery& recovery() const { return read_.last; }
  const DirectoryRead& read() const { return read_; }
  // What Open was told to accept; nothing where nothing was lost.
  const std::optional<Loss>& accepted_loss() const { return accepted_; }
  // The highest epoch that is known to have been, also of lost records.
  uint32_t last_epoch() const { return last_epoch_; }

  // From here on records carry `epoch`; on_durable(sequence) is called on the journal's thread, and
  // so are on_segment(sequence) when a file was closed behind this record, and on_room.
  void Start(uint32_t epoch, std::function<void(uint64_t)> on_durable,
             std::function<void(uint64_t)> on_segment = nullptr, std::function<void(bool)> on_room = nullptr);

  // Records that are appended from here on carry this epoch, which is at least the present one. Any thread.
  void RaiseEpoch(uint32_t epoch);

  // Any thread; the calls' order is the records' order. After Start(). may_wait: for others to
  // share the sync with.
  uint64_t Append(RecordClass record_class, uint8_t kind, std::string payload, Duration may_wait);
  uint64_t Append(RecordClass record_class, uint8_t kind, std::string payload) {
    return Append(record_class, kind, std::move(payload), record_class == RecordClass::kHard ? Duration{} : kSoftDelay);
  }
  // Waits until `sequence` is on disk. For start-up and tests, never for the master's thread.
  void WaitDurable(uint64_t sequence);
  // A worker knows a record that this journal lacks: the next Open refuses until that is accepted. Any thread.
  void ReportLoss(uint32_t epoch, uint64_t sequence);
  // What follows from the accepted loss is durable in this journal. Until then an Open refuses as before.
  void LossSettled() { ReportLoss(0, 0); }

  uint64_t durable() const;
  uint64_t syncs() const;
  // "" where the witness can be written.
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

  // Of the journal's thread.
  ChainEnd end_;
  uint64_t allocated_ = 0;
  uint64_t spare_bytes_ = 0;
  uint64_t synced_ = 0;  // like durable_, for the records themselves; never a seal
  std::string buffer_;
  bool room_ = true;   // as was said to on_room_
  bool torn_ = false;  // a write that found no room may have left bytes behind end_

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable wake_, durable_cv_;
  std::vector<Queued> queue_;
  uint64_t queued_bytes_ = 0;
  Instant due_;  // of the queue, while there is something in it
  bool stopping_ = false;
  uint64_t next_sequence_ = 1, durable_ = 0, syncs_ = 0;
  uint32_t epoch_ = 0;

  std::function<void(uint64_t)> on_durable_, on_segment_;
  std::function<void(bool)> on_room_;
  std::unique_ptr<WitnessFile> witness_;
  std::thread thread_;
};

}  // namespace mr::journal
