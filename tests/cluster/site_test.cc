// The master's site beside mrctl: the same documents, from a running master.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "common/rpc/http_entry.h"
#include "tests/cluster/prepared.h"
#include "tests/support/http_get.h"
#include "tests/support/json_schema.h"

namespace mr::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Json = nlohmann::json;

class MasterSiteTest : public PreparedTest {
 protected:
  static std::string Body(const std::string& path) {
    const std::string answer = HttpGet(prepared_->cluster().master_http_port(), path);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\n")) << path;
    const size_t end = answer.find("\r\n\r\n");
    return end == std::string::npos ? "" : answer.substr(end + 4);
  }
  static Json Api(const std::string& path, const std::string& schema) {
    const std::string body = Body("/api/v1/" + path);
    EXPECT_EQ(SchemaViolation(body, std::string(MR_SOURCE_DIR) + "/jobs/mrctl/schema/" + schema + ".json"), "") << body;
    return Json::parse(body, nullptr, false);
  }
  static Json Printed(std::vector<std::string> args) {
    args.insert(args.begin(), {"-o", "json"});
    return Json::parse(Mrctl(args).out, nullptr, false);
  }
};

TEST_F(MasterSiteTest, DocumentsAreThoseOfMrctl) {
  const std::string job = kDoneJob;
  EXPECT_EQ(Api("jobs/" + job + "/tasks", "tasks"), Printed({"job", "tasks", job}));
  EXPECT_EQ(Api("jobs/" + job + "/attempts", "attempts"), Printed({"job", "attempts", job}));
  EXPECT_EQ(Api("jobs/" + job + "/counters", "counters"), Printed({"job", "counters", job}));
  // Other processes write to the same disk between the two.
  Json site_workers = Api("workers", "workers"), printed_workers = Printed({"workers"});
  for (Json* document : {&site_workers, &printed_workers}) {
    for (Json& worker : (*document)["workers"]) EXPECT_EQ(worker.erase("capacity_bytes"), 1u);
  }
  EXPECT_EQ(site_workers, printed_workers);
  EXPECT_EQ(Api("queues", "queues"), Printed({"queues"}));
  Json shown = Api("jobs/" + job, "job");
  shown["job"].erase("counters");
  EXPECT_EQ(shown, Printed({"job", "show", job}));
  // Workers go on working between the two.
  Json site = Api("jobs/" + job + "/report", "report"), printed = Printed({"report", job});
  for (Json* report : {&site, &printed}) {
    (*report)["report"].erase("taken_unix_ms");
    (*report)["report"].erase("workers");
  }
  EXPECT_EQ(site, printed);
}

TEST_F(MasterSiteTest, OtherDocumentsFitTheirSchemas) {
  const Json cluster = Api("cluster", "cluster")["cluster"];
  EXPECT_EQ(cluster["slots"]["total"], 8);
  EXPECT_EQ(cluster["workers"], (Json{{"live", 2}}));
  EXPECT_EQ(cluster["jobs"]["running"], 1);
  EXPECT_EQ(cluster["open"][0]["id"], kRunningJob);
  EXPECT_EQ(cluster["ended"][0]["id"], kDoneJob);
  EXPECT_EQ(cluster["series"]["slots"].size(), cluster["series"]["busy"].size());
  EXPECT_EQ(Api("workers/w1", "worker")["workers"][0]["id"], "w1");
  const Json store = Api("store", "store")["store"];
  EXPECT_GT(store["blocks"], 0);
  EXPECT_EQ(store["entries"][0]["id"], "/data");
  const Json scheduler = Api("scheduler", "scheduler")["scheduler"];
  EXPECT_FALSE(scheduler["policies"].empty());
  Api("", "documents");
}

TEST_F(MasterSiteTest, JobsAreChosenByStateAndName) {
  EXPECT_EQ(Api("jobs", "jobs")["jobs"].size(), 2u);
  EXPECT_EQ(Api("jobs?state=succeeded", "jobs")["jobs"][0]["id"], kDoneJob);
  EXPECT_EQ(Api("jobs?state=failed,killed", "jobs")["jobs"].size(), 0u);
  EXPECT_EQ(Api("jobs?before=" + std::string(kRunningJob), "jobs")["jobs"].size(), 1u);
  EXPECT_EQ(Api("jobs?name=WORDC", "jobs")["jobs"][0]["id"], kDoneJob);
  EXPECT_EQ(Api("search?q=w2", "search")["results"][0]["id"], "w2");
}

TEST_F(MasterSiteTest, PagesAreServedAndAnotherNameIsNot) {
  const std::string done = kDoneJob;
  for (const std::string& path : std::vector<std::string>{"/", "/history", "/scheduler", "/store", "/workers/w1",
                                                          "/jobs/" + done, "/jobs/" + std::string(kRunningJob)}) {
    EXPECT_THAT(Body(path), HasSubstr("<!doctype html>")) << path;
  }
  const uint16_t port = prepared_->cluster().master_http_port();
  EXPECT_THAT(RawHttp(port, "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"), StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(RawHttp(port, "GET /metrics HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n\r\n"),
              StartsWith("HTTP/1.1 403 Forbidden\r\n"));
  EXPECT_THAT(RawHttp(port, "GET /metrics HTTP/1.1\r\nHost: master\r\n" + BearerOf(port) + "\r\n"),
              StartsWith("HTTP/1.1 200 OK\r\n"))
      << "programs may use any name";
  EXPECT_THAT(HttpGet(port, "/jobs/job_9_0001"), StartsWith("HTTP/1.1 404 Not Found\r\n"));
}

// The default, without certificates: other users of this machine reach the port, too.
TEST_F(MasterSiteTest, WithoutAnIdentityOnlyHealthIsServed) {
  const Cluster& cluster = prepared_->cluster();
  const auto get = [](uint16_t port, const std::string& path) {
    return RawHttp(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  };
  for (const uint16_t port : {cluster.master_http_port(), cluster.worker_http_port(0)}) {
    EXPECT_THAT(get(port, "/healthz"), EndsWith("\r\n\r\nok\n"));
    EXPECT_THAT(get(port, "/readyz"), StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(get(port, "/metrics"), StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
    EXPECT_THAT(HttpGet(port, "/metrics"), StartsWith("HTTP/1.1 200 OK\r\n"));
  }
  EXPECT_THAT(get(cluster.worker_http_port(0), "/"), StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(HttpGet(cluster.worker_http_port(0), "/"), StartsWith("HTTP/1.1 404 "));
  const std::string page = get(cluster.master_http_port(), "/jobs/" + std::string(kDoneJob));
  EXPECT_THAT(page, StartsWith("HTTP/1.1 401 Unauthorized\r\n"));
  EXPECT_THAT(page, HasSubstr("mrctl page"));
  // The secret of the RPC port is another one.
  const auto rpc = rpc::BearerFor("127.0.0.1:" + std::to_string(cluster.master_port()));
  ASSERT_TRUE(rpc.ok());
  EXPECT_THAT(RawHttp(cluster.master_http_port(),
                      "GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: " + rpc->Reveal() + "\r\n\r\n"),
              StartsWith("HTTP/1.1 401 "));
}

TEST_F(MasterSiteTest, ALinkOfMrctlLetsABrowserInOnce) {
  const uint16_t port = prepared_->cluster().master_http_port();
  const RunResult made = Mrctl({"page"});
  ASSERT_EQ(made.exit, 0) << made.err;
  const std::string begin = "http://localhost:" + std::to_string(port) + "/";
  ASSERT_THAT(made.out, StartsWith(begin + "login?code="));
  const std::string path = made.out.substr(begin.size() - 1, made.out.find('\n') - begin.size() + 1);
  const std::string reply = RawHttp(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  ASSERT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  const size_t at = reply.find("Set-Cookie: ") + 12;
  const std::string cookie = "Cookie: " + reply.substr(at, reply.find(';', at) - at) + "\r\n";
  EXPECT_THAT(RawHttp(port, "GET / HTTP/1.1\r\nHost: localhost\r\n" + cookie + "\r\n"), HasSubstr("<!doctype html>"));
  EXPECT_THAT(RawHttp(port, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n"), StartsWith("HTTP/1.1 401 "));
}

TEST_F(MasterSiteTest, EventsEndWithAJobThatHasEnded) {
  const uint16_t port = prepared_->cluster().master_http_port();
  const std::string events = RawHttp(port, "GET /api/v1/events?of=jobs/" + std::string(kDoneJob) +
                                               "/report HTTP/1.1\r\nHost: localhost\r\n" + BearerOf(port) + "\r\n");
  EXPECT_THAT(events, HasSubstr("event: changed\ndata: {\"etag\":"));
  EXPECT_THAT(events, HasSubstr("event: final\n"));
}

}  // namespace
}  // namespace mr::test
