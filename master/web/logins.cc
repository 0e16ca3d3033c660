#include "master/web/logins.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "common/io/sha256.h"
#include "common/secure/token.h"

namespace mr::web {
namespace {

constexpr size_t kLongestKey = 64;  // ours have 32 bytes

std::string DigestOf(std::string_view secret) {
  Sha256 digest;
  digest.Update(secret);
  return digest.HexDigest();
}

}  // namespace

Logins::Entries::iterator Logins::At(Entries* entries, std::string_view secret, Instant now) {
  entries->remove_if([now](const Entry& e) { return e.end <= now; });
  if (secret.empty() || secret.size() > kLongestKey) return entries->end();
  const std::string digest = DigestOf(secret);
  auto found = entries->end();
  for (auto it = entries->begin(); it != entries->end(); ++it) {
    if (CRYPTO_memcmp(it->digest.data(), digest.data(), digest.size()) == 0) found = it;
  }
  return found;
}

Result<Secret<std::string>> Logins::Add(Entries* entries, Login login, Instant end, size_t of_subject, size_t most) {
  // A token's id is what is needed here: 128 bits of the kernel's, as 32 hexadecimal digits.
  MR_ASSIGN_OR_RETURN(std::string random, secure::NewTokenId());
  Secret<std::string> secret(std::move(random));
  const auto same = [&](const Entry& e) { return e.login.identity.subject == login.identity.subject; };
  if (static_cast<size_t>(std::count_if(entries->begin(), entries->end(), same)) >= of_subject) {
    entries->erase(std::find_if(entries->begin(), entries->end(), same));
  } else if (entries->size() >= most) {
    entries->pop_front();
  }
  entries->push_back({DigestOf(secret.Reveal()), std::move(login), end});
  return secret;
}

Result<Secret<std::string>> Logins::MakeLink(Login login, Instant now) {
  links_.remove_if([now](const Entry& e) { return e.end <= now; });
  return Add(&links_, std::move(login), now + limits_.link, limits_.links, limits_.most);
}

Result<Secret<std::string>> Logins::Exchange(std::string_view code, Instant now) {
  const auto link = At(&links_, code, now);
  if (link == links_.end()) {
    return Status(Code::kNotAllowed, "this link was used already, or is older than a minute");
  }
  Login login = std::move(link->login);
  links_.erase(link);
  sessions_.remove_if([now](const Entry& e) { return e.end <= now; });
  return Add(&sessions_, std::move(login), now + limits_.session, limits_.sessions, limits_.most);
}

std::optional<Login> Logins::Find(std::string_view key, Instant now) {
  const auto session = At(&sessions_, key, now);
  if (session == sessions_.end()) return std::nullopt;
  Login login = session->login;
  login.end = session->end;
  return login;
}

void Logins::End(std::string_view key) {
  if (const auto session = At(&sessions_, key, Instant{}); session != sessions_.end()) sessions_.erase(session);
}

}  // namespace mr::web
