// Standard input as the input of a job (--input -). It is stored whole before the job begins, since retries and clones
// read it again.
#pragma once

#include <memory>
#include <string>

#include "common/base/status.h"
#include "jobs/mrctl/client.h"

namespace mr::ctl {

// Copies standard input into a new local file. Memory: 1 MiB. Errors: kOverloaded if the disk has less room than the
// input needs (kept_free_bytes of it stay free); kCancelled and kDeadline, as every wait of mrctl.
Status SpoolStdin(const std::string& path);

// The bytes of a disk of this size that SpoolStdin leaves free: a twentieth, at most 1 GiB (a guess: the job's own
// output needs some of it).
uint64_t KeptFreeBytes(uint64_t disk_bytes);

// Standard input as a file of the block store. A job that was submitted with it reads it until its end, although it is
// removed before (jobs/README.md, Inputs of a running job).
class StoredStdin {
 public:
  // Copies standard input to `path`. Errors: as SpoolStdin, and those of the block store; nothing is left there.
  static Result<std::unique_ptr<StoredStdin>> Put(Client& client, const std::string& path);
  // Removes the file.
  ~StoredStdin();
  StoredStdin(const StoredStdin&) = delete;
  StoredStdin& operator=(const StoredStdin&) = delete;

 private:
  StoredStdin(std::unique_ptr<dfs::BlockingDfs> store, std::string path);

  std::unique_ptr<dfs::BlockingDfs> store_;
  const std::string path_;
};

}  // namespace mr::ctl
