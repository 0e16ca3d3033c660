// A worker's check of grants (grant.h). Peers that a certificate or a token has let in need one for each
// block and for the outputs of each job; the daemon's own user needs none.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include "common/model/identity.h"
#include "common/secure/grant.h"

namespace mr::secure {

// Thread: any.
class GrantDoor {
 public:
  // The key comes with each registration. Until the first one, nothing that needs a grant is done.
  void SetKey(GrantKey key) {
    const std::lock_guard lock(mutex_);
    key_ = std::make_shared<const GrantKey>(std::move(key));
  }
  // Errors: kNotAllowed; kUnavailable: there is no key yet.
  Status Check(const Identity& identity, const Right& right, std::string_view grant, UnixTime now) const {
    if (identity.proof != Proof::kCertificate && identity.proof != Proof::kToken) return Status::Ok();
    const auto key = Key();
    return key == nullptr ? NoKey() : key->Check(right, grant, now);
  }
  // Returns what a ticket of the master says. Errors: the same.
  Result<Ticket> CheckTicket(std::string_view ticket, UnixTime now) const {
    const auto key = Key();
    return key == nullptr ? Result<Ticket>(NoKey()) : key->CheckTicket(ticket, now);
  }

 private:
  static Status NoKey() { return Unavailable("this worker has not registered yet: try again"); }
  std::shared_ptr<const GrantKey> Key() const {
    const std::lock_guard lock(mutex_);
    return key_;
  }

  mutable std::mutex mutex_;
  std::shared_ptr<const GrantKey> key_;
};

}  // namespace mr::secure
