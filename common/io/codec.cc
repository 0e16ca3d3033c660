#include "common/io/codec.h"

#include <zstd.h>

#include <memory>

namespace mr {
namespace {

struct FreeCCtx {
  void operator()(ZSTD_CCtx* c) const { ZSTD_freeCCtx(c); }
};

// Returns this thread's context, which is reused: a new one costs about 1 MiB.
ZSTD_CCtx* ThreadContext() {
  thread_local std::unique_ptr<ZSTD_CCtx, FreeCCtx> context(ZSTD_createCCtx());
  return context.get();
}

}  // namespace

Codec Compress(std::string_view raw, int level, std::string* out) {
  out->clear();
  if (level != 0 && !raw.empty()) {
    out->resize(ZSTD_compressBound(raw.size()));
    const size_t n = ZSTD_compressCCtx(ThreadContext(), out->data(), out->size(), raw.data(), raw.size(), level);
    if (!ZSTD_isError(n) && n < raw.size()) {
      out->resize(n);
      return Codec::kZstd;
    }
  }
  out->assign(raw);
  return Codec::kStored;
}

Status Decompress(Codec codec, std::string_view stored, uint64_t raw_bytes, uint64_t limit, std::string* out) {
  if (raw_bytes > limit) {
    return Corrupted("a chunk claims " + std::to_string(raw_bytes) + " bytes, above the limit of " +
                     std::to_string(limit));
  }
  switch (codec) {
    case Codec::kStored:
      if (stored.size() != raw_bytes) return Corrupted("a stored chunk has another length than it claims");
      out->assign(stored);
      return Status::Ok();
    case Codec::kZstd: {
      out->resize(raw_bytes);
      const size_t n = ZSTD_decompress(out->data(), out->size(), stored.data(), stored.size());
      if (ZSTD_isError(n)) return Corrupted(std::string("zstd: ") + ZSTD_getErrorName(n));
      if (n != raw_bytes) return Corrupted("a chunk decompresses to another length than it claims");
      return Status::Ok();
    }
  }
  return Corrupted("a chunk has an unknown codec");
}

int LevelForRatio(uint64_t raw_bytes, uint64_t stored_bytes) {
  // The thresholds are guesses: below 1.1, compression costs more than the saved bytes on loopback and
  // fast networks; below 1.5, the fast level saves most of them.
  if (stored_bytes == 0) return 1;
  const double ratio = static_cast<double>(raw_bytes) / static_cast<double>(stored_bytes);
  if (ratio < 1.1) return 0;
  return ratio < 1.5 ? -5 : 1;
}

}  // namespace mr
