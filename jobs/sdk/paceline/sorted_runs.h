// Sorted runs of records in one file without a name in $TMPDIR, the worker's scratch directory of the task. A merge
// gives back all records by key, and equal keys by run. The file ends with the process. Not for concurrent use.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "paceline/error.h"
#include "paceline/hash.h"

namespace mr::sdk {

class SortedRuns {
  struct Lengths {
    uint32_t key, value;
  };
  struct Range {
    uint64_t from, to;
  };

 public:
  SortedRuns() = default;
  SortedRuns(const SortedRuns&) = delete;
  ~SortedRuns() {
    if (fd_ >= 0) close(fd_);
  }

  bool empty() const { return runs_.empty(); }

  // Adds a record to the current run. Requires: keys of a run ascend. Errors: RetryableError if the disk is full.
  void Add(std::string_view key, std::string_view value) {
    const Lengths lengths{static_cast<uint32_t>(key.size()), static_cast<uint32_t>(value.size())};
    buffer_.append(reinterpret_cast<const char*>(&lengths), sizeof lengths).append(key).append(value);
    if (buffer_.size() >= kBuffer) Write();
  }
  void EndRun() {
    Write();
    runs_.push_back({begin_, written_});
    begin_ = written_;
  }

  // Reads one run, in pieces of `buffer` bytes or of one record.
  class Cursor {
   public:
    Cursor(const SortedRuns& runs, size_t run, size_t buffer)
        : fd_(runs.fd_), at_(runs.runs_[run].from), to_(runs.runs_[run].to), buffer_(buffer) {
      Next();
    }
    // key and value are valid until the next call.
    void Next() {
      used_ += size_;
      size_ = 0;
      Need(sizeof(Lengths));
      if (piece_.size() == used_) {
        end_ = true;
        return;
      }
      Lengths lengths;
      std::memcpy(&lengths, piece_.data() + used_, sizeof lengths);
      size_ = sizeof lengths + size_t{lengths.key} + lengths.value;
      Need(size_);
      key_ = std::string_view(piece_).substr(used_ + sizeof lengths, lengths.key);
      value_ = std::string_view(piece_).substr(used_ + sizeof lengths + lengths.key, lengths.value);
      prefix_ = KeyPrefix(key_);
    }
    bool end() const { return end_; }
    uint64_t prefix() const { return prefix_; }
    std::string_view key() const { return key_; }
    std::string_view value() const { return value_; }

   private:
    // Reads until `bytes` are there after used_, or until the end of the run.
    void Need(size_t bytes) {
      if (piece_.size() - used_ >= bytes || at_ == to_) return;
      piece_.erase(0, used_);
      used_ = 0;
      while (piece_.size() < bytes && at_ < to_) {
        const size_t had = piece_.size();
        const size_t want = std::min<uint64_t>(std::max(buffer_, bytes - had), to_ - at_);
        piece_.resize(had + want);
        const ssize_t got = pread(fd_, piece_.data() + had, want, static_cast<off_t>(at_));
        if (got < 0 && errno != EINTR) Fail("reading back");
        if (got == 0) {
          errno = EIO;  // it was longer when it was written
          Fail("reading back");
        }
        const size_t n = got < 0 ? 0 : static_cast<size_t>(got);
        piece_.resize(had + n);
        at_ += n;
      }
    }
    int fd_;
    uint64_t at_, to_;
    size_t buffer_;
    std::string piece_;
    size_t used_ = 0, size_ = 0;  // of piece_: bytes before the record, bytes of the record
    std::string_view key_, value_;
    uint64_t prefix_ = 0;
    bool end_ = false;
  };

  // Calls f(key, value) for all records, by key, and equal keys by run. memory: bytes of all read buffers, about.
  template <class F>
  void Merge(size_t memory, F&& f) {
    const size_t buffer = std::clamp(memory / runs_.size(), kLeastBuffer, kBuffer);
    std::vector<Cursor> cursors;
    cursors.reserve(runs_.size());  // cursors stay where they are: their views point into them
    std::vector<uint32_t> heap;
    for (uint32_t r = 0; r < runs_.size(); ++r) {
      cursors.emplace_back(*this, r, buffer);
      if (!cursors.back().end()) heap.push_back(r);
    }
    const auto after = [&cursors](uint32_t a, uint32_t b) {
      const Cursor &x = cursors[a], &y = cursors[b];
      if (x.prefix() != y.prefix()) return x.prefix() > y.prefix();
      const int c = x.key().compare(y.key());
      return c != 0 ? c > 0 : a > b;
    };
    std::make_heap(heap.begin(), heap.end(), after);
    while (!heap.empty()) {
      std::pop_heap(heap.begin(), heap.end(), after);
      Cursor& first = cursors[heap.back()];
      f(first.key(), first.value());
      first.Next();
      if (first.end()) {
        heap.pop_back();
      } else {
        std::push_heap(heap.begin(), heap.end(), after);
      }
    }
  }

 private:
  static constexpr size_t kBuffer = 1u << 20, kLeastBuffer = 16u << 10;  // guesses

  [[noreturn]] static void Fail(const std::string& what) {
    throw RetryableError(what + " groups that do not fit in memory: " + std::strerror(errno) + " (in " + Directory() +
                         ")");
  }
  static std::string Directory() {
    const char* directory = std::getenv("TMPDIR");
    return directory == nullptr || *directory == '\0' ? "/tmp" : directory;
  }
  void Write() {
    if (fd_ < 0) fd_ = open(Directory().c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd_ < 0) Fail("keeping");
    for (std::string_view left = buffer_; !left.empty();) {
      const ssize_t n = pwrite(fd_, left.data(), left.size(), static_cast<off_t>(written_));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) Fail("keeping");
      left.remove_prefix(static_cast<size_t>(n));
      written_ += static_cast<uint64_t>(n);
    }
    buffer_.clear();
  }

  int fd_ = -1;
  std::string buffer_;
  uint64_t begin_ = 0, written_ = 0;  // bytes of the file: before the current run, in all
  std::vector<Range> runs_;
};

}  // namespace mr::sdk
