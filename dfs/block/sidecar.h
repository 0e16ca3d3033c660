// The checksum file beside a block: what the block must be, chunk by chunk.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "dfs/meta/record.h"

namespace mr::dfs {

struct Sidecar {
  uint64_t magic = kMagic;
  uint32_t version = 1;
  uint32_t chunk_bytes = 0;
  BlockRef block;
  std::vector<uint32_t> crcs;  // CRC32C of each chunk; the last one may be short
  template <class V>
  static void Fields(V&& v) {
    using T = Sidecar;
    v(&T::magic, &T::version, &T::chunk_bytes, &T::block, &T::crcs);
  }
  static constexpr uint64_t kMagic = 0x6d75536b636f6c42;  // "BlockSum"
};

// Ends with a CRC32C of all that is before it.
std::string EncodeSidecar(const Sidecar& sidecar);
// kCorrupted where the bytes are not exactly one whole sidecar that is consistent in itself.
Result<Sidecar> DecodeSidecar(std::string_view bytes);
// kCorrupted, naming the chunk, where `bytes`, which begin at chunk number first and end at a chunk
// border or at the block's end, are not what was written.
Status CheckChunks(const Sidecar& sidecar, uint64_t first, std::string_view bytes);

}  // namespace mr::dfs
