// Rows divided by hash into kFiles parts, so that equal keys are in one part. They are kept in memory and, when that is
// full, in files without a name in $TMPDIR, the worker's scratch directory of the task. The files end with the process.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

#include "common/abi/growing_bytes.h"
#include "paceline/error.h"

namespace mr::builtin {

class RowFiles {
  struct File {
    int fd = -1;  // -1: all rows are in the buffer
    uint64_t written = 0;
    size_t rows = 0;
    GrowingBytes buffer;
  };
  struct Lengths {
    uint32_t key, rest;
  };

 public:
  static constexpr size_t kFiles = 64;

  // memory: bytes of rows in memory; their buffers take up to twice that.
  explicit RowFiles(size_t memory) : memory_(memory) {}
  RowFiles(const RowFiles&) = delete;
  ~RowFiles() {
    for (File& file : files_) {
      if (file.fd >= 0) close(file.fd);
    }
  }

  // Uses bits of the hash that a table of the file's rows does not look at first.
  static size_t FileOf(uint64_t hash) { return hash >> 40 & (kFiles - 1); }

  void Add(uint64_t hash, std::string_view key, std::string_view rest) {
    File& file = files_[FileOf(hash)];
    const Lengths lengths{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(rest.size())};
    char* to = file.buffer.Extend(sizeof lengths + key.size() + rest.size());
    std::memcpy(to, &lengths, sizeof lengths);
    CopyShort(to + sizeof lengths, key.data(), key.size());
    CopyShort(to + sizeof lengths + key.size(), rest.data(), rest.size());
    ++file.rows;
    used_ += sizeof lengths + key.size() + rest.size();
    if (used_ > memory_) WriteAll();
  }

  bool written() const { return written_; }
  size_t rows(size_t i) const { return files_[i].rows; }

  // Reads the rows of one file in the order of their addition. Requires: no Add while one is read.
  class Reader {
   public:
    Reader(RowFiles* files, size_t i) : file_(&files->files_[i]) {
      if (file_->fd >= 0 && !file_->buffer.empty()) Write(file_);
    }
    // Reads the next row. Returns false at the end. The rest follows the key in memory. Both are valid until the next
    // call, or as long as the RowFiles if not written().
    bool Next(std::string_view* key, std::string_view* rest) {
      for (;;) {
        const std::string_view from = file_->fd < 0 ? file_->buffer.view() : piece_;
        const size_t have = from.size() - used_;
        if (have >= sizeof(Lengths)) {
          Lengths lengths;
          std::memcpy(&lengths, from.data() + used_, sizeof lengths);
          const uint64_t all = sizeof lengths + uint64_t{lengths.key} + lengths.rest;
          if (have >= all) {
            *key = std::string_view(from.data() + used_ + sizeof lengths, lengths.key);
            *rest = std::string_view(key->data() + lengths.key, lengths.rest);
            used_ += all;
            return true;
          }
        }
        if (file_->fd < 0 || at_ == file_->written) return false;
        Fill();
      }
    }

   private:
    void Fill() {
      piece_.erase(0, used_);
      used_ = 0;
      const size_t had = piece_.size();
      piece_.resize(had + kReadBytes);
      ssize_t got;
      do got = pread(file_->fd, piece_.data() + had, kReadBytes, static_cast<off_t>(at_));
      while (got < 0 && errno == EINTR);
      if (got == 0) errno = EIO;  // it was longer when it was written
      if (got <= 0) Fail("reading back");
      piece_.resize(had + static_cast<size_t>(got));
      at_ += static_cast<uint64_t>(got);
    }

    File* file_;
    std::string piece_;
    size_t used_ = 0;
    uint64_t at_ = 0;
  };

 private:
  static constexpr size_t kReadBytes = 1u << 20;

  [[noreturn]] static void Fail(const std::string& what) {
    throw JobError(what + " rows that do not fit in memory: " + std::strerror(errno) + " (in " + Directory() + ")");
  }
  static std::string Directory() {
    const char* directory = std::getenv("TMPDIR");
    return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
  }
  void WriteAll() {
    for (File& file : files_) {
      if (!file.buffer.empty()) Write(&file);
    }
    used_ = 0;
    written_ = true;
  }
  static void Write(File* file) {
    if (file->fd < 0) file->fd = open(Directory().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file->fd < 0) Fail("keeping");
    for (std::string_view left = file->buffer.view(); !left.empty();) {
      const ssize_t n = pwrite(file->fd, left.data(), left.size(), static_cast<off_t>(file->written));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) Fail("keeping");
      left.remove_prefix(static_cast<size_t>(n));
      file->written += static_cast<uint64_t>(n);
    }
    file->buffer = GrowingBytes();  // frees the memory for other files
  }

  const size_t memory_;
  size_t used_ = 0;  // bytes of all buffers
  bool written_ = false;
  std::array<File, kFiles> files_;
};

}  // namespace mr::builtin
