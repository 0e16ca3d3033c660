#include "common/secure/token.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "common/base/text.h"
#include "common/secure/names.h"

namespace mr::secure {
namespace {

constexpr uint8_t kTokenVersion = 1;
constexpr size_t kIdBytes = 16;
constexpr size_t kTokenSignatureBytes = 64;
constexpr size_t kFixedBytes = 3 + kIdBytes + 8 + 8 + 8 + 1;
// Keeps a signature from being one of another kind of text that the same key may sign some day.
constexpr std::string_view kDomain = "paceline token\n";

constexpr std::string_view kBase64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::string ToBase64Url(std::string_view bytes) {
  std::string text;
  uint32_t held = 0;
  int bits = 0;
  for (const char c : bytes) {
    held = held << 8 | static_cast<uint8_t>(c);
    for (bits += 8; bits >= 6; bits -= 6) text += kBase64[held >> (bits - 6) & 63];
  }
  if (bits > 0) text += kBase64[held << (6 - bits) & 63];
  return text;
}

// Strict: one text for each string of bytes, so that no other spelling of a token is accepted.
bool FromBase64Url(std::string_view text, std::string* bytes) {
  uint32_t held = 0;
  int bits = 0;
  for (const char c : text) {
    const size_t value = kBase64.find(c);
    if (value == std::string_view::npos) return false;
    held = held << 6 | static_cast<uint32_t>(value);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    *bytes += static_cast<char>(held >> bits & 255);
  }
  return bits < 6 && (held & ((1u << bits) - 1)) == 0;
}

void AppendNumber(uint64_t number, std::string* out) {
  for (int i = 0; i < 8; ++i) *out += static_cast<char>(number >> 8 * i);
}

uint64_t NumberAt(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  for (int i = 7; i >= 0; --i) number = number << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)]);
  return number;
}

std::string HexOf(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    text += kDigits[static_cast<uint8_t>(c) >> 4];
    text += kDigits[static_cast<uint8_t>(c) & 15];
  }
  return text;
}

bool BytesOfId(std::string_view id, std::string* bytes) {
  if (id.size() != 2 * kIdBytes) return false;
  uint8_t held = 0;
  for (size_t i = 0; i < id.size(); ++i) {
    const char c = id[i];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) return false;
    held = static_cast<uint8_t>(held << 4 | digit);
    if (i % 2 == 1) *bytes += static_cast<char>(held);
  }
  return true;
}

// Checks the ranges of fields, for signers and readers.
Status CheckFields(const Token& token) {
  if (token.cluster_id == 0) return InvalidArgument("a token needs the id of its cluster");
  if (token.expires <= token.issued || token.expires - token.issued > kLongestTokenLife) {
    return InvalidArgument("a token lives more than nothing and at most 366 days");
  }
  if (token.kind == TokenKind::kPerson) {
    if (token.roles == 0 || (token.roles & ~kAllPeople) != 0) {
      return InvalidArgument("a token needs roles of people: viewer, submitter, operator, admin");
    }
    return CheckPerson(token.subject);
  }
  if (token.kind != TokenKind::kJoin) return InvalidArgument("a token of an unknown kind");
  if (token.roles != 0) return InvalidArgument("a join token has no roles");
  return token.subject.empty() ? Status::Ok() : CheckWorker(token.subject);
}

struct Parts {
  std::string bytes;  // payload and signature
  Token token;
  std::string_view payload() const { return std::string_view(bytes).substr(0, bytes.size() - kTokenSignatureBytes); }
  std::string_view signature() const { return std::string_view(bytes).substr(bytes.size() - kTokenSignatureBytes); }
};

Result<Parts> Take(std::string_view text) {
  if (text.size() > kMaxTokenBytes) return InvalidArgument("a token has at most 1,024 bytes");
  if (!text.starts_with(kTokenPrefix)) {
    return InvalidArgument("a token begins with \"" + std::string(kTokenPrefix) + "\"");
  }
  Parts parts;
  std::string& bytes = parts.bytes;
  const Status malformed = InvalidArgument("the token is damaged or not complete");
  if (!FromBase64Url(text.substr(kTokenPrefix.size()), &bytes)) return malformed;
  if (bytes.size() < kFixedBytes + kTokenSignatureBytes) return malformed;
  const uint8_t version = static_cast<uint8_t>(bytes[0]);
  if (version != kTokenVersion) {
    return InvalidArgument("the token has version " + std::to_string(version) + "; this release reads version 1");
  }
  Token& token = parts.token;
  token.kind = static_cast<TokenKind>(bytes[1]);
  token.roles = static_cast<uint8_t>(bytes[2]);
  token.id = HexOf(std::string_view(bytes).substr(3, kIdBytes));
  token.cluster_id = NumberAt(bytes, 3 + kIdBytes);
  token.issued = {static_cast<int64_t>(NumberAt(bytes, 11 + kIdBytes))};
  token.expires = {static_cast<int64_t>(NumberAt(bytes, 19 + kIdBytes))};
  const size_t length = static_cast<uint8_t>(bytes[kFixedBytes - 1]);
  if (bytes.size() != kFixedBytes + length + kTokenSignatureBytes) return malformed;
  token.subject = bytes.substr(kFixedBytes, length);
  return parts;
}

Status Refused(const std::string& why) { return Status(Code::kNotAllowed, why); }

}  // namespace

Result<std::string> NewTokenId() {
  std::array<unsigned char, kIdBytes> bytes;
  if (RAND_bytes(bytes.data(), bytes.size()) != 1) return Internal("the kernel gives no random bytes");
  return HexOf({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<Secret<std::string>> SignToken(const Token& token, const PrivateKey& key) {
  MR_RETURN_IF_ERROR(CheckFields(token));
  std::string payload;
  payload += static_cast<char>(kTokenVersion);
  payload += static_cast<char>(token.kind);
  payload += static_cast<char>(token.roles);
  if (!BytesOfId(token.id, &payload)) return InvalidArgument("the id of a token has 32 hexadecimal digits");
  AppendNumber(token.cluster_id, &payload);
  AppendNumber(static_cast<uint64_t>(token.issued.seconds), &payload);
  AppendNumber(static_cast<uint64_t>(token.expires.seconds), &payload);
  payload += static_cast<char>(token.subject.size());
  payload += token.subject;
  MR_ASSIGN_OR_RETURN(const std::string signature, key.Sign(std::string(kDomain) + payload));
  return Secret<std::string>(std::string(kTokenPrefix) + ToBase64Url(payload + signature));
}

Result<Token> VerifyToken(std::string_view text, std::span<const PublicKey> keys, uint64_t cluster_id, UnixTime now,
                          const TokenIds& revoked) {
  const auto parts = Take(text);
  if (!parts.ok()) return Refused(parts.status().message());
  const Token& token = parts->token;
  const std::string signed_bytes = std::string(kDomain) + std::string(parts->payload());
  if (std::none_of(keys.begin(), keys.end(),
                   [&](const PublicKey& key) { return key.Verifies(signed_bytes, parts->signature()); })) {
    // The cluster id is not proven here, but it explains most cases: a token of another cluster.
    return Refused(
        token.cluster_id == cluster_id
            ? "the token is not signed by this cluster, or was made before its keys were rotated: ask for another "
              "one, which an administrator makes with mrctl token create"
            : "the token is of another cluster (" + ClusterText(token.cluster_id) + "), not of " +
                  ClusterText(cluster_id));
  }
  if (const Status fields = CheckFields(token); !fields.ok()) return Refused(fields.message());
  if (token.cluster_id != cluster_id) {
    return Refused("the token is of another cluster (" + ClusterText(token.cluster_id) + "), not of " +
                   ClusterText(cluster_id));
  }
  if (now >= token.expires) return Refused("the token has expired (" + Text(token.expires) + ")");
  if (now + kTokenSkew < token.issued) {
    return Refused("the token was issued in the future (" + Text(token.issued) + "): check the clocks");
  }
  if (revoked.contains(token.id)) return Refused("the token was revoked or used before");
  return token;
}

Identity IdentityOf(const Token& token) {
  if (token.kind == TokenKind::kJoin) return {.subject = "join", .roles = kJoiner, .proof = Proof::kJoin};
  return {.subject = token.subject, .roles = token.roles, .proof = Proof::kToken};
}

Result<Token> ReadUncheckedToken(std::string_view text) {
  MR_ASSIGN_OR_RETURN(const Parts parts, Take(text));
  return parts.token;
}

}  // namespace mr::secure
