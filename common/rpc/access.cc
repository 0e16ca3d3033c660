#include "common/rpc/access.h"

#include <capnp/any.h>

#include <array>

namespace mr::rpc {
namespace {

struct NamedRole {
  CallerRole wire;
  RoleBit bit;
  const char* name;
};
constexpr std::array kRoles{
    NamedRole{CallerRole::VIEWER, kViewer, "viewer"},       NamedRole{CallerRole::SUBMITTER, kSubmitter, "submitter"},
    NamedRole{CallerRole::OPERATOR, kOperator, "operator"}, NamedRole{CallerRole::ADMIN, kAdmin, "admin"},
    NamedRole{CallerRole::WORKER, kWorker, "worker"},       NamedRole{CallerRole::JOINER, kJoiner, "joiner"},
    NamedRole{CallerRole::MASTER, kMaster, "master"}};

}  // namespace

Roles RolesOf(capnp::List<CallerRole>::Reader roles) {
  Roles all = 0;
  for (const CallerRole role : roles) {
    for (const NamedRole& known : kRoles) {
      if (known.wire == role) all |= known.bit;
    }
  }
  return all;
}

std::string RoleNames(Roles roles) {
  std::string names;
  for (const NamedRole& known : kRoles) {
    if ((roles & known.bit) != 0) names += (names.empty() ? "" : ", ") + std::string(known.name);
  }
  return names.empty() ? "none" : names;
}

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
