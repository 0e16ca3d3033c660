// Opens a store, reads from it, and records damaged replicas.
#include "dfs/block/block_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "common/io/ledger.h"
#include "dfs/block/block_store_impl.h"

namespace mr::dfs {
namespace {

// Parses "<16 hex>_<n>.blk". Returns false for other names.
bool ParseName(const std::string& name, BlockKey* key) {
  unsigned long long id = 0;
  unsigned generation = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "%16llx_%u.blk%n", &id, &generation, &used) != 2) return false;
  *key = {id, generation};
  return static_cast<size_t>(used) == name.size();
}

}  // namespace

std::string Describe(BlockKey key) {
  return "block " + std::to_string(key.id) + " generation " + std::to_string(key.generation);
}

std::string FileName(BlockKey key) {
  char text[64];
  std::snprintf(text, sizeof text, "%016llx_%u", static_cast<unsigned long long>(key.id), key.generation);
  return text;
}

Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  return ErrnoStatus(errno, "cannot rename " + from + " to " + to);
}

std::string BlockStore::Impl::Folder(BlockKey key) const {
  char text[8];
  std::snprintf(text, sizeof text, "/%02x", static_cast<unsigned>(key.id & 0xff));
  return root + text;
}

std::string BlockStore::Impl::PathOf(BlockKey key, const char* suffix) const {
  return Folder(key) + "/" + FileName(key) + suffix;
}

std::string BlockStore::Impl::AsidePath(BlockKey key, const char* suffix) const {
  return root + "/quarantine/" + FileName(key) + suffix;
}

BlockStore::BlockStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockStore::~BlockStore() { impl_->SaveCursor(); }

void BlockStore::Observe(Observers observers) { impl_->observers = std::move(observers); }

Result<std::unique_ptr<BlockStore>> BlockStore::Open(const std::string& directory) {
  auto impl = std::make_unique<Impl>();
  impl->root = directory + "/blocks";
  // Unfinished writes only: no write in tmp was ever acknowledged.
  MR_RETURN_IF_ERROR(RemoveTree(impl->root + "/tmp"));
  for (const char* folder : {"/tmp", "/quarantine"}) MR_RETURN_IF_ERROR(MakeDirectories(impl->root + folder));
  // A writer of an earlier process may have made a folder without syncing it. This sync makes it durable.
  MR_RETURN_IF_ERROR(SyncDirectory(impl->root));
  MR_RETURN_IF_ERROR(SyncDirectory(directory));
  impl->whole_syncs = Impl::WholeSyncsAreSafe(impl->root);
  MR_RETURN_IF_ERROR(impl->Load());
  return std::unique_ptr<BlockStore>(new BlockStore(std::move(impl)));
}

Status BlockStore::Impl::Load() {
  MR_ASSIGN_OR_RETURN(const auto entries, ListDirectory(root));
  for (const auto& entry : entries) {
    const bool quarantine = entry == "quarantine";
    if (entry.size() != 2 && !quarantine) continue;
    if (!quarantine) folders.insert(root + "/" + entry);
    MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(root + "/" + entry));
    for (const auto& name : names) {
      BlockKey key;
      if (!ParseName(name, &key)) continue;
      if (quarantine) {
        aside.insert(key);
      } else {
        MR_RETURN_IF_ERROR(LoadOne(key));
      }
    }
  }
  LoadCursor();
  return Status::Ok();
}

Status BlockStore::Impl::LoadOne(BlockKey key) {
  Stored stored;
  stored.life = next_life++;
  stored.ref = {{key.id}, key.generation, 0, 0};
  const auto size = FileSize(PathOf(key, ".blk"));
  const auto bytes = ReadFile(PathOf(key, ".sum"));
  // Too many open files are no fault of the block.
  if (bytes.status().code() == Code::kOverloaded) return bytes.status().With("cannot check " + Describe(key));
  const auto sidecar = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
  if (!sidecar.ok()) {
    stored.suspect = sidecar.status().message();
  } else if (sidecar->block.id.value != key.id || sidecar->block.generation != key.generation) {
    stored.suspect = "its checksum file belongs to another block";
  } else {
    stored.ref = sidecar->block;
    if (!size.ok() || *size != sidecar->block.length) {
      stored.suspect = "its file does not have the " + std::to_string(sidecar->block.length) + " bytes written";
    }
  }
  // Found bad in an earlier life: it stays bad, even if a read succeeds now.
  if (PathExists(PathOf(key, ".bad"))) {
    const auto bad = ReadFile(PathOf(key, ".bad"));
    stored.suspect = bad.ok() && !bad->empty() ? *bad : "an earlier life of this worker marked it as damaged";
  }
  used += stored.ref.length;
  blocks[key] = std::move(stored);
  return Status::Ok();
}

Status BlockStore::Impl::Fail(BlockKey key, uint64_t life, const Status& why) {
  // Too many open files are no fault of the block.
  if (why.code() == Code::kOverloaded) return why.With(Describe(key));
  const bool disk = why.code() == Code::kInternal;
  Suspect found{{{key.id}, key.generation, 0, 0}, (disk ? kIoError : "") + why.message(), false};
  bool fresh = false;
  {
    const Busy alone(*this, key);
    {
      std::lock_guard lock(mutex);
      const auto it = blocks.find(key);
      if (it == blocks.end()) return NotFound(Describe(key) + " is not on this worker");
      if (it->second.life != life) return Unavailable(Describe(key) + " was replaced while it was read");
      fresh = it->second.suspect.empty();
      if (fresh) it->second.suspect = found.why;
      found.block = it->second.ref;
    }
    // Best effort: without the mark the next life finds the damage itself.
    if (fresh) (void)WriteFileDurably(PathOf(key, ".bad"), found.why);
  }
  if (fresh) Report(found);
  if (disk) {
    {
      std::lock_guard lock(mutex);
      unreadable += fresh ? 1 : 0;
      read_error = why.message();
    }
    NoteDisk(why);
  }
  return Corrupted(Describe(key) + ": " + why.message());
}

Result<BlockStore::Impl::Opened> BlockStore::Impl::OpenSidecar(BlockKey key) {
  uint64_t life = 0;
  BlockRef ref;
  {
    std::lock_guard lock(mutex);
    const auto it = blocks.find(key);
    if (it == blocks.end()) return NotFound(Describe(key) + " is not on this worker");
    if (!it->second.suspect.empty()) return Corrupted(Describe(key) + " is damaged: " + it->second.suspect);
    if (it->second.sidecar != nullptr) return Opened{it->second.sidecar, it->second.life};
    life = it->second.life;
    ref = it->second.ref;
  }
  const auto bytes = ReadFile(PathOf(key, ".sum"));
  auto decoded = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
  if (!decoded.ok()) return Fail(key, life, decoded.status());
  auto sidecar = std::make_shared<const Sidecar>(*std::move(decoded));
  if (sidecar->block != ref) return Fail(key, life, Corrupted("its checksum file belongs to another block"));
  std::lock_guard lock(mutex);
  const auto it = blocks.find(key);
  if (it == blocks.end() || it->second.life != life) return NotFound(Describe(key) + " is no longer on this worker");
  it->second.sidecar = sidecar;
  return Opened{sidecar, life};
}

// Reads and checks whole chunks around the range, and returns the range.
Result<std::string> BlockStore::Impl::ReadChecked(BlockKey key, const Opened& opened, int fd, uint64_t offset,
                                                  uint64_t length) {
  const uint64_t size = opened.sidecar->block.length;
  if (offset >= size) return std::string();
  const uint64_t end = std::min(size, offset + std::min(length, size - offset));
  std::string bytes;
  MR_RETURN_IF_ERROR(ReadChunks(key, opened, fd, offset, end - offset, &bytes));
  const uint64_t begin = offset / kChecksumChunk * kChecksumChunk;
  if (begin == offset && bytes.size() == end - offset) return bytes;
  return bytes.substr(offset - begin, end - offset);
}

// Reads the chunks that hold these bytes, which the block has, and compares them with their checksums.
Status BlockStore::Impl::ReadChunks(BlockKey key, const Opened& opened, int fd, uint64_t offset, uint64_t length,
                                    std::string* out) {
  const Sidecar& sidecar = *opened.sidecar;
  const uint64_t first = offset / kChecksumChunk;
  const uint64_t begin = first * kChecksumChunk;
  const uint64_t stop =
      std::min(sidecar.block.length, (offset + length + kChecksumChunk - 1) / kChecksumChunk * kChecksumChunk);
  std::string& bytes = *out;
  bytes.resize(stop - begin);
  Ledger::Count(Ledger::verify_read, bytes.size());
  Ledger::Count(Ledger::verify_crc, bytes.size());
  const auto got = PreadUpTo(fd, bytes.data(), bytes.size(), begin);
  if (!got.ok()) return Fail(key, opened.life, got.status().With(PathOf(key, ".blk")));
  if (*got != bytes.size()) return Fail(key, opened.life, Corrupted("its file is shorter than what was written"));
  if (const Status status = CheckChunks(sidecar, first, bytes); !status.ok()) return Fail(key, opened.life, status);
  return Status::Ok();
}

Result<std::string> BlockStore::Read(BlockId id, uint32_t generation, uint64_t offset, uint64_t length) {
  const BlockKey key{id.value, generation};
  MR_ASSIGN_OR_RETURN(const auto opened, impl_->OpenSidecar(key));
  const auto fd = OpenFile(impl_->PathOf(key, ".blk"), O_RDONLY);
  if (!fd.ok()) return impl_->Fail(key, opened.life, fd.status());
  return impl_->ReadChecked(key, opened, fd->get(), offset, length);
}

Result<LocalBlock> BlockStore::OpenForRead(BlockId id, uint32_t generation, bool verify, uint64_t offset,
                                           uint64_t length) {
  const BlockKey key{id.value, generation};
  MR_ASSIGN_OR_RETURN(const auto opened, impl_->OpenSidecar(key));
  auto fd = OpenFile(impl_->PathOf(key, ".blk"), O_RDONLY);
  if (!fd.ok()) return impl_->Fail(key, opened.life, fd.status());
  const uint64_t size = opened.sidecar->block.length;
  const uint64_t end = length == 0 || length > size - std::min(size, offset) ? size : offset + length;
  LocalBlock block{*std::move(fd), size, {}};
  if (!verify && offset < end) {
    const std::vector<uint32_t>& crcs = opened.sidecar->crcs;
    const uint64_t n = std::min<uint64_t>(crcs.size(), (end + kChecksumChunk - 1) / kChecksumChunk);
    block.crcs.assign(crcs.begin(), crcs.begin() + static_cast<ptrdiff_t>(n));
    return block;
  }
  std::string bytes;
  for (uint64_t at = offset; at < end; at += kReadStep) {
    MR_RETURN_IF_ERROR(impl_->ReadChunks(key, opened, block.fd.get(), at, std::min(kReadStep, end - at), &bytes));
  }
  return block;
}

Status BlockStore::Verify(BlockId id, uint32_t generation) {
  auto opened = OpenForRead(id, generation);
  return opened.ok() ? Status::Ok() : opened.status();
}

std::vector<BlockRef> BlockStore::List() const {
  std::lock_guard lock(impl_->mutex);
  std::vector<BlockRef> out;
  for (const auto& [key, stored] : impl_->blocks) {
    if (stored.suspect.empty()) out.push_back(stored.ref);
  }
  return out;
}

std::vector<Suspect> BlockStore::Suspects() const {
  std::lock_guard lock(impl_->mutex);
  std::vector<Suspect> out;
  for (const auto& [key, stored] : impl_->blocks) {
    if (!stored.suspect.empty()) out.push_back({stored.ref, stored.suspect, false});
  }
  for (const BlockKey& key : impl_->aside) {
    out.push_back({{{key.id}, key.generation, 0, 0}, "a good replica has taken its place", true});
  }
  return out;
}

void BlockStore::MarkSuspect(BlockId id, uint32_t generation, const std::string& why) {
  const BlockKey key{id.value, generation};
  uint64_t life = 0;
  {
    std::lock_guard lock(impl_->mutex);
    const auto it = impl_->blocks.find(key);
    if (it == impl_->blocks.end()) return;
    life = it->second.life;
  }
  (void)impl_->Fail(key, life, Corrupted(why));
}

uint64_t BlockStore::used_bytes() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->used;
}

}  // namespace mr::dfs
