// Owners of OpenSSL's objects, and its errors as Status. Only the .cc files of this folder include it.
#pragma once

#include <openssl/bio.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::secure {

template <auto kFree>
struct FreeBy {
  template <class T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeBy<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeBy<X509_free>>;
using RequestPtr = std::unique_ptr<X509_REQ, FreeBy<X509_REQ_free>>;
using DigestPtr = std::unique_ptr<EVP_MD_CTX, FreeBy<EVP_MD_CTX_free>>;

// Returns kInternal with what OpenSSL's error queue of this thread says, and empties the queue.
inline Status OpenSslError(const std::string& what) {
  const unsigned long error = ERR_peek_last_error();
  ERR_clear_error();
  const char* reason = error == 0 ? nullptr : ERR_reason_error_string(error);
  return Internal(what + ": " + (reason == nullptr ? "OpenSSL gives no reason" : reason));
}

// Returns a BIO that reads these bytes, which must outlive it; null without memory.
inline BioPtr ReadingBio(std::string_view bytes) {
  return BioPtr(BIO_new_mem_buf(bytes.data(), static_cast<int>(bytes.size())));
}
inline std::string_view BytesIn(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, size < 0 ? 0 : static_cast<size_t>(size)};
}

// Asks nobody for a password: keys here have none, and a prompt would stop a daemon.
inline int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace mr::secure
