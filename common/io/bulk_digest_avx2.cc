// The whole file is compiled for AVX2, so it includes only headers of C: an inline function of C++ could be the copy
// that the linker keeps for code that runs on every processor.
#include "common/io/bulk_digest_avx2.h"

#ifdef MR_DIGEST_AVX2

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace mr::avx2 {

uint64_t Hash64(const void* data, size_t size) { return XXH3_64bits(data, size); }

void Update64(void* state, const void* data, size_t size) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), data, size);
}

void Update128(void* state, const void* data, size_t size) {
  XXH3_128bits_update(static_cast<XXH3_state_t*>(state), data, size);
}

}  // namespace mr::avx2

#endif
