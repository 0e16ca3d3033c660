// The scrubber, its position across restarts, and the health of the disk.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <cstdio>

#include "common/io/bulk_digest.h"
#include "dfs/block/block_store_impl.h"

namespace mr::dfs {
namespace {

// Scrubbed bytes between two writes of the cursor: 8 s at the worker's slowest rate. A kill loses that much progress.
constexpr uint64_t kCursorEvery = 64 << 20;

// Checks all bytes of a replica against its sidecar and its digest.
Status CheckAll(const std::string& data, const Sidecar& sidecar) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(data, O_RDONLY));
  BulkHasher64 digest;
  const uint64_t size = sidecar.block.length;
  for (uint64_t at = 0; at < size; at += kReadStep) {
    std::string bytes(std::min(kReadStep, size - at), '\0');
    MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(fd.get(), bytes.data(), bytes.size(), at));
    if (got != bytes.size()) return Corrupted("its file is shorter than what was written");
    MR_RETURN_IF_ERROR(CheckChunks(sidecar, at / kChecksumChunk, bytes));
    digest.Update(bytes);
  }
  if (digest.Finish() != sidecar.block.digest) return Corrupted("its bytes differ from what was written");
  return Status::Ok();
}

}  // namespace

void BlockStore::Impl::LoadCursor() {
  const auto text = ReadFile(root + "/scrub_cursor");
  if (!text.ok()) return;  // none, or unreadable: start from the beginning
  BlockKey key;
  uint64_t offset = 0;
  if (std::sscanf(text->c_str(), "%" SCNx64 " %" SCNu32 " %" SCNu64, &key.id, &key.generation, &offset) != 3) return;
  scrub_block = key;
  scrub_offset = offset / kChecksumChunk * kChecksumChunk;
}

void BlockStore::Impl::SaveCursor() {
  char text[80];
  {
    std::lock_guard lock(mutex);
    if (scrubbed_since_saved == 0) return;
    scrubbed_since_saved = 0;
    std::snprintf(text, sizeof text, "%" PRIx64 " %" PRIu32 " %" PRIu64 "\n", scrub_block.id, scrub_block.generation,
                  scrub_offset);
  }
  // Best effort: without it some blocks are read again earlier than due.
  (void)WriteFileDurably(root + "/scrub_cursor", text);
}

// Checks the sidecar on disk. Readers use the sidecar in memory, so damage of the file would show only at the next
// start.
Status BlockStore::Impl::CheckSidecarOnDisk(BlockKey key) {
  MR_ASSIGN_OR_RETURN(const Opened opened, OpenSidecar(key));
  const auto bytes = ReadFile(PathOf(key, ".sum"));
  const auto decoded = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
  if (!decoded.ok()) return Fail(key, opened.life, decoded.status());
  if (decoded->block == opened.sidecar->block && decoded->crcs == opened.sidecar->crcs) return Status::Ok();
  return Fail(key, opened.life, Corrupted("its checksum file differs from what was written"));
}

// Reports a suspect again, since the master may not know of it. A suspect by an I/O error is read again completely, and
// restored if all of it is intact. Damaged bytes are never restored.
void BlockStore::Impl::Recheck(BlockKey key, const Stored& stored, ScrubResult* result) {
  if (stored.suspect.starts_with(kIoError)) {
    const Busy alone(*this, key);
    const auto bytes = ReadFile(PathOf(key, ".sum"));
    const auto sidecar = bytes.ok() ? DecodeSidecar(*bytes) : Result<Sidecar>(bytes.status());
    result->bytes += stored.ref.length;
    const bool whole = sidecar.ok() && sidecar->block == stored.ref && CheckAll(PathOf(key, ".blk"), *sidecar).ok();
    // If the mark could not be written, there is none to remove.
    const bool unmarked = whole && (::unlink(PathOf(key, ".bad").c_str()) == 0 || errno == ENOENT);
    if (unmarked && SyncDirectory(Folder(key)).ok()) {
      {
        std::lock_guard lock(mutex);
        const auto it = blocks.find(key);
        if (it == blocks.end() || it->second.life != stored.life) return;
        it->second.suspect.clear();
        it->second.life = next_life++;
      }
      if (observers.on_restored) observers.on_restored(stored.ref);
      return;
    }
  }
  result->found.push_back({stored.ref, stored.suspect, false});
  Report(result->found.back());
}

BlockStore::ScrubResult BlockStore::Scrub(uint64_t max_bytes) {
  ScrubResult result;
  Impl& s = *impl_;
  while (!result.wrapped && (result.bytes == 0 || result.bytes < max_bytes)) {
    Impl::Stored stored;
    BlockKey key;
    uint64_t offset = 0;
    {
      std::lock_guard lock(s.mutex);
      const auto it = s.blocks.lower_bound(s.scrub_block);
      if (it == s.blocks.end()) {
        s.scrub_block = {};
        s.scrub_offset = 0;
        result.wrapped = true;
        break;
      }
      key = it->first;
      stored = it->second;
      offset = key == s.scrub_block ? s.scrub_offset : 0;
    }
    const uint64_t before = result.bytes;
    bool more = false;
    if (!stored.suspect.empty()) {
      s.Recheck(key, stored, &result);
    } else {
      const uint64_t want = std::max<uint64_t>(kChecksumChunk, std::min(kReadStep, max_bytes - result.bytes));
      const Status sums = offset == 0 ? s.CheckSidecarOnDisk(key) : Status::Ok();
      const auto bytes =
          sums.ok() ? Read(stored.ref.id, stored.ref.generation, offset, want) : Result<std::string>(sums);
      if (bytes.status().code() == Code::kCorrupted) {
        result.found.push_back({stored.ref, bytes.status().message(), false});
      }
      if (bytes.ok()) {
        result.bytes += bytes->size();
        offset += bytes->size();
        more = offset < stored.ref.length;
      }
    }
    result.bytes = std::max(result.bytes, before + 1);
    bool save = false;
    {
      std::lock_guard lock(s.mutex);
      s.scrub_block = more ? key : BlockKey{key.id, key.generation + 1};
      s.scrub_offset = more ? offset : 0;
      s.scrubbed_since_saved += result.bytes - before;
      save = s.scrubbed_since_saved >= kCursorEvery;
    }
    if (save) s.SaveCursor();
  }
  return result;
}

void BlockStore::Impl::NoteDisk(const Status& why) {
  // Ignores errors that are not the disk's fault: it is full, or the caller made a mistake.
  if (why.code() != Code::kInternal && why.code() != Code::kNotFound && why.code() != Code::kNotAllowed) return;
  const std::string path = root + "/tmp/probe." + std::to_string(next_temporary.fetch_add(1));
  Status status;
  {
    const auto fd = OpenFile(path, O_WRONLY | O_CREAT | O_EXCL);
    status = fd.status();
    if (fd.ok()) status = WriteAll(fd->get(), "probe").With(path);
    if (status.ok() && ::fsync(fd->get()) != 0) status = ErrnoStatus(errno, "cannot sync " + path);
  }
  ::unlink(path.c_str());
  {
    std::lock_guard lock(mutex);
    probe_error = status.ok() || status.code() == Code::kOverloaded ? "" : status.message();
  }
  SayDisk();
}

void BlockStore::Impl::SayDisk() {
  std::string said;
  {
    std::lock_guard lock(mutex);
    said = probe_error;
    if (said.empty() && unreadable >= kUnreadableBlocks) {
      said = std::to_string(unreadable) + " blocks in " + root + " cannot be read: " + read_error;
    }
    if (said == said_disk || (!said.empty() && !said_disk.empty())) return;
    said_disk = said;
  }
  if (observers.on_disk) observers.on_disk(said);
}

void BlockStore::ProbeDisk() { impl_->NoteDisk(Internal("a probe")); }

std::string BlockStore::DiskFailure() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->said_disk;
}

}  // namespace mr::dfs
