// Private and public keys: P-256 for certificates of nodes, Ed25519 for tokens. By OpenSSL.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "common/base/secret.h"
#include "common/base/status.h"

struct evp_pkey_st;  // OpenSSL's EVP_PKEY; its headers stay in .cc files

namespace mr::secure {

enum class KeyKind { kNode, kToken };  // P-256; Ed25519

// A public key. Immutable. Thread: any number at a time.
class PublicKey {
 public:
  // Reads PEM (SubjectPublicKeyInfo). Errors: kInvalidArgument: no PEM, or neither of the two kinds.
  static Result<PublicKey> FromPem(std::string_view pem);
  explicit PublicKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}

  std::string ToPem() const;
  // Returns 32 hexadecimal digits that name the key in lists.
  std::string Id() const;
  // Returns whether this is an Ed25519 signature of the bytes by the private half. False for keys of the other kind.
  bool Verifies(std::string_view bytes, std::string_view signature) const;
  evp_pkey_st* get() const { return key_.get(); }

 private:
  std::shared_ptr<evp_pkey_st> key_;  // never null
};

// A private key. OpenSSL wipes its memory. Immutable. Thread: any number at a time.
class PrivateKey {
 public:
  // Makes a key from the kernel's randomness. Cost: below 0.1 ms.
  static Result<PrivateKey> Make(KeyKind kind);
  // Reads PEM without a password (PKCS#8). Errors: kInvalidArgument: no PEM, or not of this kind.
  static Result<PrivateKey> FromPem(const Secret<std::string>& pem, KeyKind kind);

  Secret<std::string> ToPem() const;
  PublicKey Public() const;
  // Returns the Ed25519 signature, 64 bytes. Errors: kInternal for keys of the other kind.
  Result<std::string> Sign(std::string_view bytes) const;
  evp_pkey_st* get() const { return key_.get(); }

 private:
  explicit PrivateKey(std::shared_ptr<evp_pkey_st> key) : key_(std::move(key)) {}
  std::shared_ptr<evp_pkey_st> key_;  // never null
};

}  // namespace mr::secure
