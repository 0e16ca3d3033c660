#include "worker/task/spill_file.h"

#include <errno.h>
#include <sys/mman.h>

#include "common/io/ledger.h"
#include "worker/task/closed_fd.h"

namespace mr::task {

SpillFile::~SpillFile() {
  for (const Mapping& m : mappings_) munmap(m.base, m.size);
}

Result<uint64_t> SpillFile::Append(std::string_view bytes) {
  if (!fd_.valid()) {
    Result<UniqueFd> file = OpenUnnamed(directory_);
    // Whatever the code: a failing scratch directory is the fault of this machine, not of the user.
    if (!file.ok()) return Unavailable("cannot make a spill run: " + file.status().message());
    fd_ = *std::move(file);
  }
  const uint64_t at = (size_ + 7) / 8 * 8;
  if (Status s = PwriteAll(fd_.get(), bytes, at); !s.ok()) {
    MR_RETURN_IF_ERROR(CheckOpen(fd_.get(), "a spill run"));
    return s.With("cannot write a spill run in " + directory_);
  }
  size_ = at + bytes.size();
  Ledger::Count(Ledger::spill, bytes.size());
  return at;
}

Result<const char*> SpillFile::At(uint64_t offset, uint64_t size) {
  MR_CHECK(offset + size <= size_, "a spill run ends before its file");
  for (const Mapping& m : mappings_) {
    if (offset + size <= m.size) return m.base + offset;
  }
  // Maps beyond the file's end, so that a growing file needs few mappings.
  const uint64_t length = (size_ * 2 + 4095) / 4096 * 4096;
  void* base = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd_.get(), 0);
  if (base == MAP_FAILED) {
    const int error = errno;
    MR_RETURN_IF_ERROR(CheckOpen(fd_.get(), "a spill run"));
    return ErrnoStatus(error, "cannot map a spill run in " + directory_);
  }
  mappings_.push_back({static_cast<char*>(base), length});
  return mappings_.back().base + offset;
}

}  // namespace mr::task
