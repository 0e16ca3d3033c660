// XXH3 by code for AVX2. For bulk_digest.cc only. Requires: the processor has AVX2.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __x86_64__
#define MR_DIGEST_AVX2
#endif

namespace mr::avx2 {

uint64_t Hash64(const void* data, size_t size);
// state: an XXH3_state_t. Its content does not depend on the code that updates it.
void Update64(void* state, const void* data, size_t size);
void Update128(void* state, const void* data, size_t size);

}  // namespace mr::avx2
