// The files of a journal: segments, each a file of format.h, and snapshots that stand for the
// segments before them.
//
// journal, journal.00000000000000001234, ...: records behind that sequence; each header holds the
// chain's end in the file before. snapshot.00000000000000001234: what all records up to that sequence
// amount to, as records of its owner's kinds (of any size: long ones are cut here and joined again).
// The newest whole snapshot and the segments behind it are the journal; the snapshot before it and
// the segments between the two stay as well, for the day on which the newest is found damaged.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "master/journal/format.h"

namespace mr::journal {

// Gets each record but seals; an error ends the reading. offset: in the record's file.
using OnRecord = std::function<Status(const Record& record, uint64_t offset)>;

struct File {
  std::string path;
  uint64_t after = 0;  // a segment's records are behind this sequence, a snapshot's stand for up to it
};
struct Listing {
  std::vector<File> segments, snapshots;  // each in order
};
Result<Listing> ListFiles(const std::string& directory);
// mkdir -p, so that the directory and its names above it survive a power cut.
Status MakeJournalDirectory(const std::string& directory);
std::string SegmentPath(const std::string& directory, uint64_t after);
std::string SnapshotPath(const std::string& directory, uint64_t at);

// What is missing or damaged, and how much of it is known to have been there.
struct Loss {
  std::string text;    // no full stop at its end
  uint64_t kept = 0;   // the last record that can be read
  uint64_t known = 0;  // the last one that was durable; at most kept where nobody knows
  uint32_t known_epoch = 0;
};

struct DirectoryRead {
  uint64_t snapshot = 0;  // the one that was read; 0 = none, all from the first record on
  Recovery last;          // of the last segment that was read
  std::string last_path;
  size_t closed_segments = 0;         // read before the last one
  uint64_t records = 0;               // of segments
  std::vector<std::string> warnings;  // of damaged snapshots that were passed over
  ChainEnd end;                       // behind the last record that was read; its offset is that in last_path
  std::optional<Loss> loss;           // only where it is asked for
  std::vector<std::string> unread;    // segments behind the loss
  std::optional<uint64_t> hash_at;    // of the record that was asked for, if it was read
};

// Where a reading begins: kNewest, the shortest way to the present; kOldest, the longest history that
// the files hold (no snapshot where all segments are there, else the oldest whole one).
enum class From : uint8_t { kNewest, kOldest };

// Gives a whole snapshot's records and then those of the segments behind it. until: stops at the end
// of the segment that ends there; UINT64_MAX = reads all. cluster_id 0 = any.
// kCorrupted, saying what to do, where acknowledged records are damaged or missing. Changes nothing,
// and takes no lock: beside a running master the last records may be half written, and a file may go.
Result<DirectoryRead> ReadDirectory(const std::string& directory, uint64_t cluster_id, uint64_t until,
                                    const OnRecord& on_record, From from = From::kNewest);

// As above from the newest snapshot to the end, but reads up to the first record that is damaged or missing, and says
// so in `loss` instead of failing. watch: the record whose hash is wanted; 0 = none.
Result<DirectoryRead> ReadWhatIsThere(const std::string& directory, uint64_t cluster_id, uint64_t watch,
                                      const OnRecord& on_record);

// A snapshot in the making: DIR/snapshot.N.tmp until Finish() has made it durable, gone with the
// object where that did not come to pass. Any thread.
class SnapshotWriter {
 public:
  ~SnapshotWriter();
  SnapshotWriter(SnapshotWriter&&) = default;
  // where: the chain's end that it stands for.
  static Result<SnapshotWriter> Create(const std::string& directory, uint64_t cluster_id, const ChainEnd& where);
  Status Add(uint8_t kind, std::string_view payload);
  // Seals, syncs and names it.
  Status Finish();

 private:
  SnapshotWriter() = default;
  Status Flush();
  std::string directory_, path_;
  UniqueFd fd_;
  ChainEnd end_;
  std::string buffer_;
};

// Removes what neither the snapshot `newest` nor the one before it (0 = the journal's beginning)
// needs to be read. REQUIRES that both are whole.
Status RemoveCovered(const std::string& directory, uint64_t newest, uint64_t previous);
// Removes what a crash left half made. REQUIRES that nobody makes anything there.
Status RemoveHalfMade(const std::string& directory);

}  // namespace mr::journal
