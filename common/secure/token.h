// Signed tokens: how people prove who they are, and how a new worker asks for its certificate. A token is a text of one
// line: "mrt1_" and base64url of a payload and its Ed25519 signature. Whoever holds it has its roles until it expires
// or is revoked, so it is kept in files of mode 0600 (private_file.h). Pure: no I/O; the time is an argument.
//
// Payload, little-endian: version u8 = 1, kind u8, roles u8, id 16 bytes, cluster u64, issued i64, expires i64 (seconds
// since 1970), length of the subject u8, subject. The signature covers "paceline token\n" and the payload.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/model/identity.h"
#include "common/secure/keys.h"
#include "common/secure/unix_time.h"

namespace mr::secure {

inline constexpr std::string_view kTokenPrefix = "mrt1_";
inline constexpr size_t kMaxTokenBytes = 1024;              // of the text: the credential frame takes no more
inline constexpr Duration kTokenLife = Seconds(12 * 3600);  // the default: a day's work
inline constexpr Duration kLongestTokenLife = kDay * 366;   // a guess: longer ones are forgotten in files
inline constexpr Duration kJoinLife = Seconds(15 * 60);     // as kubeadm's and Swarm's are used: at once
// A token issued by a machine whose clock is so far ahead is accepted (guess).
inline constexpr Duration kTokenSkew = Seconds(5 * 60);

// The numbers are in tokens.
enum class TokenKind : uint8_t {
  kPerson = 1,  // a person or a service, with roles
  kJoin = 2,    // one new worker may ask for its certificate, once
};

struct Token {
  TokenKind kind = TokenKind::kPerson;
  std::string id;       // 32 hexadecimal digits; names it in lists and in `mrctl token revoke`; no secret
  std::string subject;  // CheckPerson for people; the worker's name, or "" for any, in a join token
  Roles roles = 0;      // kAllPeople at most; 0 in a join token
  uint64_t cluster_id = 0;
  UnixTime issued, expires;
  std::string key;  // PublicKey::Id() of the key that signed it; only in lists (token_log.h)
};

// Returns a random id for a new token.
Result<std::string> NewTokenId();

// Signs a token. Errors: kInvalidArgument: a field is out of its range, or the life is zero or over a year.
Result<Secret<std::string>> SignToken(const Token& token, const PrivateKey& key);

// Ids of tokens that are no longer accepted, as 32 hexadecimal digits.
using TokenIds = std::set<std::string, std::less<>>;

// Checks a token's signature by one of the keys, its cluster, times and that it is not revoked, in this order, and
// returns it. Errors: kNotAllowed, with a sentence that is good for the peer. Cost: 0.1 ms.
Result<Token> VerifyToken(std::string_view text, std::span<const PublicKey> keys, uint64_t cluster_id, UnixTime now,
                          const TokenIds& revoked);

// Returns the identity that a verified token proves: subject and roles for a person, "join" without roles for a worker
// that has no certificate yet.
Identity IdentityOf(const Token& token);

// Reads a token without checking its signature: for its holder, who wants to know when it expires. Errors:
// kInvalidArgument.
Result<Token> ReadUncheckedToken(std::string_view text);

}  // namespace mr::secure
