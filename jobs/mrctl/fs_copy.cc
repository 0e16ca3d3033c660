#include "jobs/mrctl/fs_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <thread>

#include "common/io/files.h"
#include "common/rpc/kj_thread.h"
#include "jobs/mrctl/fs_failure.h"
#include "jobs/mrctl/stored_parts.h"
#include "jobs/mrctl/wait.h"

namespace mr::ctl {

Status CopyStoredFile(Client& client, dfs::BlockingDfs& store, const dfs::FileInfo& from, const std::string& to,
                      bool overwrite) {
  // Reads on its own connection and threads, so that a full or empty pipe blocks one side only.
  MR_ASSIGN_OR_RETURN(const auto reader, dfs::BlockingDfs::Connect(client.loop(), client.address(), WaitOrGiveUp));
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "cannot make a pipe");
  UniqueFd out(ends[0]), in(ends[1]);
  std::signal(SIGPIPE, SIG_IGN);  // if writing fails, reading ends by EPIPE
  Status got;
  std::thread thread([&] {
    got = reader->GetToFd(from.path, in.get());
    in.reset();
  });
  dfs::PutOptions options;
  options.overwrite = overwrite;
  options.exact_bytes = from.bytes;
  options.replication = from.replication;
  options.block_bytes = from.block_bytes;
  const Status written = store.PutFd(to, options, out.get()).status();
  out.reset();
  thread.join();
  if (IsGivenUp(written)) return written;
  // If reading failed, the writer only knows that bytes are missing.
  if (!got.ok() && got.code() != Code::kInternal) return StoreFailure(client, got, StoreUse::kReads);
  return StoreFailure(client, written, StoreUse::kWrites);
}

}  // namespace mr::ctl
