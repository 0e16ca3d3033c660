// Tokens, certificates and their requests, access files and the list of tokens. The first byte chooses the reader.
#include <algorithm>
#include <string>

#include "common/base/check.h"
#include "common/secure/access_file.h"
#include "common/secure/certificate.h"
#include "common/secure/names.h"
#include "common/secure/token.h"
#include "common/secure/token_log.h"
#include "tests/fuzz/target.h"

namespace mr::fuzz {
namespace {

using secure::KeyKind;
using secure::PrivateKey;
using secure::UnixTime;

enum Reader : uint8_t {
  kToken,    // the text of a token
  kPayload,  // a payload, signed here: the bytes behind the check of the signature
  kTokenFile,
  kJoinFile,
  kTokenList,
  kCertificate,     // PEM
  kCertificateDer,  // its bytes without PEM, which the fuzzer could hardly change
  kRequest,
  kRequestDer,
  kKeys,
  kNames,
  kReaders
};

constexpr UnixTime kNow{1'800'000'000};
constexpr uint64_t kCluster = 0x1234;

// Random for each process. No reader depends on its value.
const PrivateKey& TokenKey() {
  static const PrivateKey key = PrivateKey::Make(KeyKind::kToken).value();
  return key;
}
const PrivateKey& AuthorityKey() {
  static const PrivateKey key = PrivateKey::Make(KeyKind::kNode).value();
  return key;
}
const std::string& Authority() {
  static const std::string pem = secure::MakeAuthority(AuthorityKey(), kCluster, kNow).value();
  return pem;
}

std::string Base64(std::string_view bytes, const char* last_two, bool padded) {
  std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  digits += last_two;
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - at);
    uint32_t group = 0;
    for (size_t i = 0; i < 3; ++i) group = group << 8 | (i < n ? static_cast<uint8_t>(bytes[at + i]) : 0);
    for (size_t i = 0; i < 4; ++i) {
      if (i <= n) {
        text += digits[group >> (18 - 6 * i) & 63];
      } else if (padded) {
        text += '=';
      }
    }
  }
  return text;
}

std::string Pem(const char* kind, std::string_view der) {
  const std::string text = Base64(der, "+/", true);
  std::string pem = std::string("-----BEGIN ") + kind + "-----\n";
  for (size_t at = 0; at < text.size(); at += 64) pem += text.substr(at, 64) + "\n";
  return pem + "-----END " + kind + "-----\n";
}

// Returns the bytes of a PEM text that this program has made.
std::string Der(const std::string& pem) {
  std::string der;
  uint32_t bits = 0;
  int have = 0;
  const size_t begin = pem.find('\n'), end = pem.find("-----END");
  for (const char c : pem.substr(begin, end - begin)) {
    const size_t digit = std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/").find(c);
    if (digit == std::string_view::npos) continue;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    have += 6;
    if (have >= 8) der += static_cast<char>(bits >> (have -= 8) & 255);
  }
  return der;
}

void ReadToken(std::string_view text) {
  const auto unchecked = secure::ReadUncheckedToken(text);
  const auto verified = secure::VerifyToken(text, std::vector{TokenKey().Public()}, kCluster, kNow, {});
  if (!verified.ok()) return;
  MR_CHECK(unchecked.ok() && unchecked->id == verified->id && unchecked->roles == verified->roles);
  MR_CHECK((verified->roles & ~Roles{kAllPeople}) == 0);
  MR_CHECK(verified->cluster_id == kCluster && kNow < verified->expires);
  const Identity identity = secure::IdentityOf(*verified);
  MR_CHECK(!identity.HasAny(kWorker));
}

void ReadAccess(std::string_view text, secure::TokenKind kind) {
  const auto access = secure::ParseAccess(Secret<std::string>(std::string(text)), kind, "file");
  if (!access.ok()) {
    // The message may name the prefix of tokens, and shows nothing that follows it.
    const std::string& message = access.status().message();
    const size_t prefix = message.find(secure::kTokenPrefix);
    MR_CHECK(prefix == std::string::npos || message[prefix + secure::kTokenPrefix.size()] == '"');
    return;
  }
  const auto again = secure::ParseAccess(secure::AccessText(*access), kind, "file");
  MR_CHECK(again.ok() && again->token.Reveal() == access->token.Reveal() && again->master == access->master);
}

void ReadCertificateText(const std::string& pem) {
  const auto certificate = secure::ReadCertificate(pem);
  (void)secure::Fingerprint(pem);
  (void)secure::CheckKeyFits(pem, AuthorityKey());
  const auto node = secure::CheckNodeCertificate(pem, Authority(), kNow);
  if (!node.ok()) return;
  MR_CHECK(certificate.ok() && !node->authority && !node->ExpiredAt(kNow));
  (void)node->RenewalDue(kNow);
}

void ReadRequest(const std::string& pem) {
  const auto signed_ = secure::SignRequest(pem, secure::NodeKind::kWorker, "w1", Authority(), AuthorityKey(), kNow);
  if (!signed_.ok()) return;
  // Whatever a request says, the authority alone chooses the name.
  const auto node = secure::CheckNodeCertificate(*signed_, Authority(), kNow);
  MR_CHECK(node.ok() && node->common_name == "worker:w1" && !node->authority);
}

void ReadNames(std::string_view text) {
  if (const auto roles = secure::ParseRoles(text); roles.ok()) MR_CHECK((*roles & kWorker) == 0);
  if (const auto cluster = secure::ParseCluster(text); cluster.ok()) MR_CHECK(secure::ClusterText(*cluster) == text);
  if (const auto worker = secure::WorkerInSubject(text); worker.ok()) MR_CHECK(secure::CheckWorker(*worker).ok());
  if (secure::CheckPerson(text).ok()) MR_CHECK(!secure::WorkerInSubject(text).ok());
}

void Run(std::string_view bytes) {
  Input input(bytes);
  const uint8_t reader = input.Byte() % kReaders;
  const std::string rest(input.Rest());
  switch (static_cast<Reader>(reader)) {
    case kToken: ReadToken(rest); break;
    case kPayload: {
      const auto signature = TokenKey().Sign("paceline token\n" + rest);
      MR_CHECK(signature.ok());
      ReadToken(std::string(secure::kTokenPrefix) + Base64(rest + *signature, "-_", false));
      break;
    }
    case kTokenFile: ReadAccess(rest, secure::TokenKind::kPerson); break;
    case kJoinFile: ReadAccess(rest, secure::TokenKind::kJoin); break;
    case kTokenList: (void)secure::ParseTokenLog(rest); break;
    case kCertificate: ReadCertificateText(rest); break;
    case kCertificateDer: ReadCertificateText(Pem("CERTIFICATE", rest)); break;
    case kRequest: ReadRequest(rest); break;
    case kRequestDer: ReadRequest(Pem("CERTIFICATE REQUEST", rest)); break;
    case kKeys:
      (void)secure::PublicKey::FromPem(rest);
      (void)PrivateKey::FromPem(Secret<std::string>(rest), KeyKind::kNode);
      (void)PrivateKey::FromPem(Secret<std::string>(rest), KeyKind::kToken);
      break;
    case kNames: ReadNames(rest); break;
    case kReaders: break;
  }
}

std::vector<std::string> Seeds() {
  secure::Token person{secure::TokenKind::kPerson, std::string(32, 'a'), "anna", kViewer | kSubmitter, kCluster, kNow,
                       kNow + Seconds(3600)};
  secure::Token join = person;
  join.kind = secure::TokenKind::kJoin;
  join.subject = "w1";
  join.roles = 0;
  join.expires = kNow + secure::kJoinLife;
  const auto text = [](const secure::Token& token) { return secure::SignToken(token, TokenKey()).value().Reveal(); };
  const auto access = [&](const secure::Token& token) {
    secure::AccessFile file;
    file.kind = token.kind;
    file.master = "127.0.0.1:7070";
    file.cluster_id = kCluster;
    file.token = Secret<std::string>(text(token));
    file.authority = Authority();
    return secure::AccessText(file).Reveal();
  };
  const PrivateKey node_key = PrivateKey::Make(KeyKind::kNode).value();
  const std::string request = secure::MakeRequest(node_key).value();
  const std::string certificate =
      secure::SignRequest(request, secure::NodeKind::kWorker, "w1", Authority(), AuthorityKey(), kNow).value();
  const auto seed = [](Reader reader, const std::string& rest) {
    return std::string(1, static_cast<char>(reader)) + rest;
  };
  const std::string id(32, 'a');
  // The payload of token.h, by hand: the writer signs what it writes.
  std::string payload("\x01\x01\x03", 3);
  payload += std::string(16, '\xaa') + std::string("\x34\x12\0\0\0\0\0\0", 8);
  for (const int64_t second : {kNow.seconds, kNow.seconds + 3600}) {
    for (int i = 0; i < 8; ++i) payload += static_cast<char>(second >> (8 * i) & 255);
  }
  payload += std::string("\x04") + "anna";
  return {seed(kToken, text(person)),
          seed(kToken, text(join)),
          seed(kPayload, payload),
          seed(kTokenFile, access(person)),
          seed(kJoinFile, access(join)),
          seed(kTokenList, "issued " + id + " 1 1 2 3 anna\nused " + id + " worker:3\nrevoked " + id +
                               "\ndenied worker:3\nallowed worker:3\nissued"),
          seed(kCertificate, certificate),
          seed(kCertificate, Authority()),
          seed(kCertificateDer, Der(certificate)),
          seed(kCertificateDer, Der(Authority())),
          seed(kRequest, request),
          seed(kRequestDer, Der(request)),
          seed(kKeys, node_key.ToPem().Reveal()),
          seed(kKeys, TokenKey().ToPem().Reveal()),
          seed(kKeys, TokenKey().Public().ToPem()),
          seed(kNames, "viewer,submitter"),
          seed(kNames, "worker:3"),
          seed(kNames, "00000000000000ff")};
}

}  // namespace

const Target kCredentials{"credentials", Run, Seeds};

}  // namespace mr::fuzz
