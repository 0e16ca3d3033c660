// SHA-256 (FIPS 180-4), by OpenSSL. The name of an operator library or side file is the digest of its bytes. Used for
// such names and for digests that users publish. The data plane uses XXH3 (common/base/digest.h).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX; its headers stay in sha256.cc

namespace mr {

// A running digest. It does not depend on how the bytes are split into Update calls.
// Thread: one at a time.
class Sha256 {
 public:
  Sha256();
  void Update(std::string_view bytes);
  // Returns 64 lower-case hexadecimal digits. Does not end the stream: more bytes may be added afterwards.
  std::string HexDigest() const;

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

// Returns the digest of a whole file, which it reads in pieces. Blocks: not for an event loop.
Result<std::string> Sha256File(const std::string& path);

}  // namespace mr
