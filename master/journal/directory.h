// The files of a journal: segments and snapshots, each in the format of format.h. A snapshot stands for the segments
// before it.
//
// journal, journal.00000000000000001234, ...: segments with the records after that sequence; each header
// has the chain's end in the file before. snapshot.00000000000000001234: the state after that sequence, as
// records of the owner's kinds (of any size: long ones are cut into pieces here and joined again).
// The newest whole snapshot and the segments after it are the journal. The snapshot before it and the
// segments between the two are kept, in case the newest is damaged.
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

// Receives each record but seals. An error ends the reading. offset: in the record's file.
using OnRecord = std::function<Status(const Record& record, uint64_t offset)>;

struct File {
  std::string path;
  uint64_t after = 0;  // a segment's records come after this sequence; a snapshot stands for those up to it
};
struct Listing {
  std::vector<File> segments, snapshots;  // each in order
};
Result<Listing> ListFiles(const std::string& directory);
// Like mkdir -p, but durable: the directory and those above it survive a power cut.
Status MakeJournalDirectory(const std::string& directory);
std::string SegmentPath(const std::string& directory, uint64_t after);
std::string SnapshotPath(const std::string& directory, uint64_t at);

// The records that are missing or damaged, as far as they are known.
struct Loss {
  std::string text;    // no full stop at its end
  uint64_t kept = 0;   // the last record that can be read
  uint64_t known = 0;  // the last record known to have been durable; at most `kept` where none is known
  uint32_t known_epoch = 0;
};

struct DirectoryRead {
  uint64_t snapshot = 0;  // the snapshot that was read; 0 = none, all records from the first on
  Recovery last;          // of the last segment that was read
  std::string last_path;
  size_t closed_segments = 0;         // read before the last one
  uint64_t records = 0;               // of segments
  std::vector<std::string> warnings;  // damaged snapshots that were passed over
  ChainEnd end;                       // after the last record that was read; its offset is in last_path
  std::optional<Loss> loss;           // only from ReadWhatIsThere
  std::vector<std::string> unread;    // segments after the loss
  std::optional<uint64_t> hash_at;    // hash of the `watch` record, if it was read
};

// The start of a reading. kNewest: the newest snapshot, the shortest way. kOldest: the longest history in
// the files (without a snapshot where all segments exist, else from the oldest whole one).
enum class From : uint8_t { kNewest, kOldest };

// Reads a whole snapshot and then the segments after it, record by record. until: stops at the end of the
// segment that ends there; UINT64_MAX = reads all. cluster_id 0 = any. Changes nothing and takes no lock: beside a
// running master the last records may be half written, and a file may disappear.
// Errors: kCorrupted, with what to do, where acknowledged records are damaged or missing.
Result<DirectoryRead> ReadDirectory(const std::string& directory, uint64_t cluster_id, uint64_t until,
                                    const OnRecord& on_record, From from = From::kNewest);

// Like ReadDirectory from the newest snapshot to the end, but where a record is damaged or missing it reads up to there
// and sets `loss` instead of failing. watch: the record for hash_at; 0 = none.
Result<DirectoryRead> ReadWhatIsThere(const std::string& directory, uint64_t cluster_id, uint64_t watch,
                                      const OnRecord& on_record);

// Writes a snapshot to DIR/snapshot.N.tmp until Finish() makes it durable and renames it. The destructor
// removes an unfinished one. Thread: any.
class SnapshotWriter {
 public:
  ~SnapshotWriter();
  SnapshotWriter(SnapshotWriter&&) = default;
  // Begins a snapshot. where: the chain's end that it stands for.
  static Result<SnapshotWriter> Create(const std::string& directory, uint64_t cluster_id, const ChainEnd& where);
  Status Add(uint8_t kind, std::string_view payload);
  // Seals, syncs and renames it.
  Status Finish();

 private:
  SnapshotWriter() = default;
  Status Flush();
  std::string directory_, path_;
  UniqueFd fd_;
  ChainEnd end_;
  std::string buffer_;
};

// Removes the files that neither the snapshot `newest` nor `previous`, the one before it (0 = the journal's
// beginning), needs to be read. Requires: both are whole.
Status RemoveCovered(const std::string& directory, uint64_t newest, uint64_t previous);
// Removes unfinished files that a crash left. Requires: no other process makes files there.
Status RemoveHalfMade(const std::string& directory);

}  // namespace mr::journal
