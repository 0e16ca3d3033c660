// Writes small blocks in groups that share their syncs. What survives a power cut is decided by the order of system
// calls, as in block_writer.cc: the files of all blocks, a sync, their names, a sync.
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "common/base/text.h"
#include "common/io/bulk_digest.h"
#include "common/io/crc32c.h"
#include "common/io/fault.h"
#include "common/io/ledger.h"
#include "dfs/block/block_store_impl.h"

namespace mr::dfs {
namespace {

// Fewer blocks are synced one by one (guess: a sync of the file system also writes what others have written).
constexpr size_t kFewestOfGroup = 4;
// With more bytes that the machine's page cache has yet to write, blocks are synced one by one: a sync of the file
// system would wait for those bytes, too (guess: a second of a slow disk, which syncs a group one by one in as long).
constexpr uint64_t kMostDirtyKib = 128 << 10;

Status CheckBytes(const WholeBlock& block) {
  Ledger::Count(Ledger::file_digest, block.bytes.size());
  if (block.bytes.size() == block.block.length && BulkHash64(block.bytes) == block.block.digest) return Status::Ok();
  return Corrupted(Describe({block.block.id.value, block.block.generation}) + ": " +
                   std::to_string(block.bytes.size()) + " bytes arrived, which are not the " +
                   std::to_string(block.block.length) + " bytes that were sent");
}

Status WriteNewFile(const std::string& path, std::string_view bytes) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  return WriteAll(fd.get(), bytes).With("cannot write " + path);
}

class Group {
 public:
  explicit Group(BlockStore::Impl& store) : store_(store) {}
  ~Group() {
    for (const auto& member : members_) {
      // After the renames these names are gone, and unlink is harmless.
      ::unlink(member->path.c_str());
      ::unlink((member->path + ".sum").c_str());
    }
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // Takes the block into the group, if nothing of that name is here. Returns whether it did. Requires: the keys come in
  // rising order, so that two groups cannot wait for each other.
  bool Add(const WholeBlock& block, Status* result) {
    auto member = std::make_unique<Member>(store_, block, result);
    {
      std::lock_guard lock(store_.mutex);
      if (store_.blocks.contains(member->key)) return false;
    }
    if (PathExists(store_.PathOf(member->key, ".blk")) || PathExists(store_.PathOf(member->key, ".bad"))) return false;
    members_.push_back(std::move(member));
    return true;
  }
  size_t size() const { return members_.size(); }

  // Makes all members durable, lists them and sets their results. Returns an error of one of them, if there is one.
  Status Write() {
    if (Status status = MakeDurable(); !status.ok()) {
      for (const auto& member : members_) *member->result = status;
      return status;
    }
    std::lock_guard lock(store_.mutex);
    Status error;
    for (const auto& member : members_) {
      if (!member->result->ok()) {
        // The caller looks for errors of the disk; a full one is none.
        if (error.ok() || member->result->code() == Code::kInternal) error = *member->result;
        continue;
      }
      store_.blocks[member->key] = {member->block.block, "", nullptr, store_.next_life++};
      store_.used += member->block.block.length;
    }
    return error;
  }

 private:
  struct Member {
    Member(BlockStore::Impl& store, const WholeBlock& b, Status* r)
        : key{b.block.id.value, b.block.generation}, block(b), result(r), alone(store, key) {}
    const BlockKey key;
    const WholeBlock block;
    Status* const result;
    const BlockStore::Impl::Busy alone;
    std::string path;  // of the bytes before they have their name
  };

  // Sets the results of members that fail by themselves. Errors: those of all.
  Status MakeDurable() {
    // Opened before the writes: a sync returns the errors of writes since its descriptor was opened.
    MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(store_.root, O_RDONLY | O_DIRECTORY));
    std::string last;
    for (const auto& member : members_) {
      *member->result = WriteFiles(member.get());
      if (member->result->ok()) last = member->path;
    }
    if (last.empty()) return Status::Ok();
    MR_RETURN_IF_ERROR(SyncAll(fd.get()));
    MR_ASSIGN_OR_RETURN(const UniqueFd file, OpenFile(last, O_RDONLY));
    if (::fsync(file.get()) != 0) return CannotSync();
    last.clear();
    for (const auto& member : members_) {
      if (member->result->ok()) *member->result = Name(*member);
      if (member->result->ok()) last = store_.PathOf(member->key, ".blk");
    }
    if (last.empty()) return Status::Ok();
    MR_RETURN_IF_ERROR(SyncAll(fd.get()));
    return SyncDirectory(ParentOf(last)).With("cannot sync the file system of " + store_.root);
  }

  Status WriteFiles(Member* member) {
    const std::string_view bytes = member->block.bytes;
    Sidecar sidecar;
    sidecar.chunk_bytes = kChecksumChunk;
    sidecar.block = member->block.block;
    Ledger::Count(Ledger::block_crc, bytes.size());
    Ledger::Count(Ledger::block_write, bytes.size());
    for (size_t at = 0; at < bytes.size(); at += kChecksumChunk) {
      sidecar.crcs.push_back(Crc32c(bytes.substr(at, kChecksumChunk)));
    }
    MR_RETURN_IF_ERROR(store_.MakeFolder(member->key));
    member->path = store_.TemporaryPath(member->key);
    MR_RETURN_IF_ERROR(WriteNewFile(member->path, bytes));
    return WriteNewFile(member->path + ".sum", EncodeSidecar(sidecar));
  }

  // Sidecar first, bytes last, as in Publish.
  Status Name(const Member& member) {
    MR_RETURN_IF_ERROR(Rename(member.path + ".sum", store_.PathOf(member.key, ".sum")));
    FaultPoint("block");
    return Rename(member.path, store_.PathOf(member.key, ".blk"));
  }

  // A file system that became read-only after an error of its journal lets syncfs succeed, and syncs nothing. So after
  // each call one of the things that it must have synced is synced by itself, which returns the error, and else costs
  // little.
  Status SyncAll(int fd) { return ::syncfs(fd) == 0 ? Status::Ok() : CannotSync(); }
  Status CannotSync() const { return ErrnoStatus(errno, "cannot sync the file system of " + store_.root); }

  BlockStore::Impl& store_;
  std::vector<std::unique_ptr<Member>> members_;
};

}  // namespace

bool BlockStore::Impl::WholeSyncsAreSafe(const std::string& directory) {
  // Before Linux 5.17 syncfs did not return all errors: those of a file system's own journal were lost. Only these file
  // systems are known to wait for the disk and to report what fails; others may only hand the bytes over, or (F2FS)
  // succeed without a checkpoint.
  utsname kernel{};
  int major = 0, minor = 0;
  if (::uname(&kernel) != 0 || std::sscanf(kernel.release, "%d.%d", &major, &minor) != 2) return false;
  if (major < 5 || (major == 5 && minor < 17)) return false;
  struct statfs info {};
  if (::statfs(directory.c_str(), &info) != 0) return false;
  const auto type = static_cast<uint64_t>(info.f_type);
  constexpr uint64_t kKnown[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC, BTRFS_SUPER_MAGIC, TMPFS_MAGIC};
  return std::find(std::begin(kKnown), std::end(kKnown), type) != std::end(kKnown);
}

void BlockStore::ShareSyncs(WhenToShareSyncs when) { impl_->share_syncs = when; }

bool SharedSyncsAreCheap(const Result<std::string>& meminfo) {
  if (!meminfo.ok()) return false;
  uint64_t unwritten_kib = 0;
  for (const char* field : {"\nDirty:", "\nWriteback:"}) {
    const size_t at = meminfo->find(field);
    unsigned long long kib = 0;
    if (at == std::string::npos || std::sscanf(meminfo->c_str() + at + std::strlen(field), "%llu", &kib) != 1) {
      return false;
    }
    unwritten_kib += kib;
  }
  return unwritten_kib <= kMostDirtyKib;
}

bool BlockStore::Impl::MayShareSyncs(size_t blocks) const {
  if (share_syncs == WhenToShareSyncs::kAlways) return true;
  return share_syncs == WhenToShareSyncs::kIfCheap && whole_syncs && blocks >= kFewestOfGroup &&
         SharedSyncsAreCheap(ReadFile("/proc/meminfo"));
}

std::vector<Status> BlockStore::WriteGroup(const std::vector<WholeBlock>& blocks) {
  std::vector<Status> results(blocks.size());
  std::vector<size_t> good;
  for (size_t i = 0; i < blocks.size(); ++i) {
    results[i] = CheckBytes(blocks[i]);
    if (results[i].ok() && !blocks[i].block.id.valid()) {
      results[i] = InvalidArgument("a block without an id cannot be written");
    }
    if (results[i].ok()) good.push_back(i);
  }
  if (const Status space = impl_->CheckSpace(); !space.ok()) {
    for (const size_t i : good) results[i] = space;
    return results;
  }
  std::vector<size_t> singly = good;
  if (impl_->MayShareSyncs(good.size())) {
    const auto key = [&](size_t i) { return BlockKey{blocks[i].block.id.value, blocks[i].block.generation}; };
    std::sort(good.begin(), good.end(), [&](size_t a, size_t b) { return key(a) < key(b); });
    singly.clear();
    Group group(*impl_);
    for (size_t n = 0; n < good.size(); ++n) {
      const size_t i = good[n];
      const bool repeated = n > 0 && key(good[n - 1]) == key(i);
      if (repeated || !group.Add(blocks[i], &results[i])) singly.push_back(i);
    }
    if (group.size() > 0) impl_->NoteDisk(group.Write());
  }
  for (const size_t i : singly) {
    const BlockRef& block = blocks[i].block;
    const auto write = [&]() -> Status {
      MR_ASSIGN_OR_RETURN(const auto writer, Create(block.id, block.generation));
      writer->TrustBytes();
      MR_RETURN_IF_ERROR(writer->Append(blocks[i].bytes));
      return writer->Finish(block.length, block.digest).status();
    };
    results[i] = write();
  }
  return results;
}

}  // namespace mr::dfs
