// The checksum file of a block: its expected content, chunk by chunk.
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
  std::vector<uint32_t> crcs;  // CRC32C of each chunk; the last chunk may be short
  template <class V>
  static void Fields(V&& v) {
    using T = Sidecar;
    v(&T::magic, &T::version, &T::chunk_bytes, &T::block, &T::crcs);
  }
  static constexpr uint64_t kMagic = 0x6d75536b636f6c42;  // "BlockSum"
};

// Encodes the sidecar. It ends with a CRC32C of all bytes before.
std::string EncodeSidecar(const Sidecar& sidecar);
// Decodes a sidecar. Errors: kCorrupted if the bytes are not exactly one consistent sidecar.
Result<Sidecar> DecodeSidecar(std::string_view bytes);
// Checks bytes from chunk number `first` on against the sidecar. Requires: they end at a chunk border or at the block's
// end. Errors: kCorrupted, with the offset of the bad chunk.
Status CheckChunks(const Sidecar& sidecar, uint64_t first, std::string_view bytes);

}  // namespace mr::dfs
