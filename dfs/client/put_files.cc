// DfsClient::PutFiles.

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>

#include "common/base/digest.h"
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

// Reads the files of a batch. Leaves out those that are not as expected: they are put by themselves.
Batch ReadBatch(Batch batch, const std::vector<LocalFile>& files) {
  Batch read;
  for (BatchedFile& file : batch) {
    const LocalFile& local = files[file.at];
    auto opened = OpenLocal(local.source);
    if (!opened.ok() || !opened->bytes || opened->bytes->empty() || opened->bytes->size() > local.bytes) continue;
    file.bytes = *std::move(opened->bytes);
    file.digest = Hash64(file.bytes);
    file.crc32c = Crc32c(file.bytes);
    read.push_back(std::move(file));
  }
  return read;
}

class ManyPuts final : private kj::TaskSet::ErrorHandler {
 public:
  ManyPuts(DfsClient& client, DfsClient::Impl& impl, const std::vector<LocalFile>& files, const PutOptions& options,
           Pool pool, std::vector<bool>* written)
      : client_(client),
        impl_(impl),
        files_(files),
        options_(options),
        pool_(std::move(pool)),
        written_(written),
        tasks_(*this) {}

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
    while (status_.ok() && next_ < files_.size()) {
      if (Batch batch = NextBatch(); batch.size() > 1) {
        if (batches_ == kMostBatches) break;
        next_ += batch.size();
        ++batches_;
        tasks_.add(PutBatch(std::move(batch)));
        continue;
      }
      const uint64_t bytes = BytesOf(files_[next_]);
      if (running_ == kMostFiles || (running_ > 0 && bytes_ + bytes > kMostBytes)) break;
      ++running_;
      bytes_ += bytes;
      const size_t at = next_++;
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

  kj::Promise<void> PutBatch(Batch batch) {
    auto left = kj::heap<std::set<size_t>>();
    for (const BatchedFile& file : batch) left->insert(file.at);
    auto& l = *left;
    return OnPool(pool_,
                  [&files = files_, batch = std::move(batch)]() mutable { return ReadBatch(std::move(batch), files); })
        .then([this, &l](Batch read) {
          return PutInOne(impl_, std::move(read), options_, [this, &l](size_t at, const Status& status) {
            l.erase(at);
            Ended(at, status);
          });
        })
        .then([this, &l] {
          return PutEach({l.begin(), l.end()});
        })
        .then([this, left = kj::mv(left)] {
          --batches_;
          Begin();
        });
  }

  // Puts files one after another, until there is an error.
  kj::Promise<void> PutEach(std::vector<size_t> files) {
    if (files.empty() || !status_.ok()) return kj::READY_NOW;
    const size_t at = files.front();
    files.erase(files.begin());
    return PutOne(files_[at]).then([this, at, files = std::move(files)](const Status& status) mutable {
      Ended(at, status);
      return PutEach(std::move(files));
    });
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
  kj::Own<kj::PromiseFulfiller<Status>> ended_;
  size_t next_ = 0, batches_ = 0;
  size_t running_ = 0;  // files that are put by themselves, without those of batches
  uint64_t bytes_ = 0;  // of the running files
  size_t failed_ = SIZE_MAX;
  Status status_;  // of the file failed_
  kj::TaskSet tasks_;
};

}  // namespace

kj::Promise<Status> DfsClient::PutFiles(const std::vector<LocalFile>& files, const PutOptions& options, Pool pool,
                                        std::vector<bool>* written) {
  auto puts = kj::heap<ManyPuts>(*this, *impl_, files, options, std::move(pool), written);
  auto& p = *puts;
  return p.Run().attach(kj::mv(puts));
}

}  // namespace mr::dfs
