#include "master/web/routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "common/rpc/access.h"
#include "master/web/topic.h"
#include "schema/client.capnp.h"
#include "tests/master/web/route_path.h"
#include "tests/support/person.h"

namespace mr::web {
namespace {

using test::Person;
using ::testing::HasSubstr;

constexpr Roles kSeesAll = kViewer | kOperator | kAdmin;

TEST(RoutesTest, EachDocumentOfTheListHasARoute) {
  for (const TopicDoc& doc : TopicDocs()) {
    const std::string path(doc.path);
    const std::string url = PathFor("/api/v1/" + path.substr(0, path.find('?')));
    EXPECT_NE(RouteOf(url).kind, RouteKind::kMissing) << doc.path;
  }
}

TEST(RoutesTest, EachDocumentThatARouteNamesIsOne) {
  for (const Route& route : Routes()) {
    const std::string path = PathFor(route.pattern);
    EXPECT_EQ(&RouteOf(path), &route) << path << " goes to " << RouteOf(path).pattern;
    if (route.kind != RouteKind::kDocument) continue;
    const auto topic = ParseTopic(path.substr(8), path.ends_with("/search") ? "q=x" : "");
    EXPECT_TRUE(topic.ok()) << path;
  }
}

TEST(RoutesTest, OtherPathsHaveNone) {
  for (const char* path :
       {"", "/x", "/healthz/", "/metrics/x", "/jobs", "/jobs/", "/jobs/a/b", "//", "/api", "/api/v1x", "/api/v1/jobs/",
        "/api/v1/jobs/job_1_0001/spec", "/api/v1/attempts//log", "/Login", "/api/v1/jobs/job_1_0001/report/"}) {
    EXPECT_EQ(RouteOf(path).kind, RouteKind::kMissing) << path;
  }
  EXPECT_EQ(RouteOf("/x").roles, kAllPeople) << "also that there is nothing is not for everybody";
}

TEST(RoutesTest, RolesAreThoseOfTheCallsThatShowTheSame) {
  const std::map<std::string, std::string> calls = {{"/api/v1/jobs", "jobs"},
                                                    {"/api/v1/jobs/ID", "job"},
                                                    {"/api/v1/jobs/ID/tasks", "tasks"},
                                                    {"/api/v1/jobs/ID/attempts", "attempts"},
                                                    {"/api/v1/jobs/ID/counters", "counters"},
                                                    {"/api/v1/jobs/ID/report", "decisions"},
                                                    {"/jobs/ID", "decisions"},
                                                    {"/api/v1/attempts/ID/log", "logs"},
                                                    {"/api/v1/workers", "workers"},
                                                    {"/api/v1/queues", "queues"}};
  const auto& methods = rpc::AccessTable::Of<rpc::MasterForClient>().methods();
  size_t compared = 0;
  for (const Route& route : Routes()) {
    const auto call = calls.find(route.pattern);
    if (call == calls.end()) continue;
    for (const rpc::MethodAccess& method : methods) {
      if (method.name != call->second) continue;
      ++compared;
      EXPECT_EQ(route.roles, method.roles) << route.pattern;
      EXPECT_EQ(route.others, method.others) << route.pattern;
      EXPECT_EQ(route.object == RouteObject::kJob, method.object == rpc::Object::JOB) << route.pattern;
    }
  }
  EXPECT_EQ(compared, calls.size());
}

TEST(RoutesTest, OnlyHealthAndTheLinkAreForAnybody) {
  for (const Route& route : Routes()) {
    const std::string pattern(route.pattern);
    EXPECT_EQ(route.roles == 0, pattern == "/healthz" || pattern == "/readyz" || pattern == "/login") << pattern;
    EXPECT_EQ(route.roles & ~kAllPeople, 0) << pattern << ": no worker reads pages";
    EXPECT_EQ(route.others & ~route.roles, 0) << pattern;
  }
}

TEST(RoutesTest, JobsOfOthersExistForThoseWhoSeeAll) {
  const Route& job = RouteOf("/jobs/job_1_0001");
  EXPECT_EQ(OwnerSeen(job, Person("anna", kSubmitter)), "anna");
  for (const Roles role : {kViewer, kOperator, kAdmin}) {
    EXPECT_EQ(OwnerSeen(job, Person("anna", static_cast<Roles>(role | kSubmitter))), "");
  }
  const Route& log = RouteOf("/api/v1/attempts/attempt_1_0001_0_m_000000_1/log");
  EXPECT_EQ(OwnerSeen(log, Person("anna", kViewer | kSubmitter)), "anna") << "who sees a job, not its data";
  EXPECT_EQ(OwnerSeen(log, Person("root", kSeesAll | kSubmitter)), "");
  EXPECT_EQ(OwnerSeen(RouteOf("/store"), Person("anna", kSubmitter)), "") << "it shows no job";
}

TEST(RoutesTest, ARefusalNamesTheRoles) {
  const Status refused = CheckRoute(RouteOf("/metrics"), Person("anna", kSubmitter));
  EXPECT_EQ(refused.code(), Code::kNotAllowed);
  EXPECT_THAT(refused.message(), HasSubstr("viewer,operator,admin"));
  EXPECT_THAT(refused.message(), HasSubstr("'anna' are: submitter"));
}

}  // namespace
}  // namespace mr::web
