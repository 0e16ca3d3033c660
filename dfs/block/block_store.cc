#include "dfs/block/block_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <map>
#include <mutex>

#include "common/base/digest.h"
#include "common/io/crc32c.h"
#include "common/io/write_behind.h"
#include "dfs/block/sidecar.h"

namespace mr::dfs {
namespace {

// What a scrub or a verification reads at a time.
constexpr uint64_t kReadStep = 1 << 20;
static_assert(kReadStep % kChecksumChunk == 0);

struct Key {
  uint64_t id = 0;
  uint32_t generation = 0;
  auto operator<=>(const Key&) const = default;
};

std::string FileName(Key key) {
  char text[64];
  std::snprintf(text, sizeof text, "%016llx_%u", static_cast<unsigned long long>(key.id), key.generation);
  return text;
}

std::string Folder(Key key) {
  char text[8];
  std::snprintf(text, sizeof text, "%02x", static_cast<unsigned>(key.id & 0xff));
  return text;
}

// Of "<16 hex>_<n>.blk"; false where the name is something else.
bool ParseName(const std::string& name, Key* key) {
  unsigned long long id = 0;
  unsigned generation = 0;
  int used = 0;
  if (std::sscanf(name.c_str(), "%16llx_%u.blk%n", &id, &generation, &used) != 2) return false;
  *key = {id, generation};
  return static_cast<size_t>(used) == name.size();
}

std::string Describe(Key key) {
  return "block " + std::to_string(key.id) + " generation " + std::to_string(key.generation);
}

Status SyncFd(int fd, const std::string& path) {
  return ::fsync(fd) == 0 ? Status::Ok() : ErrnoStatus(errno, "cannot sync " + path);
}

Status Rename(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) == 0) return Status::Ok();
  return ErrnoStatus(errno, "cannot rename " + from + " to " + to);
}

struct Stored {
  BlockRef ref;
  std::string suspect;  // why; empty: good
  std::shared_ptr<const Sidecar> sidecar;  // read when first needed
};

}  // namespace

struct BlockStore::Impl {
  std::string root;  // DIR/blocks
  mutable std::mutex mutex;  // guards the four below; never held during I/O on a block
  std::map<Key, Stored> blocks;
  uint64_t used = 0;
  Key scrub_block;
  uint64_t scrub_offset = 0;
  std::atomic<uint64_t> next_temporary{1};

  std::string PathOf(Key key, const char* suffix) const {
    return root + "/" + Folder(key) + "/" + FileName(key) + suffix;
  }

  Status Load();
  void LoadOne(Key key);
  Result<std::shared_ptr<const Sidecar>> SidecarOf(Key key);
  Status Fail(Key key, const Status& why);
  Result<std::string> ReadChecked(Key key, const Sidecar& sidecar, int fd, uint64_t offset, uint64_t length);
  Status Publish(const BlockRef& ref, const std::string& data, const std::string& sums);
  Status MakeRoom(Key key);
};

class WriterImpl final : public BlockStore::Writer {
 public:
  WriterImpl(BlockStore::Impl& store, Key key, std::string path, UniqueFd fd)
      : store_(store), key_(key), path_(std::move(path)), fd_(std::move(fd)) {
    XXH3_64bits_reset(&digest_);
    sidecar_.chunk_bytes = kChecksumChunk;
  }
  ~WriterImpl() override {
    // After a Finish these names are gone already, and unlink of nothing does no harm.
    ::unlink(path_.c_str());
    ::unlink((path_ + ".sum").c_str());
  }

  Status Append(std::string_view bytes) override {
    MR_RETURN_IF_ERROR(WriteAll(fd_.get(), bytes).With("cannot write " + Describe(key_)));
    behind_.Wrote(fd_.get(), bytes.size());
    XXH3_64bits_update(&digest_, bytes.data(), bytes.size());
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

  Result<BlockRef> Finish(uint64_t length, uint64_t digest) override {
    const uint64_t have = XXH3_64bits_digest(&digest_);
    if (length != length_ || digest != have) {
      return Corrupted(Describe(key_) + ": " + std::to_string(length_) + " bytes arrived that are not the " +
                       std::to_string(length) + " bytes that were sent");
    }
    sidecar_.block = {{key_.id}, key_.generation, length, digest};
    MR_RETURN_IF_ERROR(SyncFd(fd_.get(), path_));
    const std::string sums = path_ + ".sum";
    MR_ASSIGN_OR_RETURN(const UniqueFd sum_fd, OpenFile(sums, O_WRONLY | O_CREAT | O_TRUNC));
    MR_RETURN_IF_ERROR(WriteAll(sum_fd.get(), EncodeSidecar(sidecar_)).With(sums));
    MR_RETURN_IF_ERROR(SyncFd(sum_fd.get(), sums));
    MR_RETURN_IF_ERROR(store_.Publish(sidecar_.block, path_, sums));
    return sidecar_.block;
  }

 private:
  BlockStore::Impl& store_;
  const Key key_;
  const std::string path_;
  UniqueFd fd_;
  WriteBehind behind_;
  XXH3_state_t digest_;
  Sidecar sidecar_;
  uint64_t length_ = 0;
};

BlockStore::BlockStore(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
BlockStore::~BlockStore() = default;

Result<std::unique_ptr<BlockStore>> BlockStore::Open(const std::string& directory) {
  auto impl = std::make_unique<Impl>();
  impl->root = directory + "/blocks";
  // Unfinished writes only: nothing in tmp was ever acknowledged.
  MR_RETURN_IF_ERROR(RemoveTree(impl->root + "/tmp"));
  for (const char* folder : {"/tmp", "/quarantine"}) MR_RETURN_IF_ERROR(MakeDirectories(impl->root + folder));
  MR_RETURN_IF_ERROR(SyncDirectory(impl->root));
  MR_RETURN_IF_ERROR(SyncDirectory(directory));
  MR_RETURN_IF_ERROR(impl->Load());
  return std::unique_ptr<BlockStore>(new BlockStore(std::move(impl)));
}

Status BlockStore::Impl::Load() {
  MR_ASSIGN_OR_RETURN(const auto folders, ListDirectory(root));
  for (const auto& folder : folders) {
    if (folder.size() != 2) continue;  // tmp, quarantine
    MR_ASSIGN_OR_RETURN(const auto names, ListDirectory(root + "/" + folder));
    for (const auto& name : names) {
      Key key;
      if (ParseName(name, &key)) LoadOne(key);
    }
  }
  return Status::Ok();
}

void BlockStore::Impl::LoadOne(Key key) {
  Stored stored;
  stored.ref = {{key.id}, key.generation, 0, 0};
  const auto size = FileSize(PathOf(key, ".blk"));
  const auto bytes = ReadFile(PathOf(key, ".sum"));
  const auto sidecar = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
  if (!sidecar.ok()) {
    stored.suspect = sidecar.status().message();
  } else if (sidecar->block.id.value != key.id || sidecar->block.generation != key.generation) {
    stored.suspect = "its checksum file is that of another block";
  } else {
    stored.ref = sidecar->block;
    if (!size.ok() || *size != sidecar->block.length) {
      stored.suspect = "its file does not have the " + std::to_string(sidecar->block.length) + " bytes written";
    }
  }
  // Found bad in an earlier life: stays bad, whatever a read says now.
  if (const auto bad = ReadFile(PathOf(key, ".bad")); bad.ok()) stored.suspect = *bad;
  used += stored.ref.length;
  blocks[key] = std::move(stored);
}

Result<std::unique_ptr<BlockStore::Writer>> BlockStore::Create(BlockId id, uint32_t generation) {
  if (!id.valid()) return InvalidArgument("a block without an id cannot be written");
  const Key key{id.value, generation};
  const std::string path = impl_->root + "/tmp/" + FileName(key) + "." +
                           std::to_string(impl_->next_temporary.fetch_add(1));
  MR_ASSIGN_OR_RETURN(UniqueFd fd, OpenFile(path, O_WRONLY | O_CREAT | O_EXCL));
  return std::unique_ptr<Writer>(std::make_unique<WriterImpl>(*impl_, key, path, std::move(fd)));
}

// Sidecar first, bytes last: a block counts once its .blk is there, and by then its .sum is too.
Status BlockStore::Impl::Publish(const BlockRef& ref, const std::string& data, const std::string& sums) {
  const Key key{ref.id.value, ref.generation};
  {
    std::lock_guard lock(mutex);
    const auto it = blocks.find(key);
    if (it != blocks.end() && it->second.suspect.empty()) {
      if (it->second.ref == ref) return Status::Ok();
      return Rejected(Describe(key) + " is here already with other content");
    }
  }
  const std::string folder = root + "/" + Folder(key);
  if (!PathExists(folder)) {
    MR_RETURN_IF_ERROR(MakeDirectories(folder));
    MR_RETURN_IF_ERROR(SyncDirectory(root));
  }
  MR_RETURN_IF_ERROR(MakeRoom(key));
  MR_RETURN_IF_ERROR(Rename(sums, PathOf(key, ".sum")));
  MR_RETURN_IF_ERROR(Rename(data, PathOf(key, ".blk")));
  MR_RETURN_IF_ERROR(SyncDirectory(folder));
  std::lock_guard lock(mutex);
  Stored& stored = blocks[key];
  used += ref.length - stored.ref.length;
  stored = {ref, "", nullptr};
  return Status::Ok();
}

// A fresh, verified copy replaces a suspect one; the bad bytes are kept aside for whoever looks.
Status BlockStore::Impl::MakeRoom(Key key) {
  const std::string aside = root + "/quarantine/" + FileName(key);
  for (const char* suffix : {".blk", ".sum"}) {
    const std::string path = PathOf(key, suffix);
    if (PathExists(path)) MR_RETURN_IF_ERROR(Rename(path, aside + suffix));
  }
  if (::unlink(PathOf(key, ".bad").c_str()) != 0 && errno != ENOENT) {
    return ErrnoStatus(errno, "cannot remove the mark of " + Describe(key));
  }
  return Status::Ok();
}

// Remembers that the replica is bad, now and in later lives, and gives the status for the reader.
Status BlockStore::Impl::Fail(Key key, const Status& why) {
  // Too many open files say nothing about the block.
  if (why.code() == Code::kOverloaded) return why.With(Describe(key));
  {
    std::lock_guard lock(mutex);
    const auto it = blocks.find(key);
    if (it == blocks.end()) return NotFound(Describe(key) + " is not here");
    if (it->second.suspect.empty()) it->second.suspect = why.message();
  }
  // Best effort: without the mark the next life finds the damage by itself.
  (void)WriteFileDurably(PathOf(key, ".bad"), why.message());
  return Corrupted(Describe(key) + ": " + why.message());
}

Result<std::shared_ptr<const Sidecar>> BlockStore::Impl::SidecarOf(Key key) {
  {
    std::lock_guard lock(mutex);
    const auto it = blocks.find(key);
    if (it == blocks.end()) return NotFound(Describe(key) + " is not here");
    if (!it->second.suspect.empty()) return Corrupted(Describe(key) + " is suspect: " + it->second.suspect);
    if (it->second.sidecar != nullptr) return it->second.sidecar;
  }
  const auto bytes = ReadFile(PathOf(key, ".sum"));
  auto decoded = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
  if (!decoded.ok()) return Fail(key, decoded.status());
  auto sidecar = std::make_shared<const Sidecar>(*std::move(decoded));
  std::lock_guard lock(mutex);
  const auto it = blocks.find(key);
  if (it == blocks.end()) return NotFound(Describe(key) + " is not here");
  if (sidecar->block != it->second.ref) {
    it->second.suspect = "its checksum file is that of another block";
    return Corrupted(Describe(key) + " is suspect: " + it->second.suspect);
  }
  it->second.sidecar = sidecar;
  return std::shared_ptr<const Sidecar>(sidecar);
}

// Reads whole chunks around the range, checks them, and gives the range.
Result<std::string> BlockStore::Impl::ReadChecked(Key key, const Sidecar& sidecar, int fd, uint64_t offset,
                                                  uint64_t length) {
  const uint64_t size = sidecar.block.length;
  if (offset >= size) return std::string();
  const uint64_t end = std::min(size, offset + std::min(length, size - offset));
  const uint64_t first = offset / kChecksumChunk;
  const uint64_t begin = first * kChecksumChunk;
  const uint64_t stop = std::min(size, (end + kChecksumChunk - 1) / kChecksumChunk * kChecksumChunk);
  std::string bytes(stop - begin, '\0');
  const auto got = PreadUpTo(fd, bytes.data(), bytes.size(), begin);
  if (!got.ok()) return Fail(key, got.status());
  if (*got != bytes.size()) return Fail(key, Corrupted("its file is shorter than what was written"));
  if (const Status status = CheckChunks(sidecar, first, bytes); !status.ok()) return Fail(key, status);
  if (begin == offset && stop == end) return bytes;
  return bytes.substr(offset - begin, end - offset);
}

Result<std::string> BlockStore::Read(BlockId id, uint32_t generation, uint64_t offset, uint64_t length) {
  const Key key{id.value, generation};
  MR_ASSIGN_OR_RETURN(const auto sidecar, impl_->SidecarOf(key));
  const auto fd = OpenFile(impl_->PathOf(key, ".blk"), O_RDONLY);
  if (!fd.ok()) return impl_->Fail(key, fd.status());
  return impl_->ReadChecked(key, *sidecar, fd->get(), offset, length);
}

Result<LocalBlock> BlockStore::OpenForRead(BlockId id, uint32_t generation, bool verify, uint64_t offset,
                                           uint64_t length) {
  const Key key{id.value, generation};
  MR_ASSIGN_OR_RETURN(const auto sidecar, impl_->SidecarOf(key));
  auto fd = OpenFile(impl_->PathOf(key, ".blk"), O_RDONLY);
  if (!fd.ok()) return impl_->Fail(key, fd.status());
  const uint64_t size = sidecar->block.length;
  const uint64_t end = length == 0 || length > size - std::min(size, offset) ? size : offset + length;
  for (uint64_t at = offset; verify && at < end; at += kReadStep) {
    auto checked = impl_->ReadChecked(key, *sidecar, fd->get(), at, std::min(kReadStep, end - at));
    if (!checked.ok()) return checked.status();
  }
  return LocalBlock{*std::move(fd), size};
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
    if (!stored.suspect.empty()) out.push_back({stored.ref, stored.suspect});
  }
  return out;
}

void BlockStore::MarkSuspect(BlockId id, uint32_t generation, const std::string& why) {
  (void)impl_->Fail({id.value, generation}, Corrupted(why));
}

Status BlockStore::Delete(BlockId id, uint32_t generation) {
  const Key key{id.value, generation};
  {
    std::lock_guard lock(impl_->mutex);
    const auto it = impl_->blocks.find(key);
    if (it == impl_->blocks.end()) {
      const auto other = impl_->blocks.lower_bound({id.value, 0});
      if (other == impl_->blocks.end() || other->first.id != id.value) return Status::Ok();
      return Rejected(Describe(key) + " is not here, generation " + std::to_string(other->first.generation) +
                      " is");
    }
    impl_->used -= it->second.ref.length;
    impl_->blocks.erase(it);
  }
  // Bytes first: what is left of a deletion that a crash cuts short is a checksum without a block,
  // which means nothing.
  for (const char* suffix : {".blk", ".sum", ".bad"}) {
    const std::string path = impl_->PathOf(key, suffix);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return ErrnoStatus(errno, "cannot delete " + path);
    ::unlink((impl_->root + "/quarantine/" + FileName(key) + suffix).c_str());
  }
  return SyncDirectory(impl_->root + "/" + Folder(key));
}

uint64_t BlockStore::used_bytes() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->used;
}

BlockStore::ScrubResult BlockStore::Scrub(uint64_t max_bytes) {
  ScrubResult result;
  while (!result.wrapped && (result.bytes == 0 || result.bytes < max_bytes)) {
    Stored stored;
    Key key;
    uint64_t offset = 0;
    {
      std::lock_guard lock(impl_->mutex);
      const auto it = impl_->blocks.lower_bound(impl_->scrub_block);
      if (it == impl_->blocks.end()) {
        impl_->scrub_block = {};
        impl_->scrub_offset = 0;
        result.wrapped = true;
        break;
      }
      key = it->first;
      stored = it->second;
      offset = key == impl_->scrub_block ? impl_->scrub_offset : 0;
    }
    const uint64_t want = std::max<uint64_t>(kChecksumChunk, std::min(kReadStep, max_bytes - result.bytes));
    uint64_t got = 0;
    bool good = stored.suspect.empty();
    if (good) {
      const auto bytes = Read(stored.ref.id, stored.ref.generation, offset, want);
      good = bytes.ok();
      got = good ? bytes->size() : 0;
      if (bytes.status().code() == Code::kCorrupted) {
        result.found.push_back({stored.ref, bytes.status().message()});
      }
    }
    result.bytes += std::max<uint64_t>(got, 1);
    std::lock_guard lock(impl_->mutex);
    const bool more = good && offset + got < stored.ref.length;
    impl_->scrub_block = more ? key : Key{key.id, key.generation + 1};
    impl_->scrub_offset = more ? offset + got : 0;
  }
  return result;
}

}  // namespace mr::dfs
