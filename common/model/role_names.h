// The names of roles, as people read and write them. Values only; no I/O.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "common/model/identity.h"

namespace mr {

struct NamedRole {
  RoleBit bit;
  std::string_view name;
};
inline constexpr std::array kRoleNames{NamedRole{kViewer, "viewer"},     NamedRole{kSubmitter, "submitter"},
                                       NamedRole{kOperator, "operator"}, NamedRole{kAdmin, "admin"},
                                       NamedRole{kWorker, "worker"},     NamedRole{kJoiner, "joiner"},
                                       NamedRole{kMaster, "master"}};

// Returns the names of the roles in the order of kRoleNames, with the separator between them; "" for none.
inline std::string RoleNames(Roles roles, std::string_view separator) {
  std::string text;
  for (const NamedRole& role : kRoleNames) {
    if ((roles & role.bit) == 0) continue;
    if (!text.empty()) text += separator;
    text += role.name;
  }
  return text;
}

// Returns the role with this name.
inline std::optional<RoleBit> RoleNamed(std::string_view name) {
  for (const NamedRole& role : kRoleNames) {
    if (role.name == name) return role.bit;
  }
  return std::nullopt;
}

}  // namespace mr
