// Rows that do not fit in memory, dealt out to files by their hash: what belongs together is in one of them. The files
// have no name and go with the process; they are in $TMPDIR, which is the worker's scratch directory for a task.
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

#include "paceline/error.h"

namespace mr::builtin {

class RowFiles {
 public:
  static constexpr size_t kFiles = 64;

  RowFiles() = default;
  RowFiles(const RowFiles&) = delete;
  ~RowFiles() {
    for (File& file : files_) {
      if (file.fd >= 0) close(file.fd);
    }
  }

  // By bits of the hash that a table of the file's rows does not look at first.
  static size_t FileOf(uint64_t hash) { return hash >> 40 & (kFiles - 1); }

  void Add(uint64_t hash, std::string_view key, std::string_view rest) {
    File& file = files_[FileOf(hash)];
    const uint32_t lengths[2] = {static_cast<uint32_t>(key.size()), static_cast<uint32_t>(rest.size())};
    file.buffer.append(reinterpret_cast<const char*>(lengths), sizeof lengths).append(key).append(rest);
    if (file.buffer.size() >= kWriteBytes) Write(&file);
  }

  // f(key, rest) for each row of file number i, in the order in which they were added.
  template <class F>
  void ForEach(size_t i, F&& f) {
    File& file = files_[i];
    if (file.fd >= 0 && !file.buffer.empty()) Write(&file);
    std::string piece;
    if (file.fd < 0) piece.swap(file.buffer);
    uint64_t at = 0;
    size_t used = 0;
    for (;;) {
      while (piece.size() - used >= 8) {
        uint32_t lengths[2];
        std::memcpy(lengths, piece.data() + used, sizeof lengths);
        const uint64_t all = 8 + uint64_t{lengths[0]} + lengths[1];
        if (piece.size() - used < all) break;
        f(std::string_view(piece).substr(used + 8, lengths[0]), std::string_view(piece).substr(used + 8 + lengths[0], lengths[1]));
        used += all;
      }
      piece.erase(0, used);
      used = 0;
      if (at == file.written) break;
      const size_t had = piece.size();
      piece.resize(had + kReadBytes);
      const ssize_t got = pread(file.fd, piece.data() + had, kReadBytes, static_cast<off_t>(at));
      if (got <= 0) Fail("reading back");
      piece.resize(had + static_cast<size_t>(got));
      at += static_cast<uint64_t>(got);
    }
  }

 private:
  static constexpr size_t kWriteBytes = 256u << 10, kReadBytes = 1u << 20;
  struct File {
    int fd = -1;
    uint64_t written = 0;
    std::string buffer;
  };

  [[noreturn]] static void Fail(const std::string& what) {
    throw JobError(what + " rows that do not fit in memory: " + std::strerror(errno) + " (in " + Directory() + ")");
  }
  static std::string Directory() {
    const char* directory = std::getenv("TMPDIR");
    return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
  }
  static void Write(File* file) {
    if (file->fd < 0) file->fd = open(Directory().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file->fd < 0) Fail("keeping");
    for (std::string_view left = file->buffer; !left.empty();) {
      const ssize_t n = pwrite(file->fd, left.data(), left.size(), static_cast<off_t>(file->written));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) Fail("keeping");
      left.remove_prefix(static_cast<size_t>(n));
      file->written += static_cast<uint64_t>(n);
    }
    file->buffer.clear();
  }

  std::array<File, kFiles> files_;
};

}  // namespace mr::builtin
