// One-time links and the sessions that they are exchanged for. A link is made over RPC, where its maker has proved an
// identity, and a browser turns it into a cookie. Both are 128 random bits; only their digests are kept, in memory.
// Thread: one at a time.
#pragma once

#include <list>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/model/identity.h"
#include "common/rpc/authenticator.h"

namespace mr::web {

// An identity, and how long it is good.
struct Login {
  Identity identity;  // with roles of people only
  rpc::Lease lease;   // of the credential that proved it
  Instant end{};      // of the session; set by Find
};

class Logins {
 public:
  struct Limits {
    Duration link = Seconds(60);            // a link's life: it is used at once
    Duration session = Seconds(12 * 3600);  // as a token's by default: a day's work
    size_t links = 8, sessions = 32;        // of one subject; a new one replaces the oldest. Guesses
    size_t most = 1024;                     // of each kind; at the limit a new one replaces the oldest of all. A guess
  };
  explicit Logins(Limits limits) : limits_(limits) {}

  // Returns the code of a new link: 32 hexadecimal digits. Errors: kInternal: no random bytes.
  Result<Secret<std::string>> MakeLink(Login login, Instant now);
  // Exchanges a code for the key of a session, 32 hexadecimal digits. The code is of no use afterwards. Errors:
  // kNotAllowed: it is unknown, was used, or is too old; kInternal.
  Result<Secret<std::string>> Exchange(std::string_view code, Instant now);
  // Returns the login of a session. Whether its lease is still good is not looked at.
  std::optional<Login> Find(std::string_view key, Instant now);
  // Ends a session.
  void End(std::string_view key);

 private:
  struct Entry {
    std::string digest;
    Login login;
    Instant end;
  };
  using Entries = std::list<Entry>;  // the oldest first
  // Makes an entry. Returns its secret.
  static Result<Secret<std::string>> Add(Entries* entries, Login login, Instant end, size_t of_subject, size_t most);
  // Returns the entry of a secret, comparing all of them in a time that does not depend on their bytes.
  static Entries::iterator At(Entries* entries, std::string_view secret, Instant now);

  const Limits limits_;
  Entries links_, sessions_;
};

}  // namespace mr::web
