// Shared parts of the limits: programs of two threads that do the work of one job by hand, without an engine. They end
// the process on any error.
#pragma once

#include <fcntl.h>
#include <immintrin.h>
#include <linux/aio_abi.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace mr::bench::limit {

constexpr int kThreads = 2;

[[noreturn]] inline void Fail(const std::string& what) {
  std::fprintf(stderr, "limit: %s: %s\n", what.c_str(), std::strerror(errno));
  std::_Exit(1);
}

[[noreturn]] inline void Refuse(const char* why) {
  errno = EINVAL;
  Fail(why);
}

inline double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Runs f(0) and f(1) at the same time.
template <class F>
void Both(F&& f) {
  std::thread other([&] { f(1); });
  f(0);
  other.join();
}

// Returns zeroed memory on huge pages. It is never freed: the process ends with the job.
template <class T>
T* Memory(size_t n) {
  constexpr size_t kHuge = 2u << 20;
  const size_t bytes = (n * sizeof(T) + 2 * kHuge - 1) / kHuge * kHuge;
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) Fail("memory");
  const uintptr_t aligned = (reinterpret_cast<uintptr_t>(at) + kHuge - 1) / kHuge * kHuge;
  madvise(reinterpret_cast<void*>(aligned), bytes - kHuge, MADV_HUGEPAGE);
  return reinterpret_cast<T*>(aligned);
}

// A file that is mapped. A page of zeroes follows its end, so that reads by vectors may pass it.
struct Input {
  explicit Input(const char* path) {
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) Fail(path);
    size = static_cast<size_t>(st.st_size);
    const size_t pages = (size + 4095) / 4096 * 4096;
    void* room = mmap(nullptr, pages + 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) Fail(path);
    if (size > 0 && mmap(room, size, PROT_READ, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED) Fail(path);
    data = static_cast<const char*>(room);
    close(fd);
  }
  // Maps the pages of [from, to) at once, which is cheaper than a fault per 16 pages.
  void Populate(size_t from, size_t to) const {
    from = from / 4096 * 4096;
    if (from < to) madvise(const_cast<char*>(data) + from, to - from, MADV_POPULATE_READ);
  }
  const char* data;
  size_t size;
};

// A file that is read into memory on huge pages, for reads in no order: in a virtual machine a miss of the TLB costs
// more than a miss of the cache. Requires: Read() of every range before its use.
struct Loaded {
  explicit Loaded(const char* path) : fd(open(path, O_RDONLY | O_CLOEXEC)) {
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) Fail(path);
    size = static_cast<size_t>(st.st_size);
    data = Memory<char>(size + 4096);
  }
  void Read(size_t from, size_t to) const {
    while (from < to) {
      const ssize_t got = pread(fd, data + from, to - from, static_cast<off_t>(from));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) Fail("reading");
      from += static_cast<size_t>(got);
    }
  }
  int fd;
  char* data;
  size_t size;
};

// An output file. Whole pages are written past the page cache, which saves a copy, and the memory that the cache would
// take. A file system that has no such writes gets ordinary ones.
class Output {
 public:
  explicit Output(const std::string& path)
      : path_(path), cached_(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)) {
    if (cached_ < 0) Fail(path);
    direct_ = open(path.c_str(), O_WRONLY | O_DIRECT | O_CLOEXEC);
  }
  // Makes the file this long. Writes behind the end of a file cannot run at the same time.
  void Reserve(size_t bytes) {
    if (bytes > 0 && fallocate(cached_, 0, 0, static_cast<off_t>(bytes)) != 0 &&
        ftruncate(cached_, static_cast<off_t>(bytes)) != 0) {
      Fail(path_);
    }
  }
  // Sets the size and waits until the file is on the disk.
  void Finish(size_t bytes) {
    if (ftruncate(cached_, static_cast<off_t>(bytes)) != 0 || fdatasync(cached_) != 0) Fail(path_);
  }
  int cached() const { return cached_; }
  int direct() const { return direct_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  const int cached_;
  int direct_;  // -1: the file system has only cached writes
};

// Writes a range of an output in order, while its thread fills the next buffer.
// Thread: one.
class Stream {
 public:
  // Measured: buffers of 1 MiB are no faster, those of 4 and 8 MiB are slower.
  static constexpr size_t kBuffer = 2u << 20, kBuffers = 8, kSlack = 256u << 10;

  Stream() {
    room_ = Memory<char>(kBuffers * (kBuffer + kSlack));
    can_queue_ = syscall(SYS_io_setup, kBuffers, &context_) == 0;  // some containers refuse it
  }
  // Begins at this offset of the output.
  void Begin(Output* output, size_t offset) {
    output_ = output;
    base_ = offset / kPage * kPage;
    first_ = offset;
    TakeBuffer();
    at_ = buffer_ + (offset - base_);
  }
  // Returns room for kSlack bytes.
  char* Room() {
    if (at_ >= buffer_ + kBuffer) Flush();
    return at_;
  }
  // Ends the room's used part.
  void Took(char* at) { at_ = at; }
  void Append(const char* bytes, size_t n) {
    while (n > 0) {
      const size_t part = std::min(n, kSlack);
      char* to = Room();
      std::memcpy(to, bytes, part);
      Took(to + part);
      bytes += part;
      n -= part;
    }
  }
  size_t offset() const { return base_ + static_cast<size_t>(at_ - buffer_); }
  // Writes the rest, and waits for all writes.
  void End() {
    const size_t bytes = static_cast<size_t>(at_ - buffer_);
    Submit(bytes / kPage * kPage);
    const size_t whole = std::max(bytes / kPage * kPage, first_ > base_ ? first_ - base_ : 0);
    if (bytes > whole) Cached(buffer_ + whole, bytes - whole, base_ + whole);
    while (in_flight_ > 0) Reap();
  }

 private:
  static constexpr size_t kPage = 4096;

  void TakeBuffer() {
    while (in_flight_ == kBuffers - 1) Reap();
    number_ = static_cast<size_t>(std::find(busy_, busy_ + kBuffers, false) - busy_);
    buffer_ = room_ + number_ * (kBuffer + kSlack);
  }
  void Flush() {
    const size_t rest = static_cast<size_t>(at_ - buffer_) - kBuffer;
    const char* from = buffer_ + kBuffer;
    Submit(kBuffer);
    base_ += kBuffer;
    TakeBuffer();
    std::memcpy(buffer_, from, rest);
    at_ = buffer_ + rest;
  }
  // Writes the first bytes of the buffer. Requires: whole pages.
  void Submit(size_t bytes) {
    size_t from = 0;
    if (first_ > base_) {
      from = std::min((first_ - base_ + kPage - 1) / kPage * kPage, bytes);
      if (from > first_ - base_) Cached(buffer_ + (first_ - base_), from - (first_ - base_), first_);
    }
    if (from >= bytes) return;
    if (output_->direct() < 0 || !can_queue_) return Cached(buffer_ + from, bytes - from, base_ + from);
    iocb& io = requests_[number_];
    io = {};
    io.aio_data = number_;
    io.aio_lio_opcode = IOCB_CMD_PWRITE;
    io.aio_fildes = static_cast<uint32_t>(output_->direct());
    io.aio_buf = reinterpret_cast<uintptr_t>(buffer_ + from);
    io.aio_nbytes = bytes - from;
    io.aio_offset = static_cast<int64_t>(base_ + from);
    iocb* list = &io;
    if (syscall(SYS_io_submit, context_, 1, &list) != 1) Fail("writing " + output_->path());
    busy_[number_] = true;
    ++in_flight_;
  }
  void Reap() {
    io_event events[kBuffers];
    const long got = syscall(SYS_io_getevents, context_, 1, kBuffers, events, nullptr);
    if (got < 0 && errno != EINTR) Fail("writing " + output_->path());
    for (long i = 0; i < got; ++i) {
      if (events[i].res != static_cast<int64_t>(requests_[events[i].data].aio_nbytes)) {
        errno = events[i].res < 0 ? static_cast<int>(-events[i].res) : EIO;
        Fail("writing " + output_->path());
      }
      busy_[events[i].data] = false;
      --in_flight_;
    }
  }
  void Cached(const char* bytes, size_t n, size_t at) {
    while (n > 0) {
      const ssize_t put = pwrite(output_->cached(), bytes, n, static_cast<off_t>(at));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) Fail("writing " + output_->path());
      bytes += put;
      n -= static_cast<size_t>(put);
      at += static_cast<size_t>(put);
    }
  }

  Output* output_ = nullptr;
  char* room_;
  aio_context_t context_ = 0;
  bool can_queue_;
  iocb requests_[kBuffers];
  bool busy_[kBuffers] = {};
  size_t number_ = 0, in_flight_ = 0;
  char *buffer_ = nullptr, *at_ = nullptr;
  size_t base_ = 0;   // file offset of the buffer's first byte
  size_t first_ = 0;  // where the range begins
};

// ---- Text, by vectors --------------------------------------------------------------------------------

// A key of up to 16 bytes is compared as one vector. Functions read up to 64 bytes past their texts.
inline uint64_t Load64(const char* p) {
  uint64_t v;
  std::memcpy(&v, p, 8);
  return v;
}
inline uint64_t Mix(uint64_t a, uint64_t b) {
  const unsigned __int128 p = static_cast<unsigned __int128>(a) * b;
  return static_cast<uint64_t>(p) ^ static_cast<uint64_t>(p >> 64);
}
// Odd numbers without a pattern.
constexpr uint64_t kA = 0x2d358dccaa6c78a5, kB = 0x8bb84b93962eacc9;
alignas(16) constexpr uint8_t kMaskBytes[32] = {255, 255, 255, 255, 255, 255, 255, 255,
                                                255, 255, 255, 255, 255, 255, 255, 255};
constexpr size_t kInline = 16;
// The first n bytes, n <= 16, padded with this byte. Reads 16 bytes.
inline __m128i Padded(const char* at, size_t n, char pad) {
  const __m128i text = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i mask = _mm_loadu_si128(reinterpret_cast<const __m128i*>(kMaskBytes + kInline - n));
  return _mm_blendv_epi8(_mm_set1_epi8(pad), text, mask);
}
inline uint64_t Hash(__m128i key) {
  return Mix(static_cast<uint64_t>(_mm_cvtsi128_si64(key)) ^ kA, static_cast<uint64_t>(_mm_extract_epi64(key, 1)) ^ kB);
}
inline uint64_t HashLong(const char* at, size_t n) {  // n > 16
  uint64_t h = n * kA;
  for (size_t i = 0; i + 16 < n; i += 16) h = Mix(Load64(at + i) ^ kA ^ h, Load64(at + i + 8) ^ kB);
  return Mix(Load64(at + n - 16) ^ kA ^ h, Load64(at + n - 8) ^ kB);
}
inline uint64_t HashOf(const char* at, size_t n) {
  return __builtin_expect(n <= kInline, 1) ? Hash(Padded(at, n, 0)) : HashLong(at, n);
}
inline bool Equal(const char* a, const char* b, size_t n) {
  if (__builtin_expect(n > kInline, 0)) return std::memcmp(a, b, n) == 0;
  const auto m = static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(
      _mm_loadu_si128(reinterpret_cast<const __m128i*>(a)), _mm_loadu_si128(reinterpret_cast<const __m128i*>(b)))));
  return (~m & ((1u << n) - 1)) == 0;
}
// Returns the places of a byte among 64.
template <char kByte>
inline uint64_t Where(const char* p) {
  const auto half = [](const char* q) {
    return static_cast<uint32_t>(_mm256_movemask_epi8(
        _mm256_cmpeq_epi8(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(q)), _mm256_set1_epi8(kByte))));
  };
  return half(p) | static_cast<uint64_t>(half(p + 32)) << 32;
}
inline size_t CountLines(const char* from, const char* to) {
  size_t n = 0;
  for (; from < to; from += 64) {
    uint64_t m = Where<'\n'>(from);
    if (to - from < 64) m &= ~uint64_t{0} >> (64 - (to - from));
    n += static_cast<size_t>(__builtin_popcountll(m));
  }
  return n;
}
// Appends the places of the mask's bits, plus `base`. Writes at least 8.
inline uint32_t* Positions(uint64_t mask, uint32_t base, uint32_t* to) {
  const int n = __builtin_popcountll(mask);
  for (int k = 0; k < 8; ++k) {
    to[k] = base + static_cast<uint32_t>(_tzcnt_u64(mask));
    mask = _blsr_u64(mask);
  }
  for (int k = 8; k < n; ++k) {
    to[k] = base + static_cast<uint32_t>(_tzcnt_u64(mask));
    mask = _blsr_u64(mask);
  }
  return to + n;
}
constexpr size_t kTextBlock = 4096;  // measured: 2048 is no faster
struct Ends {
  uint32_t at[kTextBlock + 80];
};
// Returns where the first line of [from, to) begins, or `to`.
template <class Text>
size_t LineFrom(const Text& in, size_t from, size_t to) {
  if (from == 0 || in.data[from - 1] == '\n') return from;
  const void* nl = std::memchr(in.data + from, '\n', to - from);
  return nl == nullptr ? to : static_cast<size_t>(static_cast<const char*>(nl) - in.data) + 1;
}

// Calls f(begin, ends, n) for batches of the lines that begin in [from, to). ends: offsets of their ends from `begin`.
template <class Text, class F>
void Lines(const Text& in, size_t from, size_t to, Ends* ends, F&& f) {
  const char* end_of_file = in.data + in.size;
  from = LineFrom(in, from, to);
  const char* begin = in.data + from;
  while (begin < in.data + to) {
    uint32_t* e = ends->at;
    const char* limit = std::min<const char*>(begin + kTextBlock, in.data + to);
    for (const char* p = begin; p < limit; p += 64) {
      uint64_t m = Where<'\n'>(p);
      if (limit - p < 64) m &= ~uint64_t{0} >> (64 - (limit - p));
      if (Where<'"'>(p) != 0) Refuse("a quoted field");
      e = Positions(m, static_cast<uint32_t>(p - begin), e);
    }
    // The last line of the range, or one longer than a block, ends later.
    if (e == ends->at || limit == in.data + to) {
      const char* last = e == ends->at ? begin : begin + e[-1] + 1;
      if (last < limit) {
        const void* nl = std::memchr(limit, '\n', static_cast<size_t>(end_of_file - limit));
        *e++ = static_cast<uint32_t>((nl == nullptr ? end_of_file : static_cast<const char*>(nl)) - begin);
      }
    }
    f(begin, ends->at, static_cast<size_t>(e - ends->at));
    begin += e[-1] + 1;
  }
}

// Calls f(begin, ends, n) for batches of rows that begin in [from, to). ends: offsets of the ends of their fields from
// `begin`, kFields per row.
template <size_t kFields, class F>
void Fields(const Input& in, size_t from, size_t to, Ends* ends, F&& f) {
  const char* end_of_file = in.data + in.size;
  from = LineFrom(in, from, to);
  if (from >= to) return;
  const char *begin = in.data + from, *stop = in.data + to;
  // The last row may end behind the range.
  if (stop[-1] != '\n') {
    const void* nl = std::memchr(stop, '\n', static_cast<size_t>(end_of_file - stop));
    stop = nl == nullptr ? end_of_file : static_cast<const char*>(nl) + 1;
  }
  while (begin < stop) {
    uint32_t* e = ends->at;
    const char* limit = std::min(begin + kTextBlock, stop);
    for (const char* p = begin; p < limit; p += 64) {
      uint64_t m = Where<'\n'>(p) | Where<','>(p), quotes = Where<'"'>(p);
      if (limit - p < 64) {
        m &= ~uint64_t{0} >> (64 - (limit - p));
        quotes &= ~uint64_t{0} >> (64 - (limit - p));
      }
      if (quotes != 0) Refuse("a quoted field");
      e = Positions(m, static_cast<uint32_t>(p - begin), e);
    }
    if (limit == end_of_file && limit[-1] != '\n') *e++ = static_cast<uint32_t>(limit - begin);
    const size_t rows = static_cast<size_t>(e - ends->at) / kFields;
    if (rows == 0) Refuse("a row is too long, or has too few fields");
    f(begin, ends->at, rows);
    for (size_t i = kFields - 1; i < rows * kFields; i += kFields)
      if (begin[ends->at[i]] != '\n' && begin + ends->at[i] != end_of_file)
        Refuse("a row has another number of fields");
    begin += ends->at[rows * kFields - 1] + 1;
  }
}
}  // namespace mr::bench::limit
