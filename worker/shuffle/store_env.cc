#include "worker/shuffle/store_env.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <unistd.h>

#include <utility>

#include "worker/shuffle/recycled_files.h"

namespace mr::worker {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class UnsyncedFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  IOStatus Sync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

// A recycled file still has the bytes of the old one behind the new ones.
class OverwrittenFile : public UnsyncedFile {
 public:
  using UnsyncedFile::UnsyncedFile;
  IOStatus Close(const IOOptions& options, IODebugContext* debug) override {
    const IOStatus cut = target()->Truncate(target()->GetFileSize(options, debug), options, debug);
    const IOStatus closed = UnsyncedFile::Close(options, debug);
    return cut.ok() ? closed : cut;
  }
  // It has its blocks already.
  void PrepareWrite(size_t, size_t, const IOOptions&, IODebugContext*) override {}
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

class UnsyncedDirectory : public rocksdb::FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

class UnsyncedFileSystem : public rocksdb::FileSystemWrapper {
 public:
  UnsyncedFileSystem(std::shared_ptr<rocksdb::FileSystem> target, std::shared_ptr<RecycledFiles> recycled)
      : FileSystemWrapper(std::move(target)), recycled_(std::move(recycled)) {}
  const char* Name() const override { return "UnsyncedFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* out, IODebugContext* debug) override {
    const auto old = path.ends_with(".sst") ? recycled_->Take() : std::nullopt;
    if (old.has_value()) {
      std::unique_ptr<rocksdb::FSWritableFile> file;
      if (FileSystemWrapper::ReuseWritableFile(path, *old, options, &file, debug).ok()) {
        *out = std::make_unique<OverwrittenFile>(std::move(file));
        return IOStatus::OK();
      }
      ::unlink(old->c_str());
    }
    return Wrap(FileSystemWrapper::NewWritableFile(path, options, out, debug), out);
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* out, IODebugContext* debug) override {
    return Wrap(FileSystemWrapper::ReopenWritableFile(path, options, out, debug), out);
  }
  IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* out, IODebugContext* debug) override {
    return Wrap(FileSystemWrapper::ReuseWritableFile(path, old_path, options, out, debug), out);
  }
  IOStatus NewDirectory(const std::string&, const IOOptions&, std::unique_ptr<rocksdb::FSDirectory>* out,
                        IODebugContext*) override {
    *out = std::make_unique<UnsyncedDirectory>();
    return IOStatus::OK();
  }

 private:
  static IOStatus Wrap(IOStatus status, std::unique_ptr<rocksdb::FSWritableFile>* out) {
    if (status.ok()) *out = std::make_unique<UnsyncedFile>(std::move(*out));
    return status;
  }

  const std::shared_ptr<RecycledFiles> recycled_;
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewUnsyncedEnv(std::shared_ptr<RecycledFiles> recycled) {
  return rocksdb::NewCompositeEnv(
      std::make_shared<UnsyncedFileSystem>(rocksdb::FileSystem::Default(), std::move(recycled)));
}

}  // namespace mr::worker
