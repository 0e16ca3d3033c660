#include "common/secure/ticket.h"

#include <openssl/crypto.h>

#include <string_view>

#include "common/secure/grant.h"

namespace mr::secure {
namespace {

constexpr size_t kUntilBytes = 8, kHeadBytes = kUntilBytes + 2, kMostName = 255;

// Returns what is authenticated. The word keeps these texts apart from grants and from names of workers.
std::string TextOf(std::string_view body) { return "ticket:" + std::string(body); }

}  // namespace

// The body is {i64 until, u8 roles, u8 length of the token's id, that id, the subject}, little-endian; then the HMAC.
Secret<std::string> GrantKey::SignTicket(const Ticket& ticket) const {
  std::string text;
  // Reserved whole, so that no part of it is in a buffer that the string has outgrown.
  text.reserve(kHeadBytes + ticket.token_id.size() + ticket.subject.size() + kBytes);
  for (size_t i = 0; i < kUntilBytes; ++i) {
    text.push_back(static_cast<char>(static_cast<uint64_t>(ticket.until) >> (8 * i)));
  }
  text.push_back(static_cast<char>(ticket.roles));
  const std::string id = ticket.token_id.substr(0, kMostName);
  text.push_back(static_cast<char>(id.size()));
  text += id + ticket.subject;
  const Key mac = Mac(TextOf(text));
  text.append(reinterpret_cast<const char*>(mac.data()), mac.size());
  return Secret<std::string>(std::move(text));
}

Result<Ticket> GrantKey::CheckTicket(std::string_view bytes, UnixTime now) const {
  const Status bad = {Code::kNotAllowed, "the ticket is not of this cluster's master, or for another worker"};
  if (bytes.size() < kHeadBytes + kBytes) return bad;
  const std::string_view body = bytes.substr(0, bytes.size() - kBytes);
  const Key mac = Mac(TextOf(body));
  if (CRYPTO_memcmp(mac.data(), bytes.data() + body.size(), kBytes) != 0) return bad;
  uint64_t until = 0;
  for (size_t i = 0; i < kUntilBytes; ++i) until |= uint64_t{static_cast<uint8_t>(body[i])} << (8 * i);
  const size_t id_bytes = static_cast<uint8_t>(body[kUntilBytes + 1]);
  if (body.size() <= kHeadBytes + id_bytes) return bad;
  Ticket ticket;
  ticket.until = static_cast<int64_t>(until);
  ticket.roles = static_cast<Roles>(static_cast<uint8_t>(body[kUntilBytes]) & kAllPeople);
  ticket.token_id = body.substr(kHeadBytes, id_bytes);
  ticket.subject = body.substr(kHeadBytes + id_bytes);
  if (now.seconds >= ticket.until) {
    return Status(Code::kNotAllowed, "the ticket has ended, as the token has: ask for another token");
  }
  return ticket;
}

}  // namespace mr::secure
