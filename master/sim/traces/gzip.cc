#include <zlib.h>

#include "master/sim/traces/trace.h"

namespace mr::sim {

Result<std::string> Gunzip(const std::string& packed, const std::string& name, uint64_t limit) {
  constexpr size_t kPiece = size_t{1} << 20;
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  z_stream z{};
  if (inflateInit2(&z, kGzipOnly) != Z_OK) return Internal("zlib does not start");
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  z.avail_in = static_cast<uInt>(packed.size());
  std::string text;
  Status status;
  // A file may be several streams, one after the other.
  for (int got = Z_OK; status.ok() && (got != Z_STREAM_END || z.avail_in > 0);) {
    if (got == Z_STREAM_END) inflateReset(&z);
    const size_t had = text.size();
    text.resize(had + kPiece);
    z.next_out = reinterpret_cast<Bytef*>(text.data() + had);
    z.avail_out = kPiece;
    got = inflate(&z, Z_NO_FLUSH);
    text.resize(had + kPiece - z.avail_out);
    if (got != Z_OK && got != Z_STREAM_END) status = InvalidArgument(name + ": damaged, or cut off; gzip -t says more");
    if (text.size() > limit) {
      status = InvalidArgument(name + ": it unpacks to more than " + std::to_string(limit >> 20) + " MiB");
    }
  }
  inflateEnd(&z);
  if (!status.ok()) return status;
  return text;
}

}  // namespace mr::sim
