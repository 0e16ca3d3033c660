#include "dfs/block/direct_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <vector>

#include "common/io/files.h"
#include "common/io/ledger.h"

namespace mr::dfs {
namespace {

// Buffers for reuse, so that a new file does not touch new memory (guess: a few files are written at a time).
constexpr size_t kKept = 8;
std::mutex kept_mutex;
std::vector<char*>& Kept() {
  static auto* kept = new std::vector<char*>;
  return *kept;
}

char* TakeBuffer(uint64_t bytes, uint64_t align) {
  {
    std::lock_guard lock(kept_mutex);
    if (!Kept().empty()) {
      char* buffer = Kept().back();
      Kept().pop_back();
      return buffer;
    }
  }
  void* buffer = std::aligned_alloc(align, bytes);
  if (buffer == nullptr) throw std::bad_alloc();
  return static_cast<char*>(buffer);
}

void GiveBuffer(char* buffer) {
  {
    std::lock_guard lock(kept_mutex);
    if (Kept().size() < kKept) return Kept().push_back(buffer);
  }
  std::free(buffer);
}

}  // namespace

DirectFile::~DirectFile() {
  if (step_ != nullptr) GiveBuffer(step_);
}

Status DirectFile::Append(std::string_view bytes) {
  if (!may_) {
    Ledger::Count(Ledger::block_write, bytes.size());
    MR_RETURN_IF_ERROR(WriteAll(fd_, bytes));
    behind_.Wrote(fd_, bytes.size());
    return Status::Ok();
  }
  if (step_ == nullptr) step_ = TakeBuffer(kStep, kAlign);
  while (!bytes.empty()) {
    const uint64_t n = std::min<uint64_t>(bytes.size(), kStep - filled_);
    std::memcpy(step_ + filled_, bytes.data(), n);
    Ledger::Count(Ledger::block_copy, n);
    filled_ += n;
    bytes.remove_prefix(n);
    if (filled_ < kStep) continue;
    MR_RETURN_IF_ERROR(WriteStep());
    if (!may_) return Append(bytes);  // refused: the rest goes through the cache, behind what was written
  }
  return Status::Ok();
}

Status DirectFile::Finish() { return filled_ == 0 ? Status::Ok() : WriteStep(); }

// Writes what is filled: its aligned part past the cache, if it is a part of a large file.
Status DirectFile::WriteStep() {
  const uint64_t whole = filled_ / kAlign * kAlign;
  const bool large = written_ > 0 || filled_ == kStep;
  uint64_t done = 0;
  if (large && whole > 0 && Set(true)) {
    Status status = PwriteAll(fd_, {step_, whole}, written_);
    if (status.ok()) {
      done = whole;
    } else if (written_ > 0) {
      return status;
    } else {
      may_ = false;  // some file systems refuse only the write itself
    }
  }
  if (done < filled_) {
    Set(false);
    Ledger::Count(Ledger::block_write, filled_ - done);
    MR_RETURN_IF_ERROR(PwriteAll(fd_, {step_ + done, filled_ - done}, written_ + done));
  }
  written_ += filled_;
  filled_ = 0;
  if (may_) return Status::Ok();
  // The rest is appended through the cache, at the descriptor's own position.
  if (::lseek(fd_, static_cast<off_t>(written_), SEEK_SET) < 0) return ErrnoStatus(errno, "cannot seek");
  behind_.Wrote(fd_, written_);
  return Status::Ok();
}

bool DirectFile::Set(bool direct) {
  if (direct == direct_) return direct;
  const int flags = ::fcntl(fd_, F_GETFL);
  if (flags < 0 || ::fcntl(fd_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) != 0) {
    may_ = may_ && !direct;
    return direct_;
  }
  direct_ = direct;
  return direct_;
}

}  // namespace mr::dfs
