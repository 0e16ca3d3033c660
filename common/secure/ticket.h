// Tickets: what a person shows a worker in place of the token, which a worker that was taken over could use elsewhere.
// The master makes one for each worker that a person reads from or writes to (common/adr/0019-grants.md).
#pragma once

#include <cstdint>
#include <string>

#include "common/model/identity.h"

namespace mr::secure {

// GrantKey::SignTicket and CheckTicket convert it to and from bytes.
struct Ticket {
  std::string token_id;  // of the token that the master saw; "": none (a unix socket), so that nothing revokes it
  std::string subject;
  Roles roles = 0;
  int64_t until = 0;  // seconds since 1970
};

// Longer than a command of mrctl reads a file (guess), for people without a token.
inline constexpr int64_t kTicketSeconds = 12 * 3600;

}  // namespace mr::secure
