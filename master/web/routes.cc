#include "master/web/routes.h"

#include <algorithm>

#include "common/secure/names.h"

namespace mr::web {
namespace {

constexpr Roles kAnybody = 0;
constexpr Roles kSeesAll = kViewer | kOperator | kAdmin;

constexpr Route Shared(const char* pattern, RouteKind kind) { return {pattern, kind, kAllPeople}; }
constexpr Route OfJobs(const char* pattern, RouteKind kind) {
  return {pattern, kind, kAllPeople, RouteObject::kJob, kSeesAll};
}

constexpr Route kRoutes[] = {
    {"/healthz", RouteKind::kHealth, kAnybody},
    {"/readyz", RouteKind::kReady, kAnybody},
    {"/login", RouteKind::kLogin, kAnybody},  // its code proves the identity
    {"/metrics", RouteKind::kMetrics, kSeesAll},
    Shared("/api/v1", RouteKind::kIndex),
    Shared("/api/v1/", RouteKind::kIndex),
    Shared("/api/v1/events", RouteKind::kEvents),
    OfJobs("/api/v1/cluster", RouteKind::kDocument),
    Shared("/api/v1/workers", RouteKind::kDocument),
    OfJobs("/api/v1/workers/ID", RouteKind::kDocument),
    Shared("/api/v1/store", RouteKind::kDocument),
    Shared("/api/v1/scheduler", RouteKind::kDocument),
    Shared("/api/v1/queues", RouteKind::kDocument),
    OfJobs("/api/v1/jobs", RouteKind::kDocument),
    OfJobs("/api/v1/search", RouteKind::kDocument),
    OfJobs("/api/v1/jobs/ID", RouteKind::kDocument),
    OfJobs("/api/v1/jobs/ID/report", RouteKind::kDocument),
    OfJobs("/api/v1/jobs/ID/tasks", RouteKind::kDocument),
    OfJobs("/api/v1/jobs/ID/attempts", RouteKind::kDocument),
    OfJobs("/api/v1/jobs/ID/counters", RouteKind::kDocument),
    // The output of somebody's operator is data.
    {"/api/v1/attempts/ID/log", RouteKind::kDocument, kSubmitter | kAdmin, RouteObject::kJob, kAdmin},
    OfJobs("/", RouteKind::kPage),
    OfJobs("/history", RouteKind::kPage),
    Shared("/store", RouteKind::kPage),
    Shared("/scheduler", RouteKind::kPage),
    OfJobs("/jobs/ID", RouteKind::kPage),
    OfJobs("/workers/ID", RouteKind::kPage),
};
constexpr Route kNoRoute = Shared("*", RouteKind::kMissing);

// Takes the part of a path before its next slash, and the slash.
std::string_view TakePart(std::string_view* path) {
  const std::string_view part = path->substr(0, path->find('/'));
  path->remove_prefix(std::min(part.size() + 1, path->size()));
  return part;
}

bool Matches(std::string_view pattern, std::string_view path) {
  if (std::count(pattern.begin(), pattern.end(), '/') != std::count(path.begin(), path.end(), '/')) return false;
  while (!pattern.empty() || !path.empty()) {
    const std::string_view wanted = TakePart(&pattern), part = TakePart(&path);
    if (wanted == "ID" ? part.empty() : wanted != part) return false;
  }
  return true;
}

}  // namespace

std::span<const Route> Routes() { return kRoutes; }

const Route& RouteOf(std::string_view path) {
  const auto found =
      std::find_if(std::begin(kRoutes), std::end(kRoutes), [&](const Route& r) { return Matches(r.pattern, path); });
  return found == std::end(kRoutes) ? kNoRoute : *found;
}

Status CheckRoute(const Route& route, const Identity& identity) {
  if (route.roles == kAnybody || identity.HasAny(route.roles)) return Status::Ok();
  return {Code::kNotAllowed, std::string(route.pattern) + " needs one of the roles " + secure::RoleNames(route.roles) +
                                 "; the roles of '" + identity.subject + "' are: " + secure::RoleNames(identity.roles) +
                                 ". Ask an admin of the cluster for such a role"};
}

std::string OwnerSeen(const Route& route, const Identity& identity) {
  return route.object == RouteObject::kNone || identity.HasAny(route.others) ? "" : identity.subject;
}

}  // namespace mr::web
