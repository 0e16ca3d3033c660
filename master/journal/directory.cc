#include "master/journal/directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "common/base/digest.h"
#include "common/io/clock.h"
#include "common/io/fault.h"

namespace mr::journal {
namespace {

constexpr char kSegment[] = "journal", kSnapshot[] = "snapshot";
constexpr size_t kDigits = 20;  // of UINT64_MAX
// The longest piece of a snapshot's record. Its first byte is 1 where more pieces follow, else 0.
constexpr size_t kPieceBytes = 16u << 20;
constexpr size_t kWriteBytes = 4u << 20;

std::string Numbered(const std::string& directory, const char* name, uint64_t n) {
  char text[64];
  std::snprintf(text, sizeof text, "/%s.%020llu", name, static_cast<unsigned long long>(n));
  return directory + text;
}

// Parses the number of "PREFIX.00000000000000000042".
bool ParseName(const std::string& name, const std::string& prefix, uint64_t* n) {
  if (name.size() != prefix.size() + 1 + kDigits || !name.starts_with(prefix + ".")) return false;
  const std::string digits = name.substr(prefix.size() + 1);
  if (digits.find_first_not_of("0123456789") != std::string::npos) return false;
  *n = std::strtoull(digits.c_str(), nullptr, 10);
  return true;
}

// Checks a snapshot. Returns its header, or the fault.
Result<Header> CheckSnapshot(const File& file) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
  const auto nothing = [](const Record&, uint64_t) { return Status::Ok(); };
  MR_ASSIGN_OR_RETURN(const Recovery read, ReadJournal(fd.get(), file.path, nothing));
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(file.path));
  if (!read.sealed || read.end.offset != size) {
    return Corrupted("only " + std::to_string(read.end.offset) + " of its " + std::to_string(size) +
                     " bytes are whole");
  }
  if (read.header.after_epoch == 0) return Corrupted("its header is not that of a snapshot");
  return read.header;
}

Status GiveSnapshot(const File& file, const OnRecord& on_record) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
  std::string joined;
  return ReadJournal(fd.get(), file.path,
                     [&](const Record& record, uint64_t offset) {
                       if (record.payload.empty()) return Corrupted("an empty record in the snapshot " + file.path);
                       joined.append(record.payload.substr(1));
                       if (record.payload[0] != 0) return Status::Ok();
                       Record whole = record;
                       whole.payload = joined;
                       MR_RETURN_IF_ERROR(on_record(whole, offset));
                       joined.clear();
                       return Status::Ok();
                     })
      .status();
}

}  // namespace

std::string SegmentPath(const std::string& directory, uint64_t after) {
  return after == 0 ? directory + "/" + kSegment : Numbered(directory, kSegment, after);
}

std::string SnapshotPath(const std::string& directory, uint64_t at) { return Numbered(directory, kSnapshot, at); }

namespace {

// Makes the directory's name in its parent durable. A parent without read permission (mode 0711) cannot be synced
// alone: then this syncs the whole file system.
Status SyncName(const std::filesystem::path& path) {
  Status synced = SyncDirectory(path.parent_path().string());
  if (synced.code() != Code::kNotAllowed) return synced;
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path.string(), O_RDONLY | O_DIRECTORY));
  return syncfs(fd.get()) == 0 ? Status::Ok() : ErrnoStatus(errno, "cannot sync the file system of " + path.string());
}

}  // namespace

Status MakeJournalDirectory(const std::string& directory) {
  namespace fs = std::filesystem;
  const fs::path path = fs::path(directory).lexically_normal();
  // Always syncs the two nearest levels: an earlier start may have died before their sync.
  int levels = 2;
  for (fs::path p = path; p.has_relative_path() && !PathExists(p.string()); p = p.parent_path()) ++levels;
  MR_RETURN_IF_ERROR(MakeDirectories(directory));
  for (fs::path p = path; levels > 0 && p.has_relative_path(); p = p.parent_path(), --levels) {
    MR_RETURN_IF_ERROR(SyncName(p));
  }
  return Status::Ok();
}

Result<Listing> ListFiles(const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(directory));
  Listing listing;
  for (const std::string& name : names) {
    const std::string path = directory + "/" + name;
    uint64_t n = 0;
    if (name == kSegment)
      listing.segments.push_back({path, 0});
    else if (ParseName(name, kSegment, &n))
      listing.segments.push_back({path, n});
    else if (ParseName(name, kSnapshot, &n))
      listing.snapshots.push_back({path, n});
  }
  const auto by_number = [](const File& a, const File& b) { return a.after < b.after; };
  std::sort(listing.segments.begin(), listing.segments.end(), by_number);
  std::sort(listing.snapshots.begin(), listing.snapshots.end(), by_number);
  return listing;
}

namespace {

struct Reading {
  uint64_t cluster_id = 0, until = UINT64_MAX, watch = 0;
  From from = From::kNewest;
  bool lossy = false;
};

// Raises loss->known by the records in files that are not read.
Status AddKnown(const std::vector<std::string>& paths, Loss* loss) {
  for (const std::string& path : paths) {
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
    MR_ASSIGN_OR_RETURN(const Known known, KnownOf(fd.get()));
    loss->known = std::max(loss->known, known.sequence);
    loss->known_epoch = std::max(loss->known_epoch, known.epoch);
  }
  return Status::Ok();
}

Result<DirectoryRead> Read(const std::string& directory, const Reading& how, const OnRecord& on_record) {
  MR_ASSIGN_OR_RETURN(Listing files, ListFiles(directory));
  if (how.from == From::kOldest) {
    if (!files.segments.empty() && files.segments[0].after == 0) files.snapshots.clear();
    std::reverse(files.snapshots.begin(), files.snapshots.end());
  }
  DirectoryRead read;
  ChainEnd& end = read.end;  // of the chain after the last file that was read
  const auto other_cluster = [&](const std::string& path, uint64_t id) {
    return how.cluster_id == 0 || id == how.cluster_id
               ? Status::Ok()
               : Rejected("the journal " + path + " belongs to another cluster than its directory");
  };
  const auto with_warnings = [&read](std::string text) {
    for (const auto& warning : read.warnings) text += "; " + warning;
    return text;
  };
  uint64_t passed_over = 0;  // the newest damaged snapshot stands for records up to this one
  for (auto it = files.snapshots.rbegin(); it != files.snapshots.rend(); ++it) {
    if (it->after > how.until) continue;
    const auto header = CheckSnapshot(*it);
    if (!header.ok()) {
      passed_over = std::max(passed_over, it->after);
      read.warnings.push_back("the snapshot " + it->path +
                              " is damaged and was passed over: " + header.status().ToString());
      continue;
    }
    MR_RETURN_IF_ERROR(other_cluster(it->path, header->cluster_id));
    end = {0, header->after, header->after_hash, header->after_epoch};
    read.snapshot = header->after;
    if (read.snapshot == how.watch) read.hash_at = header->after_hash;
    const Status given = GiveSnapshot(*it, on_record);
    if (!given.ok()) {
      return given.With("the snapshot " + it->path + " is whole but of no use to this release (start the one that " +
                        "wrote it; or move the file away, the snapshot before it is still there)");
    }
    break;
  }
  // Ends the reading: with an error, or with a loss and the records that were read so far.
  const auto lose = [&](size_t first_unread, const std::string& text) -> Status {
    if (!how.lossy)
      return Corrupted(text + ". Nothing was changed. Restore the missing files of " + directory +
                       " from a backup or another disk");
    read.loss = Loss{text, end.sequence, passed_over, end.epoch};
    for (size_t i = first_unread; i < files.segments.size(); ++i) {
      if (files.segments[i].after < read.snapshot) continue;
      read.loss->known = std::max(read.loss->known, files.segments[i].after);
      read.unread.push_back(files.segments[i].path);
    }
    auto paths = read.unread;
    if (!read.last_path.empty()) paths.push_back(read.last_path);
    return AddKnown(paths, &*read.loss);
  };
  for (size_t i = 0; i < files.segments.size() && !read.loss; ++i) {
    const File& file = files.segments[i];
    if (file.after < read.snapshot || file.after >= how.until) continue;
    // Only the last file may end in the middle of a write.
    const bool first = read.last_path.empty();
    if (file.after != end.sequence) {
      MR_RETURN_IF_ERROR(lose(
          i, with_warnings("the journal in " + directory + " has no record after " + std::to_string(end.sequence) +
                           ": the next file, " + file.path + ", begins after record " + std::to_string(file.after) +
                           (first ? "" : ", and " + read.last_path + " ends too early (it is cut or damaged)"))));
      break;
    }
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(file.path, O_RDONLY));
    if (how.lossy) {
      // Checked before its records are given: a file of another chain is not this journal's.
      std::string page(kHeaderBytes, '\0');
      MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd.get(), page.data(), page.size(), 0));
      page.resize(n);
      uint64_t seed = 0;
      const auto header = DecodeHeader(page, &seed);
      if (!header.ok() && header.status().code() != Code::kCorrupted) {
        return header.status().With("cannot use the journal " + file.path + ", at offset 0");
      }
      if (!header.ok()) {
        MR_RETURN_IF_ERROR(lose(
            i, with_warnings("cannot use the journal " + file.path + ", at offset 0: " + header.status().message())));
        break;
      }
      if (header->after_hash != end.hash) {
        MR_RETURN_IF_ERROR(lose(i, "the journal's file " + file.path + " does not follow record " +
                                       std::to_string(end.sequence) + " (another chain)"));
        break;
      }
    }
    if (!first) ++read.closed_segments;
    std::string damage;
    const auto give = [&](const Record& record, uint64_t offset) {
      if (record.sequence == how.watch) read.hash_at = record.hash;
      return on_record(record, offset);
    };
    MR_ASSIGN_OR_RETURN(read.last, ReadJournal(fd.get(), file.path, give, how.lossy ? &damage : nullptr));
    read.last_path = file.path;
    read.records += read.last.records;
    MR_RETURN_IF_ERROR(other_cluster(file.path, read.last.header.cluster_id));
    if (read.last.header.after_hash != end.hash) {
      return Corrupted("the journal's file " + file.path + " does not follow record " + std::to_string(end.sequence) +
                       " (another chain). Nothing was changed. Restore the files of " + directory + " as they were");
    }
    end = read.last.end;
    if (!damage.empty()) MR_RETURN_IF_ERROR(lose(i + 1, damage));
  }
  if (read.loss) return read;
  if (read.last_path.empty() || (how.until != UINT64_MAX && end.sequence != how.until)) {
    MR_RETURN_IF_ERROR(lose(files.segments.size(),
                            with_warnings("the journal in " + directory + " lacks the file with the records after " +
                                          std::to_string(end.sequence))));
  }
  return read;
}

}  // namespace

Result<DirectoryRead> ReadDirectory(const std::string& directory, uint64_t cluster_id, uint64_t until,
                                    const OnRecord& on_record, From from) {
  return Read(directory, {cluster_id, until, 0, from, false}, on_record);
}

Result<DirectoryRead> ReadWhatIsThere(const std::string& directory, uint64_t cluster_id, uint64_t watch,
                                      const OnRecord& on_record) {
  return Read(directory, {cluster_id, UINT64_MAX, watch, From::kNewest, true}, on_record);
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
