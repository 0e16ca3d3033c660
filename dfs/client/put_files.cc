#include "dfs/client/put_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace mr::dfs {
namespace {

// Files at once. Each waits for three syncs in turn, which the files share. Below the 128 unanswered calls that a
// server reads (rpc::ServerLimits).
constexpr size_t kMostFiles = 96;
// Bytes of the blocks that are kept in memory until they are durable; a single file may have more (guess).
constexpr uint64_t kMostBytes = 192 << 20;
constexpr uint64_t kUsualBlock = 64 << 20;
// Files of at most this size are read by one call on the pool (guess).
constexpr uint64_t kSmallFile = 256 << 10;

struct OpenedFile {
  UniqueFd fd;
  std::optional<std::string> bytes;  // all of a small file
};

Result<OpenedFile> OpenLocal(const std::string& path) {
  OpenedFile file;
  MR_ASSIGN_OR_RETURN(file.fd, OpenFile(path, O_RDONLY));
  struct stat info {};
  if (::fstat(file.fd.get(), &info) != 0) return ErrnoStatus(errno, "cannot look at " + path);
  const auto size = static_cast<uint64_t>(info.st_size);
  if (!S_ISREG(info.st_mode) || size > kSmallFile) return file;
  std::string bytes(size + 1, '\0');  // one more, to see the end
  MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(file.fd.get(), bytes.data(), bytes.size(), 0));
  if (got > size) return file;  // it grows
  bytes.resize(got);
  file.bytes = std::move(bytes);
  return file;
}

class ManyPuts final : private kj::TaskSet::ErrorHandler {
 public:
  ManyPuts(DfsClient& client, const std::vector<LocalFile>& files, const PutOptions& options, Pool pool,
           std::vector<bool>* written)
      : client_(client), files_(files), options_(options), pool_(std::move(pool)), written_(written), tasks_(*this) {}

  kj::Promise<Status> Run() {
    auto ended = kj::newPromiseAndFulfiller<Status>();
    ended_ = kj::mv(ended.fulfiller);
    Begin();
    return kj::mv(ended.promise);
  }

 private:
  void taskFailed(kj::Exception&& e) override { ended_->reject(kj::mv(e)); }

  uint64_t BytesOf(const LocalFile& file) const {
    const uint64_t block = options_.block_bytes == 0 ? kUsualBlock : options_.block_bytes;
    return file.bytes == 0 ? block : std::min(file.bytes, block);
  }

  void Begin() {
    while (status_.ok() && next_ < files_.size() && running_ < kMostFiles) {
      const uint64_t bytes = BytesOf(files_[next_]);
      if (running_ > 0 && bytes_ + bytes > kMostBytes) break;
      ++running_;
      bytes_ += bytes;
      const size_t at = next_++;
      tasks_.add(PutOne(files_[at]).then([this, at](const Status& status) { Ended(at, status); }));
    }
    if (running_ == 0) ended_->fulfill(kj::mv(status_));
  }

  kj::Promise<Status> PutOne(const LocalFile& file) {
    return OnPool(pool_, [path = file.source] { return OpenLocal(path); })
        .then([this, &file](Result<OpenedFile> opened) -> kj::Promise<Status> {
          if (!opened.ok()) return opened.status();
          auto source = opened->bytes ? StringSource(*std::move(opened->bytes)) : FdSource(opened->fd.get(), pool_);
          return client_.Put(file.target, options_, kj::mv(source))
              .attach(kj::heap<UniqueFd>(std::move(opened->fd)))
              .then([](const Result<WrittenFile>& put) { return put.status(); });
        });
  }

  void Ended(size_t at, const Status& status) {
    --running_;
    bytes_ -= BytesOf(files_[at]);
    (*written_)[at] = status.ok();
    if (!status.ok() && at < failed_) {
      failed_ = at;
      status_ = status;
    }
    Begin();
  }

  DfsClient& client_;
  const std::vector<LocalFile>& files_;
  const PutOptions options_;
  const Pool pool_;
  std::vector<bool>* const written_;
  kj::Own<kj::PromiseFulfiller<Status>> ended_;
  size_t next_ = 0, running_ = 0;
  uint64_t bytes_ = 0;
  size_t failed_ = SIZE_MAX;
  Status status_;  // of the file failed_
  kj::TaskSet tasks_;
};

}  // namespace

kj::Promise<Status> PutLocalFiles(DfsClient& client, const std::vector<LocalFile>& files, const PutOptions& options,
                                  Pool pool, std::vector<bool>* written) {
  auto puts = kj::heap<ManyPuts>(client, files, options, std::move(pool), written);
  auto& p = *puts;
  return p.Run().attach(kj::mv(puts));
}

}  // namespace mr::dfs
