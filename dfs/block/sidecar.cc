#include "dfs/block/sidecar.h"

#include <algorithm>
#include <cstring>

#include "common/io/crc32c.h"

namespace mr::dfs {

std::string EncodeSidecar(const Sidecar& sidecar) {
  std::string bytes = EncodeFields(sidecar);
  const uint32_t crc = Crc32c(bytes);
  bytes.append(reinterpret_cast<const char*>(&crc), sizeof crc);
  return bytes;
}

Result<Sidecar> DecodeSidecar(std::string_view bytes) {
  uint32_t crc = 0;
  if (bytes.size() < sizeof crc) return Corrupted("the checksum file is cut short");
  std::memcpy(&crc, bytes.data() + bytes.size() - sizeof crc, sizeof crc);
  bytes.remove_suffix(sizeof crc);
  if (Crc32c(bytes) != crc) return Corrupted("the checksum file is damaged");
  Sidecar sidecar;
  if (!DecodeFields(bytes, &sidecar) || sidecar.magic != Sidecar::kMagic) {
    return Corrupted("the checksum file has the wrong format");
  }
  if (sidecar.version != 1 || sidecar.chunk_bytes == 0) {
    return Corrupted("the checksum file has version " + std::to_string(sidecar.version) +
                     ", which this release does not know");
  }
  const uint64_t chunks = (sidecar.block.length + sidecar.chunk_bytes - 1) / sidecar.chunk_bytes;
  if (sidecar.crcs.size() != chunks) return Corrupted("the checksum file does not cover the block");
  return sidecar;
}

Status CheckChunks(const Sidecar& sidecar, uint64_t first, std::string_view bytes) {
  for (uint64_t chunk = first; !bytes.empty(); ++chunk) {
    const size_t n = std::min<size_t>(bytes.size(), sidecar.chunk_bytes);
    if (chunk >= sidecar.crcs.size() || Crc32c(bytes.substr(0, n)) != sidecar.crcs[chunk]) {
      return Corrupted("the bytes at " + std::to_string(chunk * sidecar.chunk_bytes) + " differ from what was written");
    }
    bytes.remove_prefix(n);
  }
  return Status::Ok();
}

}  // namespace mr::dfs
