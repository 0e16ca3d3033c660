#include "master/journal/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "common/base/digest.h"
#include "common/io/clock.h"
#include "common/io/fault.h"

namespace mr::journal {
namespace {

constexpr char kSegment[] = "journal", kSnapshot[] = "snapshot";
constexpr size_t kDigits = 20;  // of UINT64_MAX
// A piece of a snapshot's record; its first byte says whether more of it follow.
constexpr size_t kPieceBytes = 16u << 20;
constexpr size_t kWriteBytes = 4u << 20;

std::string Numbered(const std::string& directory, const char* name, uint64_t n) {
  char text[64];
  std::snprintf(text, sizeof text, "/%s.%020llu", name, static_cast<unsigned long long>(n));
  return directory + text;
}

// The number of "PREFIX.00000000000000000042".
bool ParseName(const std::string& name, const std::string& prefix, uint64_t* n) {
  if (name.size() != prefix.size() + 1 + kDigits || !name.starts_with(prefix + ".")) return false;
  const std::string digits = name.substr(prefix.size() + 1);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  *n = std::strtoull(digits.c_str(), nullptr, 10);
  return true;
}

// What is wrong with a snapshot; its header where nothing is.
Result<Header> CheckSnapshot(const File& file) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
  const auto nothing = [](const Record&, uint64_t) { return Status::Ok(); };
  MR_ASSIGN_OR_RETURN(const Recovery read, ReadJournal(fd.get(), file.path, nothing));
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(file.path));
  if (!read.sealed || read.end.offset != size) {
    return Corrupted("only " + std::to_string(read.end.offset) + " of its " + std::to_string(size) + " bytes are whole");
  }
  if (read.header.after_epoch == 0) return Corrupted("its header is not that of a snapshot");
  return read.header;
}

Status GiveSnapshot(const File& file, const OnRecord& on_record) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
  std::string joined;
  return ReadJournal(fd.get(), file.path, [&](const Record& record, uint64_t offset) {
           if (record.payload.empty()) return Corrupted("an empty record in the snapshot " + file.path);
           joined.append(record.payload.substr(1));
           if (record.payload[0] != 0) return Status::Ok();
           Record whole = record;
           whole.payload = joined;
           MR_RETURN_IF_ERROR(on_record(whole, offset));
           joined.clear();
           return Status::Ok();
         }).status();
}

}  // namespace

std::string SegmentPath(const std::string& directory, uint64_t after) {
  return after == 0 ? directory + "/" + kSegment : Numbered(directory, kSegment, after);
}

std::string SnapshotPath(const std::string& directory, uint64_t at) { return Numbered(directory, kSnapshot, at); }

Result<Listing> ListFiles(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  Listing listing;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    uint64_t n = 0;
    if (name == kSegment) listing.segments.push_back({path, 0});
    else if (ParseName(name, kSegment, &n)) listing.segments.push_back({path, n});
    else if (ParseName(name, kSnapshot, &n)) listing.snapshots.push_back({path, n});
  }
  const auto by_number = [](const File& a, const File& b) { return a.after < b.after; };
  std::sort(listing.segments.begin(), listing.segments.end(), by_number);
  std::sort(listing.snapshots.begin(), listing.snapshots.end(), by_number);
  return listing;
}

Result<DirectoryRead> ReadDirectory(const std::string& directory, uint64_t cluster_id, uint64_t until,
                                    const OnRecord& on_record, From from) {
  MR_ASSIGN_OR_RETURN(Listing files, ListFiles(directory));
  if (from == From::kOldest) {
    if (!files.segments.empty() && files.segments[0].after == 0) files.snapshots.clear();
    std::reverse(files.snapshots.begin(), files.snapshots.end());
  }
  DirectoryRead read;
  Header before;  // the chain as the last file read has left it
  const auto other_cluster = [&](const std::string& path, uint64_t id) {
    return cluster_id == 0 || id == cluster_id
               ? Status::Ok()
               : Rejected("the journal " + path + " belongs to another cluster than its directory");
  };
  for (auto it = files.snapshots.rbegin(); it != files.snapshots.rend(); ++it) {
    if (it->after > until) continue;
    const auto header = CheckSnapshot(*it);
    if (!header.ok()) {
      read.warnings.push_back("the snapshot " + it->path + " is damaged and was passed over: " +
                              header.status().ToString());
      continue;
    }
    MR_RETURN_IF_ERROR(other_cluster(it->path, header->cluster_id));
    before = *header;
    read.snapshot = header->after;
    const Status given = GiveSnapshot(*it, on_record);
    if (!given.ok()) {
      return given.With("the snapshot " + it->path + " is whole but of no use to this release (start the one that " +
                        "wrote it; or move the file away, the snapshot before it is still there)");
    }
    break;
  }
  for (const File& file : files.segments) {
    if (file.after < read.snapshot || file.after >= until) continue;
    // Only the last file may end in the midst of a write.
    const bool first = read.last_path.empty();
    if (file.after != before.after) {
      std::string text = "the journal in " + directory + " has no record behind " + std::to_string(before.after) +
                         ": the next file, " + file.path + ", begins behind record " + std::to_string(file.after) +
                         (first ? "" : ", and " + read.last_path + " ends too early (it is cut or damaged)");
      for (const auto& warning : read.warnings) text += "; " + warning;
      return Corrupted(text + ". Nothing was changed. Restore the missing file from a backup or another disk");
    }
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
    if (!first) ++read.closed_segments;
    MR_ASSIGN_OR_RETURN(read.last, ReadJournal(fd.get(), file.path, on_record));
    read.last_path = file.path;
    read.records += read.last.records;
    MR_RETURN_IF_ERROR(other_cluster(file.path, read.last.header.cluster_id));
    if (read.last.header.after_hash != before.after_hash) {
      return Corrupted("the journal's file " + file.path + " does not belong behind record " +
                       std::to_string(before.after) + " (another chain). Nothing was changed. Restore the files of " +
                       directory + " as they were");
    }
    before = {cluster_id, 0, read.last.end.sequence, read.last.end.hash, read.last.end.epoch};
  }
  if (read.last_path.empty() || (until != UINT64_MAX && before.after != until)) {
    std::string text = "the journal in " + directory + " lacks the file with the records behind " +
                       std::to_string(before.after);
    for (const auto& warning : read.warnings) text += "; " + warning;
    return Corrupted(text + ". Nothing was changed. Restore it from a backup or another disk");
  }
  return read;
}

Result<SnapshotWriter> SnapshotWriter::Create(const std::string& directory, uint64_t cluster_id,
                                              const ChainEnd& where) {
  SnapshotWriter writer;
  writer.directory_ = directory;
  writer.path_ = SnapshotPath(directory, where.sequence);
  MR_ASSIGN_OR_RETURN(writer.fd_, OpenFile(writer.path_ + ".tmp", O_WRONLY | O_CREAT | O_TRUNC));
  writer.buffer_ = EncodeHeader({cluster_id, WallClockMs(), where.sequence, where.hash, where.epoch});
  writer.end_ = {kHeaderBytes, where.sequence, Hash64(writer.buffer_), where.epoch};
  return writer;
}

SnapshotWriter::~SnapshotWriter() {
  if (fd_.valid()) unlink((path_ + ".tmp").c_str());
}

Status SnapshotWriter::Flush() {
  MR_RETURN_IF_ERROR(WriteAll(fd_.get(), buffer_));
  buffer_.clear();
  return Status::Ok();
}

Status SnapshotWriter::Add(uint8_t kind, std::string_view payload) {
  do {
    std::string piece(1, payload.size() > kPieceBytes ? 1 : 0);
    piece += payload.substr(0, kPieceBytes);
    payload.remove_prefix(piece.size() - 1);
    EncodeRecord({end_.sequence + 1, end_.epoch, RecordClass::kHard, kind, 0, piece}, &end_, &buffer_);
    if (buffer_.size() >= kWriteBytes) MR_RETURN_IF_ERROR(Flush());
  } while (!payload.empty());
  return Status::Ok();
}

Status SnapshotWriter::Finish() {
  EncodeRecord({end_.sequence + 1, end_.epoch, RecordClass::kHard, kSealKind, end_.sequence, ""}, &end_, &buffer_);
  MR_RETURN_IF_ERROR(Flush());
  FaultPoint("snapshot_written");
  const std::string temporary = path_ + ".tmp";
  if (fsync(fd_.get()) != 0) return ErrnoStatus(errno, "cannot sync " + temporary);
  if (rename(temporary.c_str(), path_.c_str()) != 0) return ErrnoStatus(errno, "cannot name " + path_);
  fd_.reset();
  FaultPoint("snapshot_named");
  return SyncDirectory(directory_);
}

Status RemoveCovered(const std::string& directory, uint64_t newest, uint64_t previous) {
  MR_ASSIGN_OR_RETURN(const Listing files, ListFiles(directory));
  std::vector<std::string> gone;
  for (const File& file : files.snapshots) {
    if (file.after < newest && file.after != previous) gone.push_back(file.path);
  }
  for (const File& file : files.segments) {
    if (file.after < previous) gone.push_back(file.path);
  }
  for (const std::string& path : gone) {
    FaultPoint("segment_removed");
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "cannot remove " + path);
  }
  return Status::Ok();
}

Status RemoveHalfMade(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    if (name.ends_with(".tmp") && unlink(path.c_str()) != 0) return ErrnoStatus(errno, "cannot remove " + path);
  }
  return Status::Ok();
}

}  // namespace mr::journal
