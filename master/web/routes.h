// The paths that the master serves over HTTP, and who may read them: one table, from which requests are dispatched and
// checked. A path that has no entry is not there, so nothing can be served without one. The roles are those of the RPC
// methods that show the same (schema/client.capnp).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/model/identity.h"

namespace mr::web {

enum class RouteKind {
  kHealth,
  kReady,
  kMetrics,
  kLogin,
  kIndex,     // the list of documents
  kEvents,    // when a document changes; the document's own route decides, too
  kDocument,  // the path below api/v1/ names a topic
  kPage,
  kMissing,  // every other path: an answer that there is nothing
};

// The object that a route names or lists (as rpc::Object).
enum class RouteObject { kNone, kJob };

struct Route {
  const char* pattern;  // "/jobs/ID"; ID stands for one part of a path
  RouteKind kind;
  Roles roles;                              // may read; 0: anybody, without an identity
  RouteObject object = RouteObject::kNone;  // kJob: jobs of other owners are absent, and left out of lists
  Roles others = 0;                         // the roles for which jobs of other owners are there
};

// All routes but the one of kMissing.
std::span<const Route> Routes();
// Returns the route of a path.
const Route& RouteOf(std::string_view path);

// Returns whether the identity may read the route. Errors: kNotAllowed, with the roles that it needs and has.
Status CheckRoute(const Route& route, const Identity& identity);
// Returns the owner whose jobs alone exist for the identity on this route; "": all jobs do.
std::string OwnerSeen(const Route& route, const Identity& identity);

}  // namespace mr::web
