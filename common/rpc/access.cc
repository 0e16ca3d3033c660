#include "common/rpc/access.h"

#include <capnp/any.h>

#include <array>
#include <utility>

#include "common/model/role_names.h"

namespace mr::rpc {
namespace {

constexpr std::array<std::pair<CallerRole, RoleBit>, 7> kWireRoles{{{CallerRole::VIEWER, kViewer},
                                                                    {CallerRole::SUBMITTER, kSubmitter},
                                                                    {CallerRole::OPERATOR, kOperator},
                                                                    {CallerRole::ADMIN, kAdmin},
                                                                    {CallerRole::WORKER, kWorker},
                                                                    {CallerRole::JOINER, kJoiner},
                                                                    {CallerRole::MASTER, kMaster}}};

}  // namespace

Roles RolesOf(capnp::List<CallerRole>::Reader roles) {
  Roles all = 0;
  for (const CallerRole role : roles) {
    for (const auto& [wire, bit] : kWireRoles) {
      if (wire == role) all |= bit;
    }
  }
  return all;
}

std::string RoleNames(Roles roles) { return roles == 0 ? "none" : mr::RoleNames(roles, ", "); }

AccessTable::AccessTable(capnp::InterfaceSchema schema) : id_(schema.getProto().getId()) {
  const std::string name(schema.getProto().getDisplayName().cStr());  // "client.capnp:MasterForClient"
  interface_ = name.substr(name.rfind(':') + 1);
  for (const auto method : schema.getMethods()) {
    MethodAccess access;
    access.name = method.getProto().getName().cStr();
    access.params = method.getParamType();
    access.results = method.getResultType();
    for (const auto annotation : method.getProto().getAnnotations()) {
      if (annotation.getId() != kAccessAnnotation) continue;
      const auto value = annotation.getValue().getStruct().getAs<Access>();
      access.roles = RolesOf(value.getRoles());
      access.others = RolesOf(value.getOthers());
      access.object = value.getObject();
      access.changes = value.getChanges();
    }
    methods_.push_back(std::move(access));
  }
}

Status CheckRoles(const Identity& identity, const MethodAccess& method) {
  if (identity.HasAny(method.roles)) return Status::Ok();
  return {Code::kNotAllowed, "'" + method.name + "' is not allowed: it needs one of the roles " +
                                 RoleNames(method.roles) + "; the roles of '" + identity.subject +
                                 "' are: " + RoleNames(identity.roles) +
                                 ". Use an identity with such a role, or ask an admin of the cluster for one"};
}

}  // namespace mr::rpc
