// DfsClient::PutFiles.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "common/io/bulk_digest.h"
#include "common/io/crc32c.h"
#include "dfs/client/batch_put.h"

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
  // A FIFO without a writer is opened at once; reading it waits.
  MR_ASSIGN_OR_RETURN(file.fd, OpenFile(path, O_RDONLY | O_NONBLOCK));
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

// Reads the files of a batch. Leaves out those that are not as expected: they are put by themselves.
Batch ReadBatch(Batch batch, const std::vector<LocalFile>& files) {
  Batch read;
  for (BatchedFile& file : batch) {
    const LocalFile& local = files[file.at];
    auto opened = OpenLocal(local.source);
    if (!opened.ok() || !opened->bytes || opened->bytes->empty() || opened->bytes->size() > local.bytes) continue;
    file.bytes = *std::move(opened->bytes);
    file.digest = BulkHash64(file.bytes);
    file.crc32c = Crc32c(file.bytes);
    read.push_back(std::move(file));
  }
  return read;
}

class ManyPuts final : private kj::TaskSet::ErrorHandler {
 public:
  ManyPuts(DfsClient& client, DfsClient::Impl& impl, const std::vector<LocalFile>& files, const PutOptions& options,
           Pool pool, std::vector<bool>* written, SharedStop stop)
      : client_(client),
        impl_(impl),
        files_(files),
        options_(options),
        pool_(std::move(pool)),
        written_(written),
        stop_(std::move(stop)),
        tasks_(*this) {}

  kj::Promise<Status> Run() {
    auto ended = kj::newPromiseAndFulfiller<Status>();
    ended_ = kj::mv(ended.fulfiller);
    Begin();
    return kj::mv(ended.promise);
  }

 private:
  struct Left {
    size_t at;
    uint64_t size;  // 0: unknown
  };

  void taskFailed(kj::Exception&& e) override { ended_->reject(kj::mv(e)); }

  // Returns the memory that a file of this size takes; 0: of an unknown size.
  uint64_t MemoryOf(uint64_t size) const {
    const uint64_t block = options_.block_bytes == 0 ? kUsualBlock : options_.block_bytes;
    return size == 0 ? block : std::min(size, block);
  }

  void Begin() {
    while (status_.ok() && (!left_.empty() || next_ < files_.size())) {
      if (Batch batch = NextBatch(); left_.empty() && batch.size() > 1) {
        if (batches_ == kMostBatches) break;
        next_ += batch.size();
        ++batches_;
        tasks_.add(PutBatch(std::move(batch)));
        continue;
      }
      const Left one = left_.empty() ? Left{next_, files_[next_].bytes} : left_.front();
      const size_t at = one.at;
      const uint64_t bytes = MemoryOf(one.size);
      if (running_ == kMostFiles || (running_ > 0 && bytes_ + bytes > kMostBytes)) break;
      if (left_.empty()) {
        ++next_;
      } else {
        left_.pop_front();
      }
      ++running_;
      bytes_ += bytes;
      tasks_.add(PutOne(files_[at]).then([this, at, bytes](const Status& status) {
        --running_;
        bytes_ -= bytes;
        Ended(at, status);
        Begin();
      }));
    }
    if (running_ == 0 && batches_ == 0) ended_->fulfill(kj::mv(status_));
  }

  // Returns the next small files in a row, without the empty ones, which have no block.
  Batch NextBatch() const {
    const uint64_t most = options_.block_bytes == 0 ? kBatchedFile : std::min(kBatchedFile, options_.block_bytes);
    Batch batch;
    uint64_t bytes = 0;
    for (size_t at = next_; at < files_.size() && batch.size() < kFilesOfBatch; ++at) {
      const LocalFile& file = files_[at];
      bytes += file.bytes + file.target.size();
      if (file.bytes == 0 || file.bytes > most || bytes > kBytesOfBatch) break;
      batch.emplace_back();
      batch.back().at = at;
      batch.back().target = file.target;
    }
    return batch;
  }

  // Files that the batch could not put are left to be put by themselves.
  kj::Promise<void> PutBatch(Batch batch) {
    auto open = kj::heap<std::map<size_t, uint64_t>>();  // sizes; 0: not read, so it may have grown
    for (const BatchedFile& file : batch) open->emplace(file.at, 0);
    auto& o = *open;
    return OnPool(pool_,
                  [&files = files_, batch = std::move(batch)]() mutable { return ReadBatch(std::move(batch), files); })
        .then([this, &o](Batch read) {
          for (const BatchedFile& file : read) o[file.at] = file.bytes.size();
          return PutInOne(impl_, std::move(read), options_, [this, &o](size_t at, const Status& status) {
            o.erase(at);
            Ended(at, status);
          });
        })
        .then([this, open = kj::mv(open)] {
          for (const auto& [at, size] : *open) left_.push_back({at, size});
          --batches_;
          Begin();
        });
  }

  kj::Promise<Status> PutOne(const LocalFile& file) {
    return OnPool(pool_, [path = file.source] { return OpenLocal(path); })
        .then([this, &file](Result<OpenedFile> opened) -> kj::Promise<Status> {
          if (!opened.ok()) return opened.status();
          auto source =
              opened->bytes ? StringSource(*std::move(opened->bytes)) : FdSource(std::move(opened->fd), pool_, stop_);
          return client_.Put(file.target, options_, kj::mv(source)).then([](const Result<WrittenFile>& put) {
            return put.status();
          });
        });
  }

  void Ended(size_t at, const Status& status) {
    (*written_)[at] = status.ok();
    if (!status.ok() && at < failed_) {
      failed_ = at;
      status_ = status;
    }
  }

  DfsClient& client_;
  DfsClient::Impl& impl_;
  const std::vector<LocalFile>& files_;
  const PutOptions options_;
  const Pool pool_;
  std::vector<bool>* const written_;
  const SharedStop stop_;
  kj::Own<kj::PromiseFulfiller<Status>> ended_;
  size_t next_ = 0, batches_ = 0;
  std::deque<Left> left_;  // by batches
  size_t running_ = 0;     // files that are put by themselves, without those of batches
  uint64_t bytes_ = 0;     // of the running files
  size_t failed_ = SIZE_MAX;
  Status status_;  // of the file failed_
  kj::TaskSet tasks_;
};

}  // namespace

kj::Promise<Status> DfsClient::PutFiles(const std::vector<LocalFile>& files, const PutOptions& options, Pool pool,
                                        std::vector<bool>* written, SharedStop stop) {
  auto puts = kj::heap<ManyPuts>(*this, *impl_, files, options, std::move(pool), written, std::move(stop));
  auto& p = *puts;
  return p.Run().attach(kj::mv(puts));
}

}  // namespace mr::dfs
