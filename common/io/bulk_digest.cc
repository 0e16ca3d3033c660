#include "common/io/bulk_digest.h"

#include "common/io/bulk_digest_avx2.h"

namespace mr {

#ifdef MR_DIGEST_AVX2
namespace {

bool HasAvx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}

}  // namespace
#endif

uint64_t BulkHash64(std::string_view bytes) {
#ifdef MR_DIGEST_AVX2
  if (HasAvx2()) return avx2::Hash64(bytes.data(), bytes.size());
#endif
  return Hash64(bytes);
}

void BulkHasher64::Update(std::string_view bytes) {
#ifdef MR_DIGEST_AVX2
  if (HasAvx2()) return avx2::Update64(&state_, bytes.data(), bytes.size());
#endif
  XXH3_64bits_update(&state_, bytes.data(), bytes.size());
}

void BulkHasher128::Update(std::string_view bytes) {
#ifdef MR_DIGEST_AVX2
  if (HasAvx2()) return avx2::Update128(&state_, bytes.data(), bytes.size());
#endif
  XXH3_128bits_update(&state_, bytes.data(), bytes.size());
}

}  // namespace mr
