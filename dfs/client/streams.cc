#include "dfs/client/dfs_client.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace mr::dfs {
namespace {

Result<std::string> ReadSome(int fd, size_t max) {
  std::string bytes(max, '\0');
  size_t got = 0;
  while (got < max) {
    const ssize_t n = ::read(fd, bytes.data() + got, max - got);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read the input");
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

class FdSourceImpl final : public ByteSource {
 public:
  FdSourceImpl(int fd, Pool pool) : fd_(fd), pool_(std::move(pool)) {}
  kj::Promise<Result<std::string>> Next(size_t max) override {
    return OnPool(pool_, [fd = fd_, max] { return ReadSome(fd, max); });
  }

 private:
  const int fd_;
  const Pool pool_;
};

class FdSinkImpl final : public ByteSink {
 public:
  FdSinkImpl(int fd, Pool pool) : fd_(fd), pool_(std::move(pool)) {}
  kj::Promise<Status> Write(std::string bytes) override {
    return OnPool(pool_,
                  [fd = fd_, bytes = std::move(bytes)] { return WriteAll(fd, bytes).With("cannot write the output"); });
  }

 private:
  const int fd_;
  const Pool pool_;
};

class StringSourceImpl final : public ByteSource {
 public:
  explicit StringSourceImpl(std::string bytes) : bytes_(std::move(bytes)) {}
  kj::Promise<Result<std::string>> Next(size_t max) override {
    std::string next = bytes_.substr(at_, max);
    at_ += next.size();
    return Result<std::string>(std::move(next));
  }

 private:
  const std::string bytes_;
  size_t at_ = 0;
};

class StringSinkImpl final : public ByteSink {
 public:
  explicit StringSinkImpl(std::string* out) : out_(out) {}
  kj::Promise<Status> Write(std::string bytes) override {
    out_->append(bytes);
    return Status::Ok();
  }

 private:
  std::string* out_;
};

}  // namespace

kj::Own<ByteSource> FdSource(int fd, Pool pool) { return kj::heap<FdSourceImpl>(fd, std::move(pool)); }
kj::Own<ByteSink> FdSink(int fd, Pool pool) { return kj::heap<FdSinkImpl>(fd, std::move(pool)); }
kj::Own<ByteSource> StringSource(std::string bytes) { return kj::heap<StringSourceImpl>(std::move(bytes)); }
kj::Own<ByteSink> StringSink(std::string* out) { return kj::heap<StringSinkImpl>(out); }

}  // namespace mr::dfs
