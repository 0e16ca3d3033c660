#include "common/secure/keys.h"

#include "common/base/check.h"
#include "common/secure/openssl.h"

namespace mr::secure {
namespace {

constexpr size_t kSignatureBytes = 64;  // RFC 8032
constexpr size_t kKeyIdBytes = 16;      // of the SHA-256 of the PEM text

std::shared_ptr<EVP_PKEY> Shared(EVP_PKEY* key) { return {key, EVP_PKEY_free}; }

bool IsOfKind(const EVP_PKEY* key, KeyKind kind) {
  if (kind == KeyKind::kToken) return EVP_PKEY_is_a(key, "ED25519") == 1;
  char curve[32] = "";
  return EVP_PKEY_is_a(key, "EC") == 1 && EVP_PKEY_get_group_name(key, curve, sizeof curve, nullptr) == 1 &&
         std::string_view(curve) == "prime256v1";
}

const unsigned char* Bytes(std::string_view text) { return reinterpret_cast<const unsigned char*>(text.data()); }

}  // namespace

Result<PublicKey> PublicKey::FromPem(std::string_view pem) {
  const BioPtr bio = ReadingBio(pem);
  auto key = Shared(bio == nullptr ? nullptr : PEM_read_bio_PUBKEY(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr || (!IsOfKind(key.get(), KeyKind::kToken) && !IsOfKind(key.get(), KeyKind::kNode))) {
    return InvalidArgument("not a public key in PEM of the kinds P-256 or Ed25519");
  }
  return PublicKey(std::move(key));
}

std::string PublicKey::ToPem() const {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  MR_CHECK(bio != nullptr && PEM_write_bio_PUBKEY(bio.get(), key_.get()) == 1);
  return std::string(BytesIn(bio.get()));
}

std::string PublicKey::Id() const {
  const std::string pem = ToPem();
  unsigned char digest[EVP_MAX_MD_SIZE];
  MR_CHECK(EVP_Digest(pem.data(), pem.size(), digest, nullptr, EVP_sha256(), nullptr) == 1);
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string id;
  for (size_t i = 0; i < kKeyIdBytes; ++i) {
    id += kDigits[digest[i] >> 4];
    id += kDigits[digest[i] & 15];
  }
  return id;
}

bool PublicKey::Verifies(std::string_view bytes, std::string_view signature) const {
  if (!IsOfKind(key_.get(), KeyKind::kToken) || signature.size() != kSignatureBytes) return false;
  const DigestPtr context(EVP_MD_CTX_new());
  const bool valid =
      context != nullptr && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), Bytes(signature), signature.size(), Bytes(bytes), bytes.size()) == 1;
  ERR_clear_error();
  return valid;
}

Result<PrivateKey> PrivateKey::Make(KeyKind kind) {
  auto key = Shared(kind == KeyKind::kToken ? EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")
                                            : EVP_PKEY_Q_keygen(nullptr, nullptr, "EC", "P-256"));
  if (key == nullptr) return OpenSslError("cannot make a key");
  return PrivateKey(std::move(key));
}

Result<PrivateKey> PrivateKey::FromPem(const Secret<std::string>& pem, KeyKind kind) {
  const BioPtr bio = ReadingBio(pem.Reveal());
  auto key = Shared(bio == nullptr ? nullptr : PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (key == nullptr || !IsOfKind(key.get(), kind)) {
    return InvalidArgument(kind == KeyKind::kToken ? "not an Ed25519 private key in PEM without a password"
                                                   : "not a P-256 private key in PEM without a password");
  }
  return PrivateKey(std::move(key));
}

Secret<std::string> PrivateKey::ToPem() const {
  // A secure BIO wipes its buffer where it is freed.
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  MR_CHECK(bio != nullptr &&
           PEM_write_bio_PKCS8PrivateKey(bio.get(), key_.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return Secret<std::string>(std::string(BytesIn(bio.get())));
}

PublicKey PrivateKey::Public() const { return PublicKey(key_); }

Result<std::string> PrivateKey::Sign(std::string_view bytes) const {
  if (!IsOfKind(key_.get(), KeyKind::kToken)) return Internal("only Ed25519 keys sign tokens");
  const DigestPtr context(EVP_MD_CTX_new());
  std::string signature(kSignatureBytes, '\0');
  size_t size = signature.size();
  if (context == nullptr || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size, Bytes(bytes),
                     bytes.size()) != 1 ||
      size != signature.size()) {
    return OpenSslError("cannot sign");
  }
  return signature;
}

}  // namespace mr::secure
