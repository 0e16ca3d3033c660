#include "worker/task/compress.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>

namespace mr::task {
namespace {

constexpr size_t kOutBytes = 256u << 10;

class GzipCompressor : public Compressor {
 public:
  GzipCompressor() {
    ready_ = deflateInit2(&stream_, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK;
  }
  ~GzipCompressor() override { deflateEnd(&stream_); }
  Status Add(std::string_view raw, std::string* out) override { return Run(raw, Z_NO_FLUSH, out); }
  Status EndFrame(std::string* out) override {
    MR_RETURN_IF_ERROR(Run({}, Z_FINISH, out));
    deflateReset(&stream_);
    return {};
  }
  Status Finish(std::string* out) override { return Run({}, Z_FINISH, out); }

 private:
  Status Run(std::string_view raw, int flush, std::string* out) {
    if (!ready_) return Unavailable("no memory to compress the output with");
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(raw.data()));
    stream_.avail_in = static_cast<uInt>(raw.size());
    do {
      const size_t had = out->size();
      out->resize(had + kOutBytes);
      stream_.next_out = reinterpret_cast<Bytef*>(out->data() + had);
      stream_.avail_out = kOutBytes;
      deflate(&stream_, flush);
      out->resize(had + kOutBytes - stream_.avail_out);
    } while (stream_.avail_out == 0);
    return {};
  }
  z_stream stream_{};
  bool ready_ = false;
};

class ZstdFrames : public Compressor {
 public:
  ZstdFrames() : context_(ZSTD_createCCtx()) {
    ZSTD_CCtx_setParameter(context_, ZSTD_c_compressionLevel, ZSTD_CLEVEL_DEFAULT);
    ZSTD_CCtx_setParameter(context_, ZSTD_c_checksumFlag, 1);
  }
  ~ZstdFrames() override { ZSTD_freeCCtx(context_); }

  Status Add(std::string_view raw, std::string* out) override {
    while (!raw.empty()) {
      const size_t take = std::min<size_t>(raw.size(), kZstdFrameBytes - frame_.size());
      frame_.append(raw.substr(0, take));
      raw.remove_prefix(take);
      if (frame_.size() == kZstdFrameBytes) MR_RETURN_IF_ERROR(EndFrame(out));
    }
    return {};
  }

  Status EndFrame(std::string* out) override {
    const size_t had = out->size();
    out->resize(had + ZSTD_compressBound(frame_.size()));
    const size_t n = ZSTD_compress2(context_, out->data() + had, out->size() - had, frame_.data(), frame_.size());
    if (ZSTD_isError(n)) {
      return Unavailable(std::string("cannot compress the output: ") + ZSTD_getErrorName(n));
    }
    out->resize(had + n);
    Append32(static_cast<uint32_t>(n), &table_);
    Append32(static_cast<uint32_t>(frame_.size()), &table_);
    frame_.clear();
    return {};
  }

  Status Finish(std::string* out) override {
    if (!frame_.empty() || table_.empty()) MR_RETURN_IF_ERROR(EndFrame(out));
    const auto frames = static_cast<uint32_t>(table_.size() / kEntry);
    Append32(0x184d2a5e, out);
    Append32(static_cast<uint32_t>(table_.size() + 9), out);
    out->append(table_);
    Append32(frames, out);
    out->push_back('\0');
    Append32(0x8f92eab1, out);
    return {};
  }

 private:
  static constexpr size_t kEntry = 8;

  static void Append32(uint32_t v, std::string* out) { out->append(reinterpret_cast<const char*>(&v), sizeof v); }

  ZSTD_CCtx* context_;
  std::string frame_, table_;
};

}  // namespace

std::unique_ptr<Compressor> MakeCompressor(Compression compression) {
  switch (compression) {
    case Compression::kGzip: return std::make_unique<GzipCompressor>();
    case Compression::kZstd: return std::make_unique<ZstdFrames>();
    case Compression::kNone: break;
  }
  return nullptr;
}

}  // namespace mr::task
