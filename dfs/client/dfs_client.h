// Reads and writes files of the block store, in two layers. DfsClient lives on a KJ loop and returns promises (for
// workers). BlockingDfs wraps it for callers that may block (mrctl).
//
// Reading: the nearest replica first. The next one follows if a server is gone, slow to connect, or returns kCorrupted.
// Whole blocks are checked against the digest in the namespace before any of their bytes is delivered; ranges of blocks
// are checked against the server's checksums.
// Writing: pieces of 1 MiB, 4 in flight, through a pipeline of replicas. The current block is kept in memory until
// enough replicas are durable, since it is sent again when a pipeline breaks.
#pragma once

#include <kj/async-io.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/io/files.h"
#include "common/rpc/connection.h"
#include "common/rpc/hello.h"
#include "common/rpc/kj_thread.h"
#include "dfs/block/block_server.h"
#include "dfs/block/block_store.h"
#include "dfs/block/peers.h"
#include "dfs/meta/namespace.h"
#include "dfs/meta/staging.h"
#include "schema/control.capnp.h"
#include "schema/dfs.capnp.h"

namespace mr::dfs {

class BlockServer;

struct PutOptions {
  bool overwrite = false;
  uint32_t replication = 0;  // 0 = the cluster's default
  uint64_t block_bytes = 0;  // 0 = the cluster's default
  // For BlockingDfs::PutFd: if not 0, the number of bytes that the descriptor must deliver. Otherwise the put fails and
  // nothing becomes visible.
  uint64_t exact_bytes = 0;
};

// A file of this machine to be put. bytes: its size now, by which the number of files at once is chosen; 0: unknown.
struct LocalFile {
  std::string source, target;
  uint64_t bytes = 0;
};

// A written file, for FileOutput.blocks of a task's manifest (ToWire in dfs/meta/service.h).
struct WrittenFile {
  uint64_t bytes = 0;
  std::vector<StagedBlock> blocks;
};

// Sources and sinks of bytes. On the loop; must not block (FdSource and FdSink use the pool).
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Returns up to max bytes; empty = the end.
  virtual kj::Promise<Result<std::string>> Next(size_t max) = 0;
};
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual kj::Promise<Status> Write(std::string bytes) = 0;
};
// Ends reads and writes of sources and sinks that block, as those of a pipe. Thread: any.
class Stop {
 public:
  Stop();
  void Set();
  bool IsSet() const { return set_; }
  // Is readable once it is set.
  int fd() const { return fd_.get(); }

 private:
  std::atomic<bool> set_ = false;
  UniqueFd fd_;
};
using SharedStop = std::shared_ptr<const Stop>;
// Make a source or sink that starts at the descriptor's current position. stop: once it is set, reads and writes end
// with kCancelled; null: they block as the descriptor does. Requires: a descriptor given as int outlives them and their
// closures on the pool.
kj::Own<ByteSource> FdSource(int fd, Pool pool, SharedStop stop = nullptr);
kj::Own<ByteSource> FdSource(UniqueFd fd, Pool pool, SharedStop stop);
kj::Own<ByteSink> FdSink(int fd, Pool pool, SharedStop stop = nullptr);
kj::Own<ByteSource> StringSource(std::string bytes);
kj::Own<ByteSink> StringSink(std::string* out);

// A file being written, in push style. One call at a time: wait for each promise. Dropping it without Close abandons
// the file, which then never becomes visible.
class FileWriter {
 public:
  virtual ~FileWriter() = default;
  // Resolves when there is space for more.
  virtual kj::Promise<Status> Write(std::string bytes) = 0;
  // Makes all blocks durable on min(2, possible) workers, and the file visible under its path.
  virtual kj::Promise<Result<WrittenFile>> Close() = 0;
};

class DfsClient {
 public:
  struct Options {
    rpc::Hello hello;  // for data connections; role is set to kData
    Pool pool;         // for hashing and files
    // A worker's own data server address and store, so that reads are local and the first replica is its own. mrctl
    // leaves both empty.
    std::string own_address;
    BlockStore* own_store = nullptr;
    // Its server, on the same loop: blocks whose first replica is here are written without a connection.
    BlockServer* own_server = nullptr;
    // Number of tries to write one block, each with a new pipeline. Pauses between them double from 50 ms to 1 s. Their
    // sum exceeds the 5 s after which a master declares a silent worker lost.
    int write_tries = 12;
    // Ends when the master is connected, or does not come back. A call of a writer that could not reach the master is
    // repeated then. Null: it is repeated after a pause.
    std::function<kj::Promise<void>()> reconnected;
    // A person's client asks the master for a ticket for each worker. Null for daemons.
    Peers::Tickets tickets;
  };
  // files: MasterForClient.files() of a connection with role kClient. Requires: io, pool, own_store and own_server
  // outlive this object and its calls and writers, which may outlive this object.
  DfsClient(kj::AsyncIoContext& io, rpc::FileSystem::Client files, Options options);
  // Sets the interface of a new connection after the old one broke. Writers continue with it if it is set before their
  // tries are used up, because leases outlive a restart of the master.
  void SetFiles(rpc::FileSystem::Client files);
  ~DfsClient();

  // Writing. Create is for push style. Staged job outputs go to StagingPath(...) with overwrite = true: hidden,
  // complete before the attempt reports, and moved by the job's commit.
  kj::Promise<Result<kj::Own<FileWriter>>> Create(std::string path, PutOptions options);
  kj::Promise<Result<WrittenFile>> Put(std::string path, PutOptions options, kj::Own<ByteSource> source);
  // Does what BlockingDfs::PutFiles describes. Requires: all arguments outlive the promise, also if it is dropped until
  // the pool has run what it was given.
  kj::Promise<Status> PutFiles(const std::vector<LocalFile>& files, const PutOptions& options, Pool pool,
                               std::vector<bool>* written, SharedStop stop);

  // Reading: a whole file, or a range (length 0: to the end). file: if not 0, the version with this id (FileInfo::id),
  // whatever the path leads to now.
  kj::Promise<Status> Get(std::string path, kj::Own<ByteSink> sink, uint64_t offset = 0, uint64_t length = 0,
                          uint64_t file = 0);
  // For a worker's split: returns bytes [begin, end) of one block as a descriptor. Its byte `begin - base` is the
  // block's byte `begin`. A local replica gives the block file itself (base 0), else an unnamed file in temp_directory
  // (base = begin). Bytes [begin, verified_end) of the block are verified. For a local replica this is somewhat more
  // than requested, so that it usually includes the end of a split's last record. Requires: no byte after verified_end
  // is read from the descriptor.
  //
  // kReader: a local replica is not verified. Instead the reader checks with `crcs` what it reads, and requests bytes
  // that differ with kHere, which finds and reports the damage, and reads another replica. It may then read from the
  // block's beginning.
  enum class Check { kHere, kReader };
  struct BlockBytes {
    UniqueFd fd;
    uint64_t base = 0;
    uint64_t verified_end = 0;
    bool local = false;
    std::vector<uint32_t> crcs;  // kReader: CRC-32C of each kChecksumChunk bytes of the block, up to verified_end
  };
  kj::Promise<Result<BlockBytes>> ReadBlock(LocatedBlock block, uint64_t begin, uint64_t end, Check check,
                                            const std::string& temp_directory);

  // Calls on paths.
  kj::Promise<Result<FileInfo>> Stat(const std::string& path);
  kj::Promise<Result<std::vector<FileInfo>>> List(std::string path);
  kj::Promise<Result<LocatedFile>> Locate(const std::string& path, uint64_t offset = 0, uint64_t length = 0);
  kj::Promise<Status> Mkdir(const std::string& path);
  kj::Promise<Status> Remove(const std::string& path, bool recursive);
  kj::Promise<Status> Rename(const std::string& from, const std::string& to);
  kj::Promise<Status> SetReplication(const std::string& path, uint32_t replication);
  // Owner and readers of a path and of all below it that has no rule of its own (dfs/meta/rules.h).
  kj::Promise<Status> SetOwner(const std::string& path, const std::string& owner);
  kj::Promise<Status> SetReaders(const std::string& path, bool all);
  // Returns the faults of the blocks of visible files; names at most max_files of them.
  kj::Promise<Result<StoreHealth>> Health(uint32_t max_files);

  struct Impl;

 private:
  kj::Own<Impl> impl_;
};

// Returns "/.staging/<job>/<attempt>/<part>". StagingRoot returns "/.staging/<job>", which OutputCommitted and the
// job's end use.
std::string StagingPath(const std::string& job, const std::string& attempt, const std::string& part);
std::string StagingRoot(const std::string& job);

// The blocking form, for mrctl. Has a small pool. Thread: any but the loop's. Errors: each call fails with kUnavailable
// once the connection is gone, and with the error of Wait when it is given up. A file whose write was given up is not
// visible, and does not replace another one, unless the master was already completing it.
class BlockingDfs {
 public:
  // Waits until a descriptor is readable. An error gives up the call that waits, and later calls that read or write
  // descriptors fail. Thread: that of the call.
  using Wait = std::function<Status(int fd)>;
  // Connects to a master ("host:port"). wait: null: waits for ever. Requires: loop outlives this.
  static Result<std::unique_ptr<BlockingDfs>> Connect(rpc::KjThread& loop, const std::string& master,
                                                      Wait wait = nullptr);
  // Uses a connection with role kClient that is there. connection: returns it, on the loop. Requires: loop and
  // connection outlive this.
  static Result<std::unique_ptr<BlockingDfs>> On(rpc::KjThread& loop,
                                                 const std::function<rpc::RpcConnection&()>& connection,
                                                 Wait wait = nullptr);
  ~BlockingDfs();

  Result<WrittenFile> PutFd(const std::string& path, const PutOptions& options, int fd);
  // Puts files, many at once, each with these options. After an error none is begun, and those under way are ended.
  // written: set for each file that was put. Returns the error of the first file that has one, in their order.
  Status PutFiles(const std::vector<LocalFile>& files, const PutOptions& options, std::vector<bool>* written);
  Result<WrittenFile> PutBytes(const std::string& path, const PutOptions& options, std::string bytes);
  Status GetToFd(const std::string& path, int fd, uint64_t offset = 0, uint64_t length = 0, uint64_t file = 0);
  Result<std::string> GetBytes(const std::string& path, uint64_t offset = 0, uint64_t length = 0, uint64_t file = 0);
  Result<FileInfo> Stat(const std::string& path);
  Result<std::vector<FileInfo>> List(const std::string& path);
  Result<LocatedFile> Locate(const std::string& path, uint64_t offset = 0, uint64_t length = 0);
  Status Mkdir(const std::string& path);
  Status Remove(const std::string& path, bool recursive);
  // Removes what this process made, also after Wait has given up other calls. Waits for at most this time.
  Status RemoveWithin(const std::string& path, bool recursive, Duration limit);
  Status Rename(const std::string& from, const std::string& to);
  Status SetReplication(const std::string& path, uint32_t replication);
  Status SetOwner(const std::string& path, const std::string& owner);
  Status SetReaders(const std::string& path, bool all);
  Result<StoreHealth> Health(uint32_t max_files);

 private:
  struct Impl;
  explicit BlockingDfs(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mr::dfs
