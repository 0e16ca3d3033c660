// Reads and writes files of the block store. Two layers: DfsClient lives on a KJ loop and returns
// promises (workers use it); BlockingDfs wraps it for programs that may wait (mrctl).
//
// Reading: nearest replica first, the next one when a server is gone, slow to connect, or says
// kCorrupted. Whole blocks are checked against the digest in the namespace before any of their
// bytes is delivered; ranges of blocks against the server's checksums.
// Writing: pieces of 1 MiB, 4 in flight, down a pipeline of replicas. The block being written is
// kept in memory until enough replicas are durable, since a broken pipeline begins it again.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/io/files.h"
#include "common/rpc/hello.h"
#include "common/rpc/kj_thread.h"
#include "dfs/block/block_server.h"
#include "dfs/block/block_store.h"
#include "dfs/meta/namespace.h"
#include "dfs/meta/staging.h"
#include "schema/control.capnp.h"
#include "schema/dfs.capnp.h"

namespace mr::dfs {

struct PutOptions {
  bool overwrite = false;
  uint32_t replication = 0;  // 0 = the cluster's
  uint64_t block_bytes = 0;  // 0 = the cluster's
  // Of BlockingDfs::PutFd, where not 0: what the descriptor must give; else the put fails and nothing is visible.
  uint64_t exact_bytes = 0;
};

// What was written: for FileOutput.blocks of a task's manifest (ToWire in dfs/meta/service.h).
struct WrittenFile {
  uint64_t bytes = 0;
  std::vector<StagedBlock> blocks;
};

// Where bytes come from and go to. On the loop; must not block (FdSource and FdSink use the pool).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Up to max bytes; empty = the end.
  virtual kj::Promise<Result<std::string>> Next(size_t max) = 0;
};
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual kj::Promise<Status> Write(std::string bytes) = 0;
};
// The descriptor must outlive them. Reading or writing goes on from the descriptor's own position.
kj::Own<ByteSource> FdSource(int fd, Pool pool);
kj::Own<ByteSink> FdSink(int fd, Pool pool);
kj::Own<ByteSource> StringSource(std::string bytes);
kj::Own<ByteSink> StringSink(std::string* out);

// A file being written; push style. One call at a time: wait for each promise. Dropping it without
// Close abandons the file; nobody ever sees it.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  // Resolves when there is room for more.
  virtual kj::Promise<Status> Write(std::string bytes) = 0;
  // All blocks durable on min(2, possible) workers and the file visible under its path.
  virtual kj::Promise<Result<WrittenFile>> Close() = 0;
};

class DfsClient {
 public:
  struct Options {
    rpc::Hello hello;  // for data connections; role is set to kData
    Pool pool;         // for hashing and files
    // Of a worker: its own data server address and store, so that reads are local and the first
    // replica is its own. mrctl leaves both empty.
    std::string own_address;
    BlockStore* own_store = nullptr;
    // Tries to write one block before giving up, each with a fresh pipeline, pauses doubling from
    // 50 ms to 1 s: together longer than the 5 s after which a master gives a silent worker up.
    int write_tries = 12;
  };
  // files: MasterForClient.files() of a connection with role kClient. Calls and writers may outlive
  // this object; io, pool and own_store must outlive them.
  DfsClient(kj::AsyncIoContext& io, rpc::FileSystem::Client files, Options options);
  // When that connection broke: of another one. Writers go on with it, where it comes before their
  // tries are used up, since the master's leases outlive its restart.
  void SetFiles(rpc::FileSystem::Client files);
  ~DfsClient();

  // Writing. Create for push style. Staged job outputs go to StagingPath(...) with
  // overwrite = true: hidden, complete before the attempt reports, and moved by the job's commit.
  kj::Promise<Result<kj::Own<FileWriter>>> Create(std::string path, PutOptions options);
  kj::Promise<Result<WrittenFile>> Put(std::string path, PutOptions options, kj::Own<ByteSource> source);

  // Reading: all of a file, or a range (length 0: to the end). file: not 0: the version of this id (FileInfo::id),
  // whatever the path leads to now.
  kj::Promise<Status> Get(std::string path, kj::Own<ByteSink> sink, uint64_t offset = 0, uint64_t length = 0,
                          uint64_t file = 0);
  // For a worker's split: bytes [begin, end) of one block as a descriptor whose byte `begin - base`
  // is the block's byte `begin`. Local replica: the block file itself (base 0); else an unnamed
  // file in temp_directory (base = begin). Bytes [begin, verified_end) of the block are verified:
  // of a local replica some more than asked for, so that the end of a split's last record is mostly
  // among them. Nothing behind may be read from the descriptor.
  struct BlockBytes {
    UniqueFd fd;
    uint64_t base = 0;
    uint64_t verified_end = 0;
    bool local = false;
  };
  kj::Promise<Result<BlockBytes>> ReadBlock(LocatedBlock block, uint64_t begin, uint64_t end,
                                            std::string temp_directory);

  // Names.
  kj::Promise<Result<FileInfo>> Stat(std::string path);
  kj::Promise<Result<std::vector<FileInfo>>> List(std::string path);
  kj::Promise<Result<LocatedFile>> Locate(std::string path, uint64_t offset = 0, uint64_t length = 0);
  kj::Promise<Status> Mkdir(std::string path);
  kj::Promise<Status> Remove(std::string path, bool recursive);
  kj::Promise<Status> Rename(std::string from, std::string to);
  kj::Promise<Status> SetReplication(std::string path, uint32_t replication);
  // What is wrong with the blocks of visible files; names at most max_files of them.
  kj::Promise<Result<StoreHealth>> Health(uint32_t max_files);

  struct Impl;

 private:
  kj::Own<Impl> impl_;
};

// "/.staging/<job>/<attempt>/<part>"; "/.staging/<job>" is what OutputCommitted and a job's end name.
std::string StagingPath(const std::string& job, const std::string& attempt, const std::string& part);
std::string StagingRoot(const std::string& job);

// The same, waiting. For mrctl: owns a connection to the master and a small pool; any thread but
// the loop's. Each call fails with kUnavailable once the connection is gone.
class BlockingDfs {
 public:
  // master: "host:port". loop must outlive this.
  static Result<std::unique_ptr<BlockingDfs>> Connect(rpc::KjThread& loop, const std::string& master);
  ~BlockingDfs();

  Result<WrittenFile> PutFd(const std::string& path, const PutOptions& options, int fd);
  Result<WrittenFile> PutBytes(const std::string& path, const PutOptions& options, std::string bytes);
  Status GetToFd(const std::string& path, int fd, uint64_t offset = 0, uint64_t length = 0, uint64_t file = 0);
  Result<std::string> GetBytes(const std::string& path, uint64_t offset = 0, uint64_t length = 0, uint64_t file = 0);
  Result<FileInfo> Stat(const std::string& path);
  Result<std::vector<FileInfo>> List(const std::string& path);
  Result<LocatedFile> Locate(const std::string& path, uint64_t offset = 0, uint64_t length = 0);
  Status Mkdir(const std::string& path);
  Status Remove(const std::string& path, bool recursive);
  Status Rename(const std::string& from, const std::string& to);
  Status SetReplication(const std::string& path, uint32_t replication);
  Result<StoreHealth> Health(uint32_t max_files);

 private:
  struct Impl;
  explicit BlockingDfs(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
