#include "jobs/mrctl/stdin_spool.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <string_view>
#include <thread>
#include <utility>

#include "common/base/text.h"
#include "common/io/files.h"
#include "dfs/client/dfs_client.h"
#include "jobs/mrctl/exit_code.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/pipe_writer.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {
namespace {

constexpr size_t kPieceBytes = 1u << 20;
// Longest waits for the removal of the stored input: usually, and after an interrupt or --timeout.
constexpr Duration kRemoveStdin = Seconds(60);
constexpr Duration kRemoveStdinHastily = Millis(500);

// Calls take() for each piece of standard input until its end.
Status ForEachPiece(const std::function<Status(std::string_view piece)>& take) {
  std::string piece(kPieceBytes, '\0');
  while (true) {
    const Woken woken = WaitFor(0, TimeLimit());
    if (woken != Woken::kReady) return woken == Woken::kTimeout ? TimeoutStatus() : InterruptedStatus();
    const ssize_t n = read(0, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EBADF) {
      return WithHint(InvalidArgument("cannot read --input -: standard input is closed; nothing was run"),
                      "give mrctl an input, such as with <FILE, or </dev/null for an empty one");
    }
    if (n < 0) return ErrnoStatus(errno, "cannot read standard input");
    if (n == 0) return Status::Ok();
    MR_RETURN_IF_ERROR(take(std::string_view(piece.data(), static_cast<size_t>(n))));
  }
}

}  // namespace

uint64_t KeptFreeBytes(uint64_t disk_bytes) { return std::min<uint64_t>(disk_bytes / 20, 1u << 30); }

Status SpoolStdin(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL, 0600));
  uint64_t taken = 0;
  const auto full = [&](uint64_t free) {
    return WithHint(Status(Code::kOverloaded, "cannot store standard input for the job: " + HumanBytes(taken) +
                                                  " of it were read, and " + HumanBytes(free) + " are free in " +
                                                  ParentOf(path) + "; nothing was run"),
                    "set TMPDIR to a directory with more room, or give the input as a file");
  };
  return ForEachPiece([&](std::string_view piece) -> Status {
    struct statvfs disk {};
    if (fstatvfs(file.get(), &disk) != 0) return ErrnoStatus(errno, "cannot look at the disk of " + path);
    const uint64_t free = uint64_t{disk.f_bavail} * disk.f_frsize, all = uint64_t{disk.f_blocks} * disk.f_frsize;
    taken += piece.size();
    if (free < piece.size() + KeptFreeBytes(all)) return full(free);
    const Status written = WriteAll(file.get(), piece);
    return written.code() == Code::kOverloaded ? full(0) : written;
  });
}

StoredStdin::StoredStdin(std::unique_ptr<dfs::BlockingDfs> store, std::string path)
    : store_(std::move(store)), path_(std::move(path)) {}

StoredStdin::~StoredStdin() {
  (void)store_->RemoveWithin(path_, false, CheckGoingOn().ok() ? kRemoveStdin : kRemoveStdinHastily);
}

Result<std::unique_ptr<StoredStdin>> StoredStdin::Put(Client& client, const std::string& path) {
  MR_ASSIGN_OR_RETURN(auto store, client.Store());
  std::unique_ptr<StoredStdin> stored(new StoredStdin(std::move(store), path));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  UniqueFd from(ends[0]), to(ends[1]);
  // The store reads the pipe, so that an interrupt ends the copy while standard input is silent.
  Status put;
  std::thread copies([&] {
    put = stored->store_->PutFd(path, {}, from.get()).status();
    from.reset();  // whoever writes learns of a failure
  });
  const Status read =
      ForEachPiece([&](std::string_view piece) { return WriteToReader(to.get(), piece, OnInterrupt::kStop); });
  to.reset();
  copies.join();
  const std::string what = "cannot store standard input for the job";
  if (IsGivenUp(read)) return read;
  if (!put.ok()) return put.With(what);
  if (!read.ok()) return read;
  return stored;
}

}  // namespace mr::ctl
