// Shared by the parts of the block store. Private to dfs/block.
#pragma once

#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "common/io/free_space.h"
#include "dfs/block/block_store.h"
#include "dfs/block/sidecar.h"

namespace mr::dfs {

// Bytes per read of a scrub or a verification.
inline constexpr uint64_t kReadStep = 1 << 20;
static_assert(kReadStep % kChecksumChunk == 0);

// Prefix of the reason in a mark if the cause is the disk and not the bytes: such a replica may be good after all.
inline constexpr char kIoError[] = "I/O error: ";

struct BlockKey {
  uint64_t id = 0;
  uint32_t generation = 0;
  auto operator<=>(const BlockKey&) const = default;
};

std::string Describe(BlockKey key);
std::string FileName(BlockKey key);
Status Rename(const std::string& from, const std::string& to);

// Returns whether the machine has little to write. Else a sync of the whole file system would wait for all of it.
// meminfo: the text of /proc/meminfo; where it does not say how much there is to write, the answer is no.
bool SharedSyncsAreCheap(const Result<std::string>& meminfo);

struct BlockStore::Impl {
  struct Stored {
    BlockRef ref;
    std::string suspect;                     // reason; empty: good
    std::shared_ptr<const Sidecar> sidecar;  // read at the first use
    uint64_t life = 0;                       // differs for each replica with this name
  };
  // A good replica when a reader opened it.
  struct Opened {
    std::shared_ptr<const Sidecar> sidecar;
    uint64_t life = 0;
  };

  std::string root;  // DIR/blocks
  Observers observers;
  bool direct = true;       // write large blocks past the page cache
  bool whole_syncs = true;  // syncfs of root promises what fsync of each file does
  WhenToShareSyncs share_syncs = WhenToShareSyncs::kIfCheap;

  mutable std::mutex mutex;  // guards all below except atomics; never held during I/O
  std::map<BlockKey, Stored> blocks;
  uint64_t used = 0;
  std::set<BlockKey> aside;  // damaged bytes in quarantine
  std::set<BlockKey> busy;   // blocks with files being changed
  std::condition_variable freed;
  uint64_t next_life = 1;
  BlockKey scrub_block;
  uint64_t scrub_offset = 0;
  uint64_t scrubbed_since_saved = 0;
  std::string probe_error, read_error;  // errors of the disk as text
  uint64_t unreadable = 0;              // number of blocks with an I/O error
  std::string said_disk;                // the last state that was reported to observers

  std::mutex space_mutex;  // held for one system call
  std::optional<FreeSpaceGate> keep_free;

  std::mutex folders_mutex;  // held while a folder is made and its entry synced
  std::set<std::string> folders;
  std::atomic<uint64_t> next_temporary{1};

  // Exclusive access to the files of one block, for changes.
  class Busy {
   public:
    Busy(Impl& store, BlockKey key) : store_(store), key_(key) {
      std::unique_lock lock(store_.mutex);
      store_.freed.wait(lock, [this] { return !store_.busy.contains(key_); });
      store_.busy.insert(key_);
    }
    ~Busy() {
      std::lock_guard lock(store_.mutex);
      store_.busy.erase(key_);
      store_.freed.notify_all();
    }
    Busy(const Busy&) = delete;
    Busy& operator=(const Busy&) = delete;

   private:
    Impl& store_;
    const BlockKey key_;
  };

  std::string Folder(BlockKey key) const;
  std::string PathOf(BlockKey key, const char* suffix) const;
  std::string AsidePath(BlockKey key, const char* suffix) const;

  // block_store.cc
  Status Load();
  Status LoadOne(BlockKey key);
  Result<Opened> OpenSidecar(BlockKey key);
  // Marks the replica of this life as damaged, also for later lives of the process. Returns the status for the reader.
  Status Fail(BlockKey key, uint64_t life, const Status& why);
  Status ReadChunks(BlockKey key, const Opened& opened, int fd, uint64_t offset, uint64_t length, std::string* out);
  Result<std::string> ReadChecked(BlockKey key, const Opened& opened, int fd, uint64_t offset, uint64_t length);
  void Report(const Suspect& suspect) const {
    if (observers.on_suspect) observers.on_suspect(suspect);
  }

  // block_writer.cc
  Status Publish(const BlockRef& ref, const std::string& data, const std::string& sums);
  Status CheckSpace();
  std::string TemporaryPath(BlockKey key);
  Status MakeFolder(BlockKey key);
  Result<bool> MakeRoom(BlockKey key);

  // group_writer.cc
  // Returns whether a sync of the whole file system of `directory` is as good as an fsync of each file.
  static bool WholeSyncsAreSafe(const std::string& directory);
  bool MayShareSyncs(size_t blocks) const;

  // scrubber.cc
  void LoadCursor();
  void SaveCursor();
  Status CheckSidecarOnDisk(BlockKey key);
  void Recheck(BlockKey key, const Stored& stored, ScrubResult* result);
  // Checks, after a failed operation, whether the disk as a whole fails, and reports it.
  void NoteDisk(const Status& why);
  void SayDisk();
};

}  // namespace mr::dfs
