// A peer that may call everything, for services that a test makes without a connection.
#pragma once

#include <memory>

#include "common/rpc/guarded.h"

namespace mr::test {

inline rpc::GuardPtr GuardFor(std::string subject, Roles roles, Proof proof = Proof::kToken) {
  return std::make_shared<const rpc::Guard>(rpc::Guard{{std::move(subject), roles, proof}, "test:1", nullptr});
}
inline rpc::GuardPtr Anybody() { return GuardFor("anybody", kAllPeople | kWorker, Proof::kNone); }

}  // namespace mr::test
