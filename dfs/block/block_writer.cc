// Writes, replaces and deletes blocks. The order of system calls here decides what survives a power cut; tests depend
// on it.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "common/base/text.h"
#include "common/io/bulk_digest.h"
#include "common/io/crc32c.h"
#include "common/io/fault.h"
#include "common/io/ledger.h"
#include "dfs/block/block_store_impl.h"
#include "dfs/block/direct_file.h"

namespace mr::dfs {
namespace {

Status SyncFd(int fd, const std::string& path) {
  return ::fsync(fd) == 0 ? Status::Ok() : ErrnoStatus(errno, "cannot sync " + path);
}

// Removes a file. Ok also if it does not exist.
Status Unlink(const std::string& path) {
  return ::unlink(path.c_str()) == 0 || errno == ENOENT ? Status::Ok() : ErrnoStatus(errno, "cannot delete " + path);
}

class WriterImpl final : public BlockStore::Writer {
 public:
  WriterImpl(BlockStore::Impl& store, BlockKey key, std::string path, UniqueFd fd)
      : store_(store), key_(key), path_(std::move(path)), fd_(std::move(fd)), file_(fd_.get(), store.direct) {
    sidecar_.chunk_bytes = kChecksumChunk;
  }
  ~WriterImpl() override {
    // After a Finish these names are gone, and unlink is harmless.
    ::unlink(path_.c_str());
    ::unlink((path_ + ".sum").c_str());
  }

  Status Append(std::string_view bytes) override {
    if (const Status status = file_.Append(bytes); !status.ok()) return Failed(Unwritten(status));
    if (!trusted_) {
      digest_.Update(bytes);
      Ledger::Count(Ledger::file_digest, bytes.size());
    }
    Ledger::Count(Ledger::block_crc, bytes.size());
    while (!bytes.empty()) {
      const uint64_t into = length_ % kChecksumChunk;
      const size_t n = std::min<size_t>(bytes.size(), kChecksumChunk - into);
      if (into == 0) sidecar_.crcs.push_back(0);
      sidecar_.crcs.back() = Crc32c(bytes.substr(0, n), sidecar_.crcs.back());
      length_ += n;
      bytes.remove_prefix(n);
    }
    return Status::Ok();
  }

  void TrustBytes() override { trusted_ = true; }

  Result<BlockRef> Finish(uint64_t length, uint64_t digest) override {
    const uint64_t have = trusted_ ? digest : digest_.Finish();
    if (length != length_ || digest != have) {
      return Corrupted(Describe(key_) + ": " + std::to_string(length_) + " bytes arrived, which are not the " +
                       std::to_string(length) + " bytes that were sent");
    }
    sidecar_.block = {{key_.id}, key_.generation, length, digest};
    if (const Status status = file_.Finish(); !status.ok()) return Failed(Unwritten(status));
    if (const Status status = MakeDurable(); !status.ok()) return Failed(status);
    return sidecar_.block;
  }

 private:
  Status MakeDurable() {
    MR_RETURN_IF_ERROR(SyncFd(fd_.get(), path_));
    const std::string sums = path_ + ".sum";
    MR_ASSIGN_OR_RETURN(const UniqueFd sum_fd, OpenFile(sums, O_WRONLY | O_CREAT | O_TRUNC));
    MR_RETURN_IF_ERROR(WriteAll(sum_fd.get(), EncodeSidecar(sidecar_)).With(sums));
    MR_RETURN_IF_ERROR(SyncFd(sum_fd.get(), sums));
    return store_.Publish(sidecar_.block, path_, sums);
  }

  Status Unwritten(const Status& status) const {
    return status.With("cannot write " + Describe(key_) + " to " + path_);
  }
  Status Failed(const Status& status) {
    store_.NoteDisk(status);
    return status;
  }

  BlockStore::Impl& store_;
  const BlockKey key_;
  const std::string path_;
  UniqueFd fd_;
  DirectFile file_;
  bool trusted_ = false;
  BulkHasher64 digest_;
  Sidecar sidecar_;
  uint64_t length_ = 0;
};

}  // namespace

void BlockStore::WriteDirectly(bool direct) { impl_->direct = direct; }

void BlockStore::KeepFree(std::optional<uint64_t> bytes) { impl_->keep_free.emplace(bytes); }

Status BlockStore::Impl::CheckSpace() {
  std::lock_guard lock(space_mutex);
  if (!keep_free.has_value()) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const Space space, SpaceOf(root));
  if (keep_free->HasRoom(space)) return Status::Ok();
  // Begins with the text of ENOSPC, which callers and people recognize.
  std::string text = "No space left on device for new blocks: " + root + " has " + HumanBytes(space.free_bytes) +
                     " of " + HumanBytes(space.total_bytes) + " free, and " + HumanBytes(keep_free->Keep(space)) +
                     " are kept free (mrworker --min_free)";
  if (space.no_inodes()) text += "; the file system of " + root + " has no free inodes";
  return {Code::kOverloaded, std::move(text)};
}

std::string BlockStore::Impl::TemporaryPath(BlockKey key) {
  return root + "/tmp/" + FileName(key) + "." + std::to_string(next_temporary.fetch_add(1));
}

Result<std::unique_ptr<BlockStore::Writer>> BlockStore::Create(BlockId id, uint32_t generation) {
  if (!id.valid()) return InvalidArgument("a block without an id cannot be written");
  MR_RETURN_IF_ERROR(impl_->CheckSpace());
  const BlockKey key{id.value, generation};
  const std::string path = impl_->TemporaryPath(key);
  auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
  if (!fd.ok()) {
    impl_->NoteDisk(fd.status());
    return fd.status();
  }
  return std::unique_ptr<Writer>(std::make_unique<WriterImpl>(*impl_, key, path, *std::move(fd)));
}

// Makes and syncs the folder. Other writers of that folder wait for it, because their files cannot be durable before.
Status BlockStore::Impl::MakeFolder(BlockKey key) {
  const std::string folder = Folder(key);
  std::lock_guard lock(folders_mutex);
  if (folders.contains(folder)) return Status::Ok();
  MR_RETURN_IF_ERROR(MakeDirectories(folder));
  MR_RETURN_IF_ERROR(SyncDirectory(root));
  folders.insert(folder);
  return Status::Ok();
}

// Sidecar first, bytes last: a block counts once its .blk exists, and its .sum must exist by then.
Status BlockStore::Impl::Publish(const BlockRef& ref, const std::string& data, const std::string& sums) {
  const BlockKey key{ref.id.value, ref.generation};
  bool replaced = false;
  {
    const Busy alone(*this, key);
    {
      std::lock_guard lock(mutex);
      const auto it = blocks.find(key);
      if (it != blocks.end() && it->second.suspect.empty()) {
        if (it->second.ref == ref) return Status::Ok();
        return Rejected(Describe(key) + " is already on this worker with other content");
      }
    }
    MR_RETURN_IF_ERROR(MakeFolder(key));
    MR_ASSIGN_OR_RETURN(replaced, MakeRoom(key));
    MR_RETURN_IF_ERROR(Rename(sums, PathOf(key, ".sum")));
    FaultPoint("block");
    MR_RETURN_IF_ERROR(Rename(data, PathOf(key, ".blk")));
    MR_RETURN_IF_ERROR(SyncDirectory(Folder(key)));
    std::lock_guard lock(mutex);
    Stored& stored = blocks[key];
    used += ref.length - stored.ref.length;
    stored = {ref, "", nullptr, next_life++};
    if (replaced) aside.insert(key);
  }
  if (replaced) Report({ref, "a good replica has taken its place", true});
  return Status::Ok();
}

// Moves a suspect replica to quarantine, since a new, verified replica takes its place. The mark is removed last: after
// a power cut the bad replica must not be in its place without a mark. Returns whether there was a replica to move.
Result<bool> BlockStore::Impl::MakeRoom(BlockKey key) {
  const bool found = PathExists(PathOf(key, ".blk"));
  // A sidecar alone is the remainder of a crash between the two renames. The next one replaces it.
  if (!found && !PathExists(PathOf(key, ".bad"))) return false;
  if (found) {
    MR_RETURN_IF_ERROR(Rename(PathOf(key, ".blk"), AsidePath(key, ".blk")));
    if (PathExists(PathOf(key, ".sum"))) MR_RETURN_IF_ERROR(Rename(PathOf(key, ".sum"), AsidePath(key, ".sum")));
  }
  MR_RETURN_IF_ERROR(SyncDirectory(root + "/quarantine"));
  MR_RETURN_IF_ERROR(SyncDirectory(Folder(key)));
  MR_RETURN_IF_ERROR(Unlink(PathOf(key, ".bad")));
  return found;
}

Status BlockStore::Delete(BlockId id, uint32_t generation) {
  const BlockKey key{id.value, generation};
  const Impl::Busy alone(*impl_, key);
  bool here = false;
  {
    std::lock_guard lock(impl_->mutex);
    const auto it = impl_->blocks.find(key);
    here = it != impl_->blocks.end();
    if (here) {
      impl_->used -= it->second.ref.length;
      impl_->blocks.erase(it);
    } else if (!impl_->aside.contains(key)) {
      const auto other = impl_->blocks.lower_bound({id.value, 0});
      if (other == impl_->blocks.end() || other->first.id != id.value) return Status::Ok();
      return Rejected(Describe(key) + " is not on this worker, but generation " +
                      std::to_string(other->first.generation) + " is");
    }
    impl_->aside.erase(key);
  }
  for (const char* suffix : {".blk", ".sum"}) MR_RETURN_IF_ERROR(Unlink(impl_->AsidePath(key, suffix)));
  if (!here) return Status::Ok();
  // Bytes first: a deletion that a crash cuts short leaves a checksum without a block, which is ignored.
  MR_RETURN_IF_ERROR(Unlink(impl_->PathOf(key, ".blk")));
  if (PathExists(impl_->PathOf(key, ".bad"))) {
    // The mark must not disappear before the bytes that it marks.
    MR_RETURN_IF_ERROR(SyncDirectory(impl_->Folder(key)));
  }
  for (const char* suffix : {".sum", ".bad"}) MR_RETURN_IF_ERROR(Unlink(impl_->PathOf(key, suffix)));
  return SyncDirectory(impl_->Folder(key));
}

Status BlockStore::EmptyQuarantine(BlockId id, uint32_t generation) {
  const BlockKey key{id.value, generation};
  const Impl::Busy alone(*impl_, key);
  for (const char* suffix : {".blk", ".sum"}) MR_RETURN_IF_ERROR(Unlink(impl_->AsidePath(key, suffix)));
  std::lock_guard lock(impl_->mutex);
  impl_->aside.erase(key);
  return Status::Ok();
}

}  // namespace mr::dfs
