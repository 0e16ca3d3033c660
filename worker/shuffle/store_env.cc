#include "worker/shuffle/store_env.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

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

class UnsyncedDirectory : public rocksdb::FSDirectory {
 public:
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
};

class UnsyncedFileSystem : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;
  const char* Name() const override { return "UnsyncedFileSystem"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* out, IODebugContext* debug) override {
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
};

}  // namespace

std::unique_ptr<rocksdb::Env> NewUnsyncedEnv() {
  return rocksdb::NewCompositeEnv(std::make_shared<UnsyncedFileSystem>(rocksdb::FileSystem::Default()));
}

}  // namespace mr::worker
