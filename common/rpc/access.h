// The roles that may call each method, from the schemas (schema/access.capnp). Read once from the schemas that are
// compiled in.
#pragma once

#include <capnp/schema.h>

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/model/identity.h"
#include "schema/access.capnp.h"

namespace mr::rpc {

// Ids of the annotations in access.capnp, for which the schema compiler makes no names.
inline constexpr uint64_t kAccessAnnotation = 0x939e7af1750b5b54, kCallbackAnnotation = 0xde7e7332a3413896;

// The annotation of one method.
struct MethodAccess {
  std::string name;  // "kill"
  Roles roles = 0;   // may call; 0: not annotated, so nobody may
  Roles others = 0;  // of these, the ones that may name objects of other owners
  Object object = Object::NONE;
  bool changes = false;  // the call is in the audit log
  capnp::StructSchema params, results;
};

// The methods of one interface. Thread: any; it does not change.
class AccessTable {
 public:
  explicit AccessTable(capnp::InterfaceSchema schema);
  // Cost: builds the table at the first use of the interface.
  template <class Interface>
  static const AccessTable& Of() {
    static const AccessTable* const table = new AccessTable(capnp::Schema::from<Interface>());
    return *table;
  }

  // Returns the method, or null where this release does not know it.
  const MethodAccess* Find(uint64_t interface, uint16_t method) const {
    return interface == id_ && method < methods_.size() ? &methods_[method] : nullptr;
  }
  const std::string& interface() const { return interface_; }  // "MasterForClient"
  const std::vector<MethodAccess>& methods() const { return methods_; }

 private:
  uint64_t id_;
  std::string interface_;
  std::vector<MethodAccess> methods_;
};

// Returns the roles of an annotation's list. A role that this release does not know is left out.
Roles RolesOf(capnp::List<CallerRole>::Reader roles);
// Returns "viewer, submitter" for a set of roles, "none" for an empty one.
std::string RoleNames(Roles roles);

// Returns why the identity may not call the method. Errors: kNotAllowed, with the roles that it needs and has.
Status CheckRoles(const Identity& identity, const MethodAccess& method);

}  // namespace mr::rpc
