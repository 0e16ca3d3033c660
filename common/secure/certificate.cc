#include "common/secure/certificate.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>

#include "common/base/check.h"
#include "common/secure/names.h"
#include "common/secure/openssl.h"

namespace mr::secure {
namespace {

constexpr std::string_view kAuthorityPrefix = "Paceline cluster ";
constexpr long kVersion3 = 2;  // RFC 5280: v3 is written as 2

CertificatePtr Parse(std::string_view pem) {
  if (pem.size() > kMaxPemBytes) return nullptr;
  const BioPtr bio = ReadingBio(pem);
  CertificatePtr certificate(bio == nullptr ? nullptr : PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
  // A second one would be ignored by some readers and used by others.
  if (certificate != nullptr) {
    const CertificatePtr second(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (second != nullptr) certificate = nullptr;
  }
  ERR_clear_error();
  return certificate;
}

std::string ToPem(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  MR_CHECK(bio != nullptr && PEM_write_bio_X509(bio.get(), certificate) == 1);
  return std::string(BytesIn(bio.get()));
}

std::string Hex(const unsigned char* bytes, size_t size) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

std::string CommonName(const X509_NAME* name) {
  const int at = X509_NAME_get_index_by_NID(name, NID_commonName, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0) return "";
  const ASN1_STRING* text = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at));
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)), static_cast<size_t>(ASN1_STRING_length(text))};
}

std::optional<UnixTime> TimeOf(const ASN1_TIME* time) {
  tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
  return UnixTime{timegm(&parts)};
}

bool SetName(X509_NAME* name, const std::string& common_name) {
  return X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(common_name.data()),
                                    static_cast<int>(common_name.size()), -1, 0) == 1;
}

// 127 random bits, so that serial numbers are unique without a counter.
bool SetSerial(X509* certificate) {
  std::array<unsigned char, 16> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return false;
  bytes[0] = static_cast<unsigned char>((bytes[0] & 0x7f) | 0x40);  // positive, and always as long
  BIGNUM* number = BN_bin2bn(bytes.data(), bytes.size(), nullptr);
  const bool set = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return set;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return added;
}

// Begins a certificate: all but issuer, extensions and signature. Null: OpenSSL's error queue says why.
CertificatePtr Begin(const std::string& common_name, EVP_PKEY* key, UnixTime now, Duration life) {
  CertificatePtr certificate(X509_new());
  if (certificate == nullptr) return nullptr;
  X509* c = certificate.get();
  const bool begun = X509_set_version(c, kVersion3) == 1 && SetSerial(c) &&
                     SetName(X509_get_subject_name(c), common_name) && X509_set_pubkey(c, key) == 1 &&
                     ASN1_TIME_set(X509_getm_notBefore(c), (now - kClockSkew).seconds) != nullptr &&
                     ASN1_TIME_set(X509_getm_notAfter(c), (now + life).seconds) != nullptr;
  return begun ? std::move(certificate) : nullptr;
}

bool IsP256(const EVP_PKEY* key) {
  char curve[32] = "";
  return key != nullptr && EVP_PKEY_is_a(key, "EC") == 1 &&
         EVP_PKEY_get_group_name(key, curve, sizeof curve, nullptr) == 1 && std::string_view(curve) == "prime256v1";
}

// Returns the public key that the request proves to have. Null: no such request.
KeyPtr KeyOfRequest(std::string_view pem) {
  if (pem.size() > kMaxPemBytes) return nullptr;
  const BioPtr bio = ReadingBio(pem);
  const RequestPtr request(bio == nullptr ? nullptr : PEM_read_bio_X509_REQ(bio.get(), nullptr, NoPassword, nullptr));
  KeyPtr key(request == nullptr ? nullptr : X509_REQ_get_pubkey(request.get()));
  const bool good = IsP256(key.get()) && X509_REQ_verify(request.get(), key.get()) == 1;
  ERR_clear_error();
  return good ? std::move(key) : nullptr;
}

Result<Certificate> Describe(X509* x509) {
  Certificate out;
  out.common_name = CommonName(X509_get_subject_name(x509));
  const std::string issuer = CommonName(X509_get_issuer_name(x509));
  const auto from = TimeOf(X509_get0_notBefore(x509));
  const auto until = TimeOf(X509_get0_notAfter(x509));
  const auto cluster = issuer.starts_with(kAuthorityPrefix) ? ParseCluster(issuer.substr(kAuthorityPrefix.size()))
                                                            : Result<uint64_t>(NotFound(""));
  if (out.common_name.empty() || !cluster.ok() || !from.has_value() || !until.has_value()) {
    return InvalidArgument("not a certificate of a Paceline cluster");
  }
  const ASN1_INTEGER* serial = X509_get0_serialNumber(x509);
  out.serial = Hex(ASN1_STRING_get0_data(serial), static_cast<size_t>(ASN1_STRING_length(serial)));
  out.cluster_id = *cluster;
  out.authority = X509_check_ca(x509) != 0;
  out.from = *from;
  out.until = *until;
  ERR_clear_error();
  return out;
}

}  // namespace

int64_t Certificate::DaysLeft(UnixTime now) const {
  return std::max<int64_t>(0, (until.seconds - now.seconds) / (kDay.ns / 1'000'000'000));
}

bool Certificate::RenewalDue(UnixTime now) const {
  return now.seconds - from.seconds >= (until.seconds - from.seconds) / 3 * 2;
}

Result<std::string> MakeAuthority(const PrivateKey& key, uint64_t cluster_id, UnixTime now) {
  const CertificatePtr made =
      Begin(std::string(kAuthorityPrefix) + ClusterText(cluster_id), key.get(), now, kAuthorityLife);
  X509* c = made.get();
  if (c == nullptr || X509_set_issuer_name(c, X509_get_subject_name(c)) != 1 ||
      !AddExtension(c, c, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(c, c, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(c, c, NID_subject_key_identifier, "hash") || X509_sign(c, key.get(), EVP_sha256()) == 0) {
    return OpenSslError("cannot make the certificate of the authority");
  }
  return ToPem(c);
}

Result<std::string> CrossSign(const PrivateKey& key, std::string_view previous, const PrivateKey& previous_key,
                              UnixTime now) {
  const CertificatePtr issuer = Parse(previous);
  if (issuer == nullptr) return InvalidArgument("the certificate of the authority is not one certificate in PEM");
  MR_ASSIGN_OR_RETURN(const Certificate authority, Describe(issuer.get()));
  const CertificatePtr made = Begin(authority.common_name, key.get(), now, authority.until - now);
  X509* c = made.get();
  if (c == nullptr || X509_set_issuer_name(c, X509_get_subject_name(issuer.get())) != 1 ||
      !AddExtension(c, issuer.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") ||
      !AddExtension(c, issuer.get(), NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(c, issuer.get(), NID_subject_key_identifier, "hash") ||
      !AddExtension(c, issuer.get(), NID_authority_key_identifier, "keyid:always") ||
      X509_sign(c, previous_key.get(), EVP_sha256()) == 0) {
    return OpenSslError("cannot sign the certificate of the new authority");
  }
  return ToPem(c);
}

Status CheckCross(std::string_view cross, std::string_view current, std::string_view previous) {
  const CertificatePtr between = Parse(cross), to = Parse(current), from = Parse(previous);
  const bool good = between != nullptr && to != nullptr && from != nullptr &&
                    X509_check_issued(from.get(), between.get()) == X509_V_OK &&
                    X509_verify(between.get(), X509_get0_pubkey(from.get())) == 1 &&
                    EVP_PKEY_eq(X509_get0_pubkey(between.get()), X509_get0_pubkey(to.get())) == 1;
  ERR_clear_error();
  return good ? Status::Ok()
              : InvalidArgument("the cross certificate does not lead from the new authority to the previous one");
}

Result<std::string> MakeRequest(const PrivateKey& key) {
  const RequestPtr request(X509_REQ_new());
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (request == nullptr || bio == nullptr || X509_REQ_set_pubkey(request.get(), key.get()) != 1 ||
      X509_REQ_sign(request.get(), key.get(), EVP_sha256()) == 0 ||
      PEM_write_bio_X509_REQ(bio.get(), request.get()) != 1) {
    return OpenSslError("cannot make a certificate request");
  }
  return std::string(BytesIn(bio.get()));
}

Result<std::string> SignRequest(std::string_view request, NodeKind kind, std::string_view name,
                                std::string_view authority, const PrivateKey& authority_key, UnixTime now) {
  if (kind == NodeKind::kWorker) MR_RETURN_IF_ERROR(CheckWorker(name));
  const KeyPtr key = KeyOfRequest(request);
  if (key == nullptr) return InvalidArgument("not a certificate request (PKCS#10, PEM) that its P-256 key has signed");
  const CertificatePtr ca = Parse(authority);
  if (ca == nullptr) return InvalidArgument("the certificate of the authority is not one certificate in PEM");
  MR_ASSIGN_OR_RETURN(const Certificate issuer, Describe(ca.get()));
  MR_RETURN_IF_ERROR(CheckKeyFits(authority, authority_key));
  const std::string common_name = kind == NodeKind::kMaster ? MasterName(issuer.cluster_id) : WorkerSubject(name);
  std::string names = "DNS:" + common_name;
  // For browsers on the master's machine, or behind `ssh -L`. No part of Paceline asks for this name.
  if (kind == NodeKind::kMaster) names += ",DNS:localhost";
  if (kind == NodeKind::kWorker) names += ",DNS:" + AnyWorkerName(issuer.cluster_id);
  // Nothing outlives its authority.
  const Duration life = std::min(kNodeLife, issuer.until - now);
  const CertificatePtr made = Begin(common_name, key.get(), now, life);
  X509* c = made.get();
  if (c == nullptr || X509_set_issuer_name(c, X509_get_subject_name(ca.get())) != 1 ||
      !AddExtension(c, ca.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(c, ca.get(), NID_key_usage, "critical,digitalSignature") ||
      // Both: workers serve blocks and outputs to each other, and the master reads from workers.
      !AddExtension(c, ca.get(), NID_ext_key_usage, "serverAuth,clientAuth") ||
      !AddExtension(c, ca.get(), NID_subject_alt_name, names) ||
      !AddExtension(c, ca.get(), NID_authority_key_identifier, "keyid:always") ||
      X509_sign(c, authority_key.get(), EVP_sha256()) == 0) {
    return OpenSslError("cannot sign the certificate of " + common_name);
  }
  return ToPem(c);
}

Result<Certificate> ReadCertificate(std::string_view pem) {
  const CertificatePtr certificate = Parse(pem);
  if (certificate == nullptr) return InvalidArgument("not one certificate in PEM");
  return Describe(certificate.get());
}

Result<Certificate> CheckNodeCertificate(std::string_view pem, std::string_view authority, UnixTime now) {
  const CertificatePtr certificate = Parse(pem);
  const CertificatePtr ca = Parse(authority);
  if (certificate == nullptr || ca == nullptr) return InvalidArgument("not one certificate in PEM");
  MR_ASSIGN_OR_RETURN(Certificate out, Describe(certificate.get()));
  const std::string subject = "the certificate of " + out.common_name;
  const bool signed_by = X509_check_issued(ca.get(), certificate.get()) == X509_V_OK && X509_check_ca(ca.get()) == 1 &&
                         X509_verify(certificate.get(), X509_get0_pubkey(ca.get())) == 1;
  const bool serves = X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_SERVER, 0) == 1 &&
                      X509_check_purpose(certificate.get(), X509_PURPOSE_SSL_CLIENT, 0) == 1;
  ERR_clear_error();
  if (!signed_by) return Status(Code::kNotAllowed, subject + " is not signed by the authority of this cluster");
  if (out.authority || !serves) return Status(Code::kNotAllowed, subject + " is not one of a node");
  if (out.common_name != MasterName(out.cluster_id) && !WorkerInSubject(out.common_name).ok()) {
    return Status(Code::kNotAllowed, subject + " names neither the master nor a worker");
  }
  if (out.ExpiredAt(now)) return Status(Code::kNotAllowed, subject + " has expired (" + Text(out.until) + ")");
  if (now < out.from) {
    return Status(Code::kNotAllowed,
                  subject + " is valid from " + Text(out.from) + ": check the clock of this machine");
  }
  return out;
}

Status CheckKeyFits(std::string_view pem, const PrivateKey& key) {
  const CertificatePtr certificate = Parse(pem);
  const bool fits = certificate != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits ? Status::Ok() : InvalidArgument("the certificate is not for this key");
}

Result<std::string> Fingerprint(std::string_view pem) {
  const CertificatePtr certificate = Parse(pem);
  std::array<unsigned char, 32> digest;
  unsigned size = 0;
  if (certificate == nullptr || X509_digest(certificate.get(), EVP_sha256(), digest.data(), &size) != 1 ||
      size != digest.size()) {
    ERR_clear_error();
    return InvalidArgument("not one certificate in PEM");
  }
  return Hex(digest.data(), digest.size());
}

}  // namespace mr::secure
