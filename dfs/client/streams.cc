#include "dfs/client/dfs_client.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

namespace mr::dfs {
namespace {

constexpr size_t kFilePiece = 1u << 20;  // of a write, between two looks at Stop
constexpr size_t kPipePiece = 4096;      // PIPE_BUF: a pipe with room takes them at once

bool IsFile(int fd) {
  struct stat at {};
  return ::fstat(fd, &at) == 0 && S_ISREG(at.st_mode);
}

// Waits until the descriptor is ready for `event`. Errors: kCancelled: stop is set.
Status AwaitReady(int fd, short event, const Stop& stop) {
  pollfd fds[2] = {{stop.fd(), POLLIN, 0}, {fd, event, 0}};
  while (!stop.IsSet() && fds[1].revents == 0) {
    if (::poll(fds, 2, -1) < 0) fds[1].revents = 0;  // interrupted
  }
  return stop.IsSet() ? Status(Code::kCancelled, "the call was given up") : Status::Ok();
}

Result<std::string> ReadSome(int fd, size_t max, const Stop* stop) {
  std::string bytes(max, '\0');
  size_t got = 0;
  while (got < max) {
    if (stop != nullptr) MR_RETURN_IF_ERROR(AwaitReady(fd, POLLIN, *stop));
    const ssize_t n = ::read(fd, bytes.data() + got, max - got);
    if (n < 0 && (errno == EINTR || (errno == EAGAIN && stop != nullptr))) continue;
    if (n < 0) return ErrnoStatus(errno, "cannot read the input");
    if (n == 0) break;
    got += static_cast<size_t>(n);
  }
  bytes.resize(got);
  return bytes;
}

Status WriteAllOrStop(int fd, std::string_view bytes, const Stop* stop) {
  if (stop == nullptr) return WriteAll(fd, bytes);
  const size_t piece = IsFile(fd) ? kFilePiece : kPipePiece;
  while (!bytes.empty()) {
    MR_RETURN_IF_ERROR(AwaitReady(fd, POLLOUT, *stop));
    const std::string_view next = bytes.substr(0, piece);
    MR_RETURN_IF_ERROR(WriteAll(fd, next));
    bytes.remove_prefix(next.size());
  }
  return Status::Ok();
}

class FdSourceImpl final : public ByteSource {
 public:
  FdSourceImpl(int fd, std::shared_ptr<const UniqueFd> owned, Pool pool, SharedStop stop)
      : fd_(fd), owned_(std::move(owned)), pool_(std::move(pool)), stop_(std::move(stop)) {}
  kj::Promise<Result<std::string>> Next(size_t max) override {
    return OnPool(pool_, [fd = fd_, owned = owned_, max, stop = stop_] { return ReadSome(fd, max, stop.get()); });
  }

 private:
  const int fd_;
  const std::shared_ptr<const UniqueFd> owned_;  // or null
  const Pool pool_;
  const SharedStop stop_;
};

class FdSinkImpl final : public ByteSink {
 public:
  FdSinkImpl(int fd, Pool pool, SharedStop stop) : fd_(fd), pool_(std::move(pool)), stop_(std::move(stop)) {}
  kj::Promise<Status> Write(std::string bytes) override {
    return OnPool(pool_, [fd = fd_, stop = stop_, bytes = std::move(bytes)] {
      return WriteAllOrStop(fd, bytes, stop.get()).With("cannot write the output");
    });
  }

 private:
  const int fd_;
  const Pool pool_;
  const SharedStop stop_;
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

Stop::Stop() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { MR_CHECK(fd_.valid(), "no descriptors are left"); }

void Stop::Set() {
  set_ = true;
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t n = ::write(fd_.get(), &one, sizeof one);
}

kj::Own<ByteSource> FdSource(int fd, Pool pool, SharedStop stop) {
  return kj::heap<FdSourceImpl>(fd, nullptr, std::move(pool), std::move(stop));
}
kj::Own<ByteSource> FdSource(UniqueFd fd, Pool pool, SharedStop stop) {
  auto owned = std::make_shared<const UniqueFd>(std::move(fd));
  const int number = owned->get();
  return kj::heap<FdSourceImpl>(number, std::move(owned), std::move(pool), std::move(stop));
}
kj::Own<ByteSink> FdSink(int fd, Pool pool, SharedStop stop) {
  return kj::heap<FdSinkImpl>(fd, std::move(pool), std::move(stop));
}
kj::Own<ByteSource> StringSource(std::string bytes) { return kj::heap<StringSourceImpl>(std::move(bytes)); }
kj::Own<ByteSink> StringSink(std::string* out) { return kj::heap<StringSinkImpl>(out); }

}  // namespace mr::dfs
