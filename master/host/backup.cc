#include "master/host/backup.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <vector>

#include "common/io/files.h"
#include "master/host/profiles.h"
#include "master/host/read_journal.h"
#include "master/journal/directory.h"
#include "master/journal/format.h"
#include "master/journal/witness.h"

namespace mr::master {
namespace {

namespace stdfs = std::filesystem;

constexpr size_t kPiece = 1u << 20;
// How often the copy of the journal is restarted where a snapshot replaced its files meanwhile (guess: a snapshot is
// made each 64 MiB of journal).
constexpr int kTries = 5;

// Copies one file and syncs the copy. Errors: kNotFound: it is gone.
Status CopyFile(const std::string& from, const std::string& to, uint64_t* bytes) {
  MR_ASSIGN_OR_RETURN(const UniqueFd in, OpenFile(from, O_RDONLY));
  struct stat info {};
  if (fstat(in.get(), &info) != 0) return ErrnoStatus(errno, "cannot read " + from);
  MR_ASSIGN_OR_RETURN(const UniqueFd out,
                      OpenFile(to, O_WRONLY | O_CREAT | O_EXCL, static_cast<int>(info.st_mode & 0700)));
  std::string piece(kPiece, '\0');
  for (uint64_t at = 0;;) {
    MR_ASSIGN_OR_RETURN(const size_t size, PreadUpTo(in.get(), piece.data(), piece.size(), at));
    if (size == 0) break;
    MR_RETURN_IF_ERROR(WriteAll(out.get(), std::string_view(piece).substr(0, size)).With("cannot write " + to));
    at += size;
    *bytes += size;
  }
  if (fdatasync(out.get()) != 0) return ErrnoStatus(errno, "cannot sync " + to);
  return Status::Ok();
}

// Copies the files of a directory and those below it. Files that disappear meanwhile, as old libraries and logs do, are
// left out, and so are unfinished uploads.
Status CopyTree(const std::string& from, const std::string& to, uint64_t* bytes) {
  if (!PathExists(from)) return Status::Ok();
  if (mkdir(to.c_str(), 0700) != 0 && errno != EEXIST) return ErrnoStatus(errno, "cannot make " + to);
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(from));
  for (const std::string& name : names) {
    const std::string source = from + "/" + name, target = to + "/" + name;
    struct stat info {};
    if (lstat(source.c_str(), &info) != 0 || name.ends_with(".part") || name.ends_with(".tmp")) continue;
    Status copied = S_ISDIR(info.st_mode)   ? CopyTree(source, target, bytes)
                    : S_ISREG(info.st_mode) ? CopyFile(source, target, bytes)
                                            : Status::Ok();
    if (!copied.ok() && copied.code() != Code::kNotFound) return copied;
  }
  return SyncDirectory(to);
}

// Cuts the copy of the segment that is being written behind its last whole record: what follows may be a mixture of
// several moments. All that was durable when the copy began is before that.
Status CutBehindWhole(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDWR));
  std::string damage;
  const auto keep = [](const journal::Record&, uint64_t) { return Status::Ok(); };
  MR_ASSIGN_OR_RETURN(const journal::Recovery read, journal::ReadJournal(fd.get(), path, keep, &damage));
  if (ftruncate(fd.get(), static_cast<off_t>(read.end.offset)) != 0 || fdatasync(fd.get()) != 0) {
    return ErrnoStatus(errno, "cannot cut " + path);
  }
  return Status::Ok();
}

// Errors: kNotFound: a snapshot replaced a file meanwhile.
Status CopyJournal(const std::string& from, const std::string& to, uint64_t* bytes) {
  MR_ASSIGN_OR_RETURN(const journal::Listing files, journal::ListFiles(from));
  if (files.segments.empty()) return NotFound("there is no journal in " + from);
  MR_RETURN_IF_ERROR(journal::MakeJournalDirectory(to));
  // The two newest snapshots, as the master keeps them: the older one counts if the newer one is damaged.
  std::vector<journal::File> all = files.segments;
  const size_t skip = files.snapshots.size() > 2 ? files.snapshots.size() - 2 : 0;
  all.insert(all.end(), files.snapshots.begin() + static_cast<std::ptrdiff_t>(skip), files.snapshots.end());
  for (const journal::File& file : all) {
    MR_RETURN_IF_ERROR(CopyFile(file.path, to + "/" + stdfs::path(file.path).filename().string(), bytes));
  }
  MR_RETURN_IF_ERROR(CutBehindWhole(to + "/" + stdfs::path(files.segments.back().path).filename().string()));
  return SyncDirectory(to);
}

// Returns the path without links, "." and "..", and without slashes at its end.
std::string Canonical(const std::string& path) {
  std::error_code failed;
  const stdfs::path absolute = stdfs::absolute(path).lexically_normal();
  const stdfs::path real = stdfs::weakly_canonical(absolute, failed);
  std::string text = (failed ? absolute : real).string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// Removes what a backup that was not completed left behind. Errors: kRejected: the directory is anything else.
Status RemovePart(const std::string& part) {
  struct stat info {};
  if (lstat(part.c_str(), &info) != 0) {
    return errno == ENOENT ? Status::Ok() : ErrnoStatus(errno, "cannot look at " + part);
  }
  static const std::set<std::string> kNames = {"cluster_id", "journal_witness", "credentials", "journal",
                                               "profiles",   "audit",           "lib",         "logs"};
  bool ours = S_ISDIR(info.st_mode), named = false;
  if (ours) {
    MR_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListDirectory(part));
    for (const std::string& name : names) {
      ours = ours && kNames.contains(name);
      named = named || name == "cluster_id" || name == "journal";
    }
    ours = ours && (names.empty() || named);
  }
  if (!ours) {
    return Rejected(part + " exists and is no unfinished backup; nothing was changed: move it away, or name another " +
                    "directory for the backup");
  }
  return RemoveTree(part);
}

// Checks that the journal of the copy, which can be read up to `last`, has all records that were durable when the copy
// began. A damaged record ends the journal like a record that is being written; only the witness knows the difference.
Status CheckComplete(const std::string& directory, const std::string& part, uint64_t last) {
  const auto seen = journal::WitnessFile::Read(part + "/journal_witness");
  if (!seen.ok() || last >= seen->sequence) return Status::Ok();
  return Corrupted("the journal in " + directory + " can be read up to record " + std::to_string(last) +
                   " only, and record " + std::to_string(seen->sequence) + " was durable, so " + part +
                   " is no backup; see docs/runbook.md (The master refuses to start)");
}

Status CopyAll(const std::string& from, const std::string& to, uint64_t* bytes) {
  for (const char* name : {"/cluster_id", "/journal_witness"}) {
    // The witness first: the journal that is copied after it has all that it names.
    if (PathExists(from + name)) MR_RETURN_IF_ERROR(CopyFile(from + name, to + name, bytes));
  }
  MR_RETURN_IF_ERROR(CopyTree(from + "/credentials", to + "/credentials", bytes));
  Status copied;
  for (int i = 0; i < kTries; ++i) {
    MR_RETURN_IF_ERROR(RemoveTree(to + "/journal"));
    uint64_t journal_bytes = 0;
    copied = CopyJournal(from + "/journal", to + "/journal", &journal_bytes);
    if (copied.ok()) *bytes += journal_bytes;
    if (copied.code() != Code::kNotFound) break;
  }
  MR_RETURN_IF_ERROR(copied);
  MR_RETURN_IF_ERROR(CopyProfiles(from + "/profiles", to + "/profiles").With("the profiles of earlier jobs"));
  for (const char* name : {"/audit", "/lib", "/logs"}) MR_RETURN_IF_ERROR(CopyTree(from + name, to + name, bytes));
  return SyncDirectory(to);
}

}  // namespace

Result<BackupMade> MakeBackup(const std::string& directory, const std::string& to) {
  if (!PathExists(directory + "/journal")) return NotFound(directory + " has no journal of a master");
  const std::string target = Canonical(to), source = Canonical(directory);
  if ((target + "/").starts_with(source + "/")) {
    return InvalidArgument("--backup " + to + " is below --data: name a directory elsewhere, best on another disk");
  }
  std::error_code ignored;
  if (PathExists(to) && !stdfs::is_empty(to, ignored)) {
    return Rejected(to + " exists and is not empty: name a new directory for each backup");
  }
  std::string part = to;
  while (part.size() > 1 && part.back() == '/') part.pop_back();
  part += ".part";
  MR_RETURN_IF_ERROR(RemovePart(part));
  if (mkdir(part.c_str(), 0700) != 0) return ErrnoStatus(errno, "cannot make " + part);
  BackupMade made;
  MR_RETURN_IF_ERROR(CopyAll(directory, part, &made.bytes));
  // The replay finds what a start would find.
  MasterCore core({.directory = part}, SpecOf);
  auto read = ReadJournal(&core);
  if (!read.ok()) return read.status().With("the copy in " + part + " cannot be read, so it is no backup");
  MR_RETURN_IF_ERROR(CheckComplete(directory, part, read->end.sequence));
  made.records = read->end.sequence;
  made.epoch = read->end.epoch;
  (void)rmdir(to.c_str());
  if (rename(part.c_str(), to.c_str()) != 0) return ErrnoStatus(errno, "cannot rename " + part + " to " + to);
  MR_RETURN_IF_ERROR(SyncDirectory(stdfs::path(target).parent_path().string()));
  return made;
}

}  // namespace mr::master
