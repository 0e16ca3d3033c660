// The caller of a request: which objects that belong to somebody exist for it. Values only; no I/O.
#pragma once

#include <string>

#include "common/model/identity.h"

namespace mr {

// An identity during one call. MasterCore's Prepare functions take it with each request.
struct Caller {
  Identity identity;
  Roles others = 0;  // the roles with which this call may name objects of other owners (schema/access.capnp)

  // Returns whether an object of this owner exists for the caller. An owner that is not known is "admin".
  bool Reaches(const std::string& owner) const { return identity.subject == owner || identity.HasAny(others); }
};

// Owner of what older journals have without one. No identity is given this name without the role kAdmin.
inline constexpr char kNoOwner[] = "admin";

// Returns a caller that reaches every object: for requests of the master itself.
inline Caller Everything() { return {{"master", kAllPeople | kWorker, Proof::kNone}, kAllPeople | kWorker}; }

}  // namespace mr
