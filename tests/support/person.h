// A person with a token, as a connection proves one.
#pragma once

#include <string>
#include <utility>

#include "common/model/identity.h"

namespace mr::test {

inline Identity Person(std::string name, Roles roles) { return {std::move(name), roles, Proof::kToken}; }

}  // namespace mr::test
