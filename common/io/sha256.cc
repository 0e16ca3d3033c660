#include "common/io/sha256.h"

#include <fcntl.h>
#include <openssl/evp.h>

#include <array>

#include "common/base/check.h"
#include "common/io/files.h"

namespace mr {

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

// OpenSSL fails here only without memory or without its default provider, and then no digest can be trusted.
Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  MR_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1);
}

void Sha256::Update(std::string_view bytes) {
  MR_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1);
}

std::string Sha256::HexDigest() const {
  const std::unique_ptr<evp_md_ctx_st, Free> last(EVP_MD_CTX_new());
  std::array<unsigned char, 32> digest;
  unsigned size = 0;
  MR_CHECK(last != nullptr && EVP_MD_CTX_copy_ex(last.get(), context_.get()) == 1 &&
           EVP_DigestFinal_ex(last.get(), digest.data(), &size) == 1 && size == digest.size());
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 15]);
  }
  return hex;
}

Result<std::string> Sha256File(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const UniqueFd fd, OpenFile(path, O_RDONLY));
  Sha256 digest;
  std::string buffer(256 << 10, '\0');
  for (uint64_t offset = 0;;) {
    MR_ASSIGN_OR_RETURN(const size_t n, PreadUpTo(fd.get(), buffer.data(), buffer.size(), offset));
    if (n == 0) return digest.HexDigest();
    digest.Update(std::string_view(buffer).substr(0, n));
    offset += n;
  }
}

}  // namespace mr
