#include "common/io/decoder.h"

#include <zlib.h>
#include <zstd.h>

namespace mr {
namespace {

class ZstdDecoder : public Decoder {
 public:
  ZstdDecoder() : context_(ZSTD_createDStream()) {}
  ~ZstdDecoder() override { ZSTD_freeDStream(context_); }
  const char* Decode(std::string_view* in, uint64_t room, std::string* out, bool* in_frame) override {
    const size_t had = out->size();
    out->resize(had + room);
    ZSTD_inBuffer input{in->data(), in->size(), 0};
    ZSTD_outBuffer output{out->data() + had, room, 0};
    const size_t left = ZSTD_decompressStream(context_, &output, &input);
    out->resize(had + (ZSTD_isError(left) ? 0 : output.pos));
    in->remove_prefix(input.pos);
    if (ZSTD_isError(left)) return ZSTD_getErrorName(left);
    *in_frame = left != 0;
    return nullptr;
  }

 private:
  ZSTD_DStream* context_;
};

class GzipDecoder : public Decoder {
 public:
  GzipDecoder() { ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~GzipDecoder() override { inflateEnd(&stream_); }
  const char* Decode(std::string_view* in, uint64_t room, std::string* out, bool* in_frame) override {
    if (!ready_) return "out of memory";
    if (at_end_) {
      inflateReset(&stream_);
      at_end_ = false;
    }
    const size_t had = out->size();
    out->resize(had + room);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in->data()));
    stream_.avail_in = static_cast<uInt>(in->size());
    stream_.next_out = reinterpret_cast<Bytef*>(out->data() + had);
    stream_.avail_out = static_cast<uInt>(room);
    const int code = inflate(&stream_, Z_NO_FLUSH);
    out->resize(had + room - stream_.avail_out);
    in->remove_prefix(in->size() - stream_.avail_in);
    at_end_ = code == Z_STREAM_END;
    *in_frame = !at_end_;
    if (code == Z_OK || code == Z_BUF_ERROR || code == Z_STREAM_END) return nullptr;
    return stream_.msg != nullptr ? stream_.msg : "not valid";
  }

 private:
  z_stream stream_{};
  bool ready_ = false, at_end_ = false;
};

}  // namespace

std::unique_ptr<Decoder> MakeDecoder(Compression compression) {
  if (compression == Compression::kGzip) return std::make_unique<GzipDecoder>();
  return std::make_unique<ZstdDecoder>();
}

}  // namespace mr
