// The gate over a real port: each route with each role, links, sessions, and pages of other sites.
#include "master/web/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <set>

#include "common/rpc/wait_for_loop.h"
#include "common/secure/names.h"
#include "master/web/site.h"
#include "tests/master/web/fake_source.h"
#include "tests/master/web/route_path.h"
#include "tests/support/http_get.h"
#include "tests/support/person.h"

namespace mr::web {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Takes "mrt1_NAME", where NAME is one of a few people.
class People final : public rpc::Authenticator {
 public:
  Status Listening(const std::string&, bool) override { return Status::Ok(); }
  Result<Admitted> Authenticate(const rpc::Hello&, const rpc::Credential& credential,
                                const rpc::SocketFacts&) override {
    if (credential.kind != rpc::CredentialKind::kToken) return Status(Code::kNotAllowed, "no token");
    const std::string name = credential.bytes.Reveal().substr(5);
    if (!RolesOf().contains(name) || revoked(name)) return Status(Code::kNotAllowed, "the token is of no use");
    return Admitted{test::Person(name, RolesOf().at(name)), {}, {name, 0, ""}};
  }
  bool StillGood(const rpc::Lease& lease) const override { return !revoked(lease.id); }
  void Revoke(const std::string& name) {
    const std::lock_guard lock(mutex_);
    revoked_.insert(name);
  }

  static const std::map<std::string, Roles>& RolesOf() {
    static const auto* const roles = new std::map<std::string, Roles>{
        {"victor", kViewer}, {"sue", kSubmitter}, {"otto", kOperator}, {"ada", kAdmin}, {"wally", kWorker}};
    return *roles;
  }

 private:
  bool revoked(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return revoked_.contains(name);
  }
  mutable std::mutex mutex_;
  std::set<std::string> revoked_;
};

class GateTest : public testing::Test {
 protected:
  GateTest() {
    source_.AnswerWith([this](const Topic& topic) {
      owner_ = topic.owner;
      if (topic.kind == TopicKind::kLog) {
        return Reading{std::make_shared<View>(LogView{"", "\"release\":\"" + topic.owner + "\""}), false, {}};
      }
      return FakeSource::Cluster(topic.owner);
    });
    const auto bound = rpc::WaitForLoop<Result<uint16_t>>(kj_, [&] {
      Gate::Options options;
      options.cookie = "paceline_7";
      options.now = [this] { return Instant{now_.load()}; };
      gate_ = kj::heap<Gate>(std::move(options), people_);
      Site::Options site;
      site.limits = {.period = {}, .pause = 0};
      site_ = kj::heap<Site>(site, kj_, pool_, source_);
      server_ = kj::heap<rpc::HttpServer>(kj_.io(), people_,
                                          [this](const rpc::HttpRequest& request) { return Answer(request); });
      return server_->Listen("127.0.0.1", 0);
    });
    port_ = bound.value();
  }
  ~GateTest() noexcept override {
    pool_.Stop();
    kj_.Run([this] {
      server_ = nullptr;
      site_ = nullptr;
      gate_ = nullptr;
    });
  }

  kj::Promise<rpc::HttpReply> Answer(const rpc::HttpRequest& request) {
    auto checked = gate_->Check(request);
    if (auto* refusal = std::get_if<rpc::HttpReply>(&checked)) return std::move(*refusal);
    const auto& passed = std::get<Gate::Passed>(checked);
    switch (passed.route->kind) {
      case RouteKind::kLogin: return gate_->LogIn(request);
      case RouteKind::kHealth:
      case RouteKind::kReady:
      case RouteKind::kMetrics: return rpc::HttpReply{200, passed.identity.subject + "\n"};
      default: return site_->Answer(request, passed);
    }
  }

  std::string Get(const std::string& path, const std::string& headers = "", const std::string& host = "localhost") {
    return test::RawHttp(port_, "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + headers + "\r\n");
  }
  static std::string Bearer(const std::string& name) { return "Authorization: Bearer mrt1_" + name + "\r\n"; }
  static std::string StatusOf(const std::string& reply) { return reply.substr(std::min<size_t>(9, reply.size()), 3); }

  std::string MakeLink(const std::string& name) {
    std::string link;
    kj_.Run([&] {
      link = gate_->MakeLink({test::Person(name, People::RolesOf().at(name)), {name, 0, ""}, {}})->Reveal();
    });
    return "/" + link;
  }
  // Follows a link. Returns the header with the cookie, as a browser sends it.
  std::string LogIn(const std::string& name) {
    const std::string reply = Get(MakeLink(name));
    EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
    const size_t at = reply.find("Set-Cookie: ") + 12;
    return "Cookie: other=1; " + reply.substr(at, reply.find(';', at) - at) + "\r\n";
  }

  rpc::KjThread kj_{"test"};
  Pool pool_{1};
  FakeSource source_;
  std::string owner_;  // of the last reading; read when its answer is there
  std::atomic<int64_t> now_{Seconds(100).ns};
  std::shared_ptr<People> people_ = std::make_shared<People>();
  kj::Own<Gate> gate_;  // of the loop, as the next ones
  kj::Own<Site> site_;
  kj::Own<rpc::HttpServer> server_;
  uint16_t port_ = 0;
};

std::string UrlFor(const std::string& pattern) {
  if (pattern.ends_with("/search")) return pattern + "?q=x";
  if (pattern.ends_with("/events")) return pattern + "?of=nothing";
  return PathFor(pattern);
}

// The whole table. The source gives documents that name the owner whose jobs they have. A document of the events route
// that does not exist is found missing behind the gate.
TEST_F(GateTest, EachRouteTakesExactlyTheRolesOfItsEntry) {
  size_t refused = 0, passed = 0;
  std::vector<Route> routes(Routes().begin(), Routes().end());
  routes.push_back(RouteOf("/nothing"));
  for (const Route& route : routes) {
    const std::string path = route.kind == RouteKind::kMissing ? "/nothing" : UrlFor(route.pattern);
    if (route.kind == RouteKind::kLogin) continue;  // LinksTest
    const std::string there = route.kind == RouteKind::kEvents || route.kind == RouteKind::kMissing ? "404" : "200";
    EXPECT_EQ(StatusOf(Get(path)), route.roles == 0 ? there : "401") << path << " by nobody";
    EXPECT_EQ(StatusOf(Get(path, "Authorization: Bearer mrt1_forged\r\n")), route.roles == 0 ? there : "401") << path;
    for (const auto& [name, roles] : People::RolesOf()) {
      const bool allowed = route.roles == 0 || (route.roles & roles) != 0;
      const std::string reply = Get(path, Bearer(name));
      EXPECT_EQ(StatusOf(reply), allowed ? there : "403") << path << " by " << name << "\n" << reply;
      ++(allowed ? passed : refused);
      if (!allowed) {
        EXPECT_THAT(reply, Not(HasSubstr("release"))) << path << " by " << name;
      } else if (route.object == RouteObject::kJob) {
        const std::string owner = (route.others & roles) != 0 ? "" : name;
        EXPECT_THAT(reply, HasSubstr("\"release\":\"" + owner + "\"")) << path << " by " << name;
      }
    }
  }
  EXPECT_GT(passed, 60u);
  EXPECT_GT(refused, 20u) << "at least those of a worker";
}

TEST_F(GateTest, WhatNobodyMayReadSaysTheWayIn) {
  const std::string page = Get("/jobs/job_1_0001");
  EXPECT_THAT(page, HasSubstr("mrctl page"));
  EXPECT_THAT(page, HasSubstr("WWW-Authenticate: Bearer\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(page, Not(HasSubstr("job_1_0001")));
  const std::string document = Get("/api/v1/cluster");
  EXPECT_THAT(document, HasSubstr("\"code\":\"not_allowed\""));
  EXPECT_THAT(document, HasSubstr("mrctl page"));
  EXPECT_THAT(Get("/metrics"), HasSubstr("Authorization: Bearer TOKEN"));
  EXPECT_TRUE(source_.reads().empty());
}

TEST_F(GateTest, EventsFollowTheRouteOfTheirDocument) {
  const std::string log = "/api/v1/events?of=attempts%2Fattempt_1_0001_0_m_000000_1%2Flog";
  EXPECT_EQ(StatusOf(Get(log, Bearer("victor"))), "403") << "a viewer reads no logs";
  source_.AnswerWith([this](const Topic& topic) {
    owner_ = topic.owner;
    return FakeSource::Cluster("end", true);
  });
  EXPECT_EQ(StatusOf(Get("/api/v1/events?of=jobs%2Fjob_1_0001%2Freport", Bearer("sue"))), "200");
  EXPECT_EQ(owner_, "sue");
}

TEST_F(GateTest, APageOfOneOwnerIsNotShownToAnother) {
  EXPECT_THAT(Get("/", Bearer("sue")), HasSubstr("\"release\":\"sue\""));
  EXPECT_THAT(Get("/", Bearer("ada")), Not(HasSubstr("\"release\":\"sue\"")));
  EXPECT_THAT(Get("/", Bearer("sue")), HasSubstr("\"release\":\"sue\""));
}

TEST_F(GateTest, ALinkBecomesASessionOnce) {
  const std::string link = MakeLink("victor");
  const std::string reply = Get(link);
  EXPECT_THAT(reply, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(reply, HasSubstr("http-equiv=\"refresh\" content=\"0;url=./\""));
  EXPECT_THAT(reply, HasSubstr("Set-Cookie: paceline_7="));
  EXPECT_THAT(reply, HasSubstr("; Path=/; HttpOnly; SameSite=Strict\r\n"));
  EXPECT_THAT(reply, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(reply, HasSubstr("Referrer-Policy: no-referrer\r\n"));
  const size_t at = reply.find("paceline_7=");
  const std::string cookie = "Cookie: " + reply.substr(at, reply.find(';', at) - at) + "\r\n";
  EXPECT_EQ(StatusOf(Get("/", cookie)), "200");
  EXPECT_EQ(StatusOf(Get("/metrics", cookie)), "200");
  const std::string again = Get(link);
  EXPECT_THAT(again, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(again, Not(HasSubstr("Set-Cookie")));
  EXPECT_THAT(again, HasSubstr("mrctl page"));
}

TEST_F(GateTest, ALinkIsOfNoUseAfterAMinute) {
  const std::string link = MakeLink("victor");
  now_ += Seconds(61).ns;
  EXPECT_THAT(Get(link), StartsWith("HTTP/1.1 401 "));
  for (const char* path :
       {"/login", "/login?", "/login?code=", "/login?code=00000000000000000000000000000000", "/login?x=1&code=0"}) {
    EXPECT_THAT(Get(path), StartsWith("HTTP/1.1 401 ")) << path;
  }
}

TEST_F(GateTest, OnlyGetUsesALinkUp) {
  const std::string link = MakeLink("victor");
  const auto head = [&](const std::string& path) {
    return test::RawHttp(port_, "HEAD " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  };
  for (const std::string& path : {link, link, std::string("/login?code=0")}) {
    const std::string looked = head(path);
    EXPECT_THAT(looked, StartsWith("HTTP/1.1 200 ")) << "it does not say whether the link is good";
    EXPECT_THAT(looked, Not(HasSubstr("Set-Cookie"))) << "a look is no session";
  }
  EXPECT_THAT(Get(link), HasSubstr("Set-Cookie: paceline_7="));
  EXPECT_THAT(Get(link), StartsWith("HTTP/1.1 401 ")) << "it was used";
}

TEST_F(GateTest, ASessionEndsAfterTwelveHoursOrWithItsToken) {
  const std::string victor = LogIn("victor"), ada = LogIn("ada");
  EXPECT_EQ(StatusOf(Get("/", victor)), "200");
  people_->Revoke("victor");
  const std::string revoked = Get("/", victor);
  EXPECT_THAT(revoked, StartsWith("HTTP/1.1 401 "));
  EXPECT_THAT(revoked, HasSubstr("was revoked"));
  EXPECT_EQ(StatusOf(Get("/", ada)), "200");
  now_ += Seconds(12 * 3600).ns;
  EXPECT_THAT(Get("/", ada), HasSubstr("The session has ended"));
}

TEST_F(GateTest, ASessionHasTheRolesOfItsMaker) {
  const std::string sue = LogIn("sue");
  EXPECT_EQ(StatusOf(Get("/metrics", sue)), "403");
  EXPECT_THAT(Get("/jobs/job_1_0001", sue), HasSubstr("\"release\":\"sue\""));
}

// DNS rebinding: a name of somebody else that points here.
TEST_F(GateTest, AForeignNameIsRefusedAlsoWithASession) {
  const std::string cookie = LogIn("ada");
  for (const char* path : {"/", "/api/v1/cluster", "/api/v1/events?of=cluster", "/login?code=0", "/nothing"}) {
    EXPECT_EQ(StatusOf(Get(path, cookie, "evil.example")), "403") << path;
    EXPECT_EQ(StatusOf(Get(path, cookie + "Origin: http://evil.example\r\n")), "403") << path;
  }
  EXPECT_EQ(StatusOf(Get("/metrics", cookie + "Origin: http://evil.example\r\n", "evil.example")), "403");
  EXPECT_EQ(StatusOf(Get("/metrics", Bearer("ada"), "master")), "200") << "programs may use any name";
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster", Bearer("ada"), "master")), "200");
  EXPECT_EQ(StatusOf(Get("/healthz", "", "master")), "200");
}

TEST_F(GateTest, APageOfAnotherSiteReadsNothing) {
  const std::string cookie = LogIn("ada"), cross = "Sec-Fetch-Site: cross-site\r\n";
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster", cookie + cross)), "403");
  EXPECT_EQ(StatusOf(Get("/metrics", cookie + cross)), "403");
  EXPECT_EQ(StatusOf(Get("/", cross)), "401") << "a link of another site leads here, without the cookie";
  EXPECT_EQ(StatusOf(Get("/api/v1/cluster", cookie + "Sec-Fetch-Site: same-origin\r\n")), "200");
  EXPECT_THAT(Get("/api/v1/cluster", cookie), Not(HasSubstr("Access-Control-")));
}

TEST_F(GateTest, TheCookieIsFoundAmongOthersAndNothingElseIsTaken) {
  const std::string cookie = LogIn("ada");  // behind another one
  EXPECT_EQ(StatusOf(Get("/", cookie)), "200");
  const std::string key = cookie.substr(cookie.rfind('=') + 1, 32);
  EXPECT_EQ(StatusOf(Get("/", "Cookie: paceline_77=" + key + "\r\n")), "401");
  EXPECT_EQ(StatusOf(Get("/", "Cookie: xpaceline_7=" + key + "\r\n")), "401");
  EXPECT_EQ(StatusOf(Get("/", "Cookie: paceline_7=\r\n")), "401");
  EXPECT_EQ(StatusOf(Get("/", "Cookie: paceline_7\r\n")), "401");
  EXPECT_EQ(StatusOf(Get("/", "Authorization: Bearer " + key + "\r\n")), "401") << "it is no token";
  EXPECT_EQ(StatusOf(Get("/", cookie + "Authorization: Basic YTpi\r\n")), "401") << "a header goes first";
}

}  // namespace
}  // namespace mr::web
