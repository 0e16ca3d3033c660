#include "worker/daemon/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "common/base/file_format.h"
#include "common/base/text.h"
#include "common/io/bulk_digest.h"
#include "common/io/fault.h"
#include "common/io/files.h"
#include "common/io/write_behind.h"

namespace mr::worker {
namespace {

class ShuffleSink : public OutputSink {
 public:
  ShuffleSink(ShuffleStore& store, ReplicaKey key, uint32_t partitions)
      : store_(store), key_(key), partitions_(partitions) {}

  Status Add(const OutputChunk& chunk) override {
    MR_RETURN_IF_ERROR(Open());
    return writer_->Add(chunk.partition, chunk.records, chunk.bytes, chunk.memory.get());
  }

  Result<TaskOutput> Finish() override {
    FaultPoint("ingest");
    MR_RETURN_IF_ERROR(Open());
    MR_ASSIGN_OR_RETURN(auto rows, writer_->Finish());
    writer_.reset();
    TaskOutput output;
    for (const PartitionRow& row : rows) {
      output.manifest.records += row.records;
      output.manifest.bytes += row.bytes;
    }
    output.manifest.content = TableDigest(rows);
    output.partitions = static_cast<uint32_t>(rows.size());
    if (rows.size() <= kInlineRows) {
      output.rows = std::move(rows);
    } else if (rows.size() <= kSizedRows) {
      for (const PartitionRow& row : rows) {
        output.partition_kib.push_back(static_cast<uint32_t>(std::min<uint64_t>((row.bytes + 1023) >> 10, UINT32_MAX)));
      }
    }
    return output;
  }

  // A table that is not part of the report takes longer.
  bool FinishesAtOnce() const override { return partitions_ <= kInlineRows; }

  void Drop() override {
    writer_.reset();
    store_.Drop(key_);
  }

 private:
  Status Open() {
    if (writer_ != nullptr) return Status::Ok();
    MR_ASSIGN_OR_RETURN(writer_, store_.Begin(key_, partitions_));
    return Status::Ok();
  }

  ShuffleStore& store_;
  const ReplicaKey key_;
  const uint32_t partitions_;
  std::unique_ptr<ShuffleStore::Writer> writer_;
};

// How often to make a directory whose parent another attempt removes meanwhile: a guess, far above the number of
// attempts that are dropped at a time.
constexpr int kMakeTries = 100;

class FileSink : public OutputSink {
 public:
  FileSink(Result<std::string> staging, std::string attempt, std::string part, FileRoots roots)
      : staging_(std::move(staging)), attempt_(std::move(attempt)), roots_(std::move(roots)) {
    file_.name = std::move(part);
  }

  void Prepare() override {
    if (Open().ok()) entries_durable_ = SyncEntries().ok();
  }

  Status Add(const OutputChunk& chunk) override {
    MR_RETURN_IF_ERROR(Open());
    MR_RETURN_IF_ERROR(WriteAll(fd_.get(), chunk.bytes).With("writing " + file_.staged));
    behind_.Wrote(fd_.get(), chunk.bytes.size());
    digest_.Update(chunk.bytes);
    file_.bytes += chunk.bytes.size();
    file_.records += chunk.records;
    return Status::Ok();
  }

  Result<TaskOutput> Finish() override {
    MR_RETURN_IF_ERROR(Open());
    FaultPoint("output");
    if (::fsync(fd_.get()) != 0) return ErrnoStatus(errno, "syncing " + file_.staged);
    fd_.reset();
    if (!entries_durable_) MR_RETURN_IF_ERROR(SyncEntries());
    file_.content = digest_.Finish();
    return OutputOf(file_);
  }

  void Drop() override {
    fd_.reset();
    if (!staging_.ok() || !roots_.Check(Directory()).ok()) return;
    // The rest, if any, is removed with the staging directory at the end of the job.
    (void)RemoveTree(Directory());
    // The job may have ended before this attempt's first chunk, which made the staging directory again. Where other
    // attempts write it is not empty, and stays.
    (void)::rmdir(staging_->c_str());
  }

 private:
  // The directory as the report names it, and as this process reaches it.
  std::string Directory() const { return *staging_ + "/" + attempt_; }
  std::string StagingHere() const { return above_.path + staging_->substr(staging_->rfind('/')); }
  std::string Here() const { return StagingHere() + "/" + attempt_; }

  Status SyncEntries() {
    MR_RETURN_IF_ERROR(SyncDirectory(Here()));
    MR_RETURN_IF_ERROR(SyncDirectory(StagingHere()));
    // The staging directory itself is new: its entry must be as durable as its contents.
    return SyncDirectory(above_.path);
  }

  // Another attempt that is dropped may remove the staging directory as long as there is nothing in it.
  Status MakeHere() const {
    Status made = MakeDirectories(Here());
    for (int i = 0; made.code() == Code::kNotFound && i < kMakeTries; ++i) made = MakeDirectories(Here());
    return made;
  }

  Status Open() {
    if (fd_.valid()) return Status::Ok();
    if (!staging_.ok()) return staging_.status();
    MR_ASSIGN_OR_RETURN(above_, roots_.Pin(ParentOf(*staging_)));
    MR_RETURN_IF_ERROR(MakeHere());
    file_.staged = Directory() + "/" + file_.name;
    // Nothing is cut off before it is known where the file is.
    MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(Here() + "/" + file_.name, O_WRONLY | O_CREAT | O_NOFOLLOW));
    MR_RETURN_IF_ERROR(roots_.CheckOpen(fd.get(), file_.staged));
    if (::ftruncate(fd.get(), 0) != 0) return ErrnoStatus(errno, "cannot empty " + file_.staged);
    fd_ = std::move(fd);
    return Status::Ok();
  }

  const Result<std::string> staging_;
  const std::string attempt_;
  const FileRoots roots_;
  FileRoots::Pinned above_;  // the directory with the staging directory
  UniqueFd fd_;
  WriteBehind behind_;
  bool entries_durable_ = false;  // entries of the file and of its directories, which are made before any byte
  BulkHasher128 digest_;
  FileOutput file_;
};

}  // namespace

std::string AttemptName(const StageInfo& stage, AttemptId attempt) { return Name(attempt, stage.letter()); }

std::string PartName(const StageInfo& stage, uint32_t port, uint32_t task) {
  const PortSpec& p = stage.spec.ports[port];
  char number[32];
  std::snprintf(number, sizeof number, "-%c-%05u", static_cast<char>(stage.letter()), task);
  const auto format = ParseOutputFormat(p.format);
  return (p.name.empty() ? "part" : p.name) + number + std::string(format.ok() ? Suffix(format->compression) : "");
}

Result<std::string> LocalPath(const std::string& uri) {
  constexpr std::string_view kScheme = "file://";
  if (!uri.starts_with(kScheme) || uri.size() <= kScheme.size() || uri[kScheme.size()] != '/') {
    return InvalidArgument("'" + uri + "' is not file:///an/absolute/path");
  }
  std::string path = uri.substr(kScheme.size());
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::unique_ptr<OutputSink> MakeShuffleSink(ShuffleStore& store, const StageInfo& stage, AttemptId attempt) {
  return std::make_unique<ShuffleSink>(store, ReplicaKey{attempt.task, attempt.number}, stage.partitions());
}

std::unique_ptr<OutputSink> MakeFileSink(const StageInfo& stage, uint32_t port, AttemptId attempt, FileRoots roots) {
  return std::make_unique<FileSink>(LocalPath(stage.staging_uri), AttemptName(stage, attempt),
                                    PartName(stage, port, attempt.task.task), std::move(roots));
}

TaskOutput OutputOf(FileOutput file) {
  TaskOutput output;
  output.rows = {{file.records, file.bytes, file.content, 1}};
  output.partitions = 1;
  output.manifest = {file.records, file.bytes, TableDigest(output.rows)};
  output.files.push_back(std::move(file));
  return output;
}

}  // namespace mr::worker
