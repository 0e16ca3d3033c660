// The site over a real port of loopback, with a source of the test.
#include "master/web/site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/rpc/wait_for_loop.h"
#include "tests/master/web/fake_source.h"
#include "tests/support/http_get.h"

namespace mr::web {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class SiteTest : public testing::Test {
 protected:
  SiteTest() { Serve({}); }
  ~SiteTest() noexcept override {
    pool_.Stop();
    Close();
  }
  void Close() {
    kj_.Run([this] {
      server_ = nullptr;
      site_ = nullptr;
    });
  }
  // Everybody is let in: who is not is in gate_test.cc.
  void Serve(Site::Options options) {
    options.release = "1.2.3";
    options.limits = {.period = {}, .pause = 0};
    const auto entry = std::make_shared<rpc::NoAuthenticator>();
    const auto bound = rpc::WaitForLoop<Result<uint16_t>>(kj_, [&] {
      server_ = nullptr;
      gate_ = kj::heap<Gate>(Gate::Options{}, entry);
      site_ = kj::heap<Site>(options, kj_, pool_, source_);
      server_ =
          kj::heap<rpc::HttpServer>(kj_.io(), entry, [this](const rpc::HttpRequest& sent) { return Answer(sent); });
      return server_->Listen("127.0.0.1", 0);
    });
    port_ = bound.value();
  }
  kj::Promise<rpc::HttpReply> Answer(const rpc::HttpRequest& sent) {
    const rpc::HttpRequest request = BehindProxy(sent);
    auto checked = gate_->Check(request);
    if (auto* refusal = std::get_if<rpc::HttpReply>(&checked)) return std::move(*refusal);
    return site_->Answer(request, std::get<Gate::Passed>(checked));
  }
  std::string Get(const std::string& path, const std::string& headers = "Host: localhost\r\n") {
    return test::RawHttp(port_, "GET " + path + " HTTP/1.1\r\n" + headers + "\r\n");
  }

  rpc::KjThread kj_{"test"};
  Pool pool_{1};
  FakeSource source_;
  kj::Own<Gate> gate_;  // of the loop, as the next ones
  kj::Own<Site> site_;
  kj::Own<rpc::HttpServer> server_;
  uint16_t port_ = 0;
};

TEST_F(SiteTest, APageHasItsDocumentAndItsPolicy) {
  const std::string page = Get("/");
  EXPECT_THAT(page, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(page, HasSubstr("Content-Security-Policy: default-src 'none'"));
  EXPECT_THAT(page, HasSubstr("frame-ancestors 'none'"));
  EXPECT_THAT(page, HasSubstr("Cache-Control: no-store\r\n"));
  EXPECT_THAT(page, HasSubstr("\"view\":\"cluster\""));
  EXPECT_THAT(page, HasSubstr("\"source\":\"api/v1/cluster\""));
  EXPECT_THAT(page, HasSubstr("\"release\":\"cluster\"")) << "the document that the source gave";
  EXPECT_THAT(Get("/workers/w3"), HasSubstr("\"root\":\"../\""));
}

// `location /paceline { proxy_pass http://master:7080/; }` passes /paceline/store on as //store.
TEST_F(SiteTest, ASecondSlashOfAReverseProxyIsIgnored) {
  EXPECT_THAT(Get("//"), HasSubstr("\"view\":\"cluster\""));
  EXPECT_THAT(Get("//workers/w3"), HasSubstr("\"root\":\"../\""));
  EXPECT_THAT(Get("//api/v1/cluster"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(SiteTest, AnUnchangedDocumentIsNotSentAgain) {
  const std::string first = Get("/api/v1/cluster");
  const size_t at = first.find("ETag: ");
  ASSERT_NE(at, std::string::npos) << first;
  const std::string tag = first.substr(at + 6, first.find('\r', at) - at - 6);
  const std::string again = Get("/api/v1/cluster", "Host: localhost\r\nIf-None-Match: " + tag + "\r\n");
  EXPECT_THAT(again, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(Get("/api/v1/cluster", "Host: localhost\r\nIf-None-Match: \"x\", W/" + tag + "\r\n"),
              StartsWith("HTTP/1.1 304 "))
      << "as a proxy that compresses sends it";
  EXPECT_THAT(again, EndsWith("\r\n\r\n"));
}

TEST_F(SiteTest, ADocumentIsCompressedForWhoTakesIt) {
  const std::string reply = Get("/api/v1/cluster", "Host: localhost\r\nAccept-Encoding: gzip\r\n");
  EXPECT_THAT(reply, HasSubstr("Content-Encoding: gzip\r\n"));
  EXPECT_THAT(reply, HasSubstr("\r\n\r\n\x1f\x8b"));
  EXPECT_THAT(Get("/api/v1/cluster"), Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(Get("/api/v1/cluster", "Host: localhost\r\nAccept-Encoding: br, gzip;q=0\r\n"),
              Not(HasSubstr("Content-Encoding")));
}

TEST_F(SiteTest, OtherNamesAndOtherSitesAreRefused) {
  for (const char* path : {"/", "/api/v1/cluster", "/api/v1/events?of=cluster", "/nothing"}) {
    EXPECT_THAT(Get(path, "Host: evil.example\r\n"), StartsWith("HTTP/1.1 403 Forbidden\r\n")) << path;
    EXPECT_THAT(Get(path, "Host: localhost\r\nOrigin: http://evil.example\r\n"), StartsWith("HTTP/1.1 403 ")) << path;
  }
  EXPECT_TRUE(source_.reads().empty());
}

TEST_F(SiteTest, WhatIsNotThereIsSaid) {
  source_.AnswerWith([](const Topic&) { return Reading{NotFound("there is no job job_7_0001")}; });
  for (const char* path :
       {"/jobs/job_7_0001", "/jobs/", "/jobs/../x", "/jobs/job_7_0001/", "///", "/api", "/%2e%2e/"}) {
    const std::string page = Get(path);
    EXPECT_THAT(page, StartsWith("HTTP/1.1 404 Not Found\r\n")) << path;
    EXPECT_THAT(page, HasSubstr("\"view\":\"missing\"")) << path;
  }
  EXPECT_THAT(Get("/jobs/job_7_0001"), HasSubstr("there is no job job_7_0001"));
  const std::string document = Get("/api/v1/jobs/job_7_0001");
  EXPECT_THAT(document, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(document, HasSubstr("\"code\":\"not_found\""));
  EXPECT_THAT(Get("/api/v1/jobs?x=1"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(Get("/api/v1/events"), StartsWith("HTTP/1.1 400 Bad Request\r\n"));
  EXPECT_THAT(Get("/api/v1"), HasSubstr("\"documents\""));
}

TEST_F(SiteTest, EventsEndWithTheLastDocument) {
  auto reads = std::make_shared<int>(0);
  source_.AnswerWith([reads](const Topic&) {
    ++*reads;
    return FakeSource::Cluster(std::to_string(*reads / 2), *reads == 4);
  });
  const std::string events = Get("/api/v1/events?of=jobs%2Fjob_1_0001%2Freport");
  EXPECT_THAT(events, HasSubstr("Content-Type: text/event-stream\r\n"));
  size_t changed = 0;
  for (size_t at = 0; (at = events.find("event: changed\ndata: {\"etag\":\"", at)) != std::string::npos; ++at)
    ++changed;
  EXPECT_EQ(changed, 3u) << "texts 0, 1 and 2: " << events;
  EXPECT_THAT(events, HasSubstr("event: final\ndata: {}\n\n"));
}

TEST_F(SiteTest, EventsOfAJobThatIsForgottenEnd) {
  source_.AnswerWith([](const Topic&) { return Reading{NotFound("forgotten")}; });
  EXPECT_THAT(Get("/api/v1/events?of=jobs%2Fjob_1_0001%2Freport"), HasSubstr("event: gone\n"));
}

TEST_F(SiteTest, TooManyOpenPagesAreRefusedUntilOneIsClosed) {
  Serve({.streams = 1});
  source_.AnswerWith([](const Topic&) { return FakeSource::Cluster("end", true); });
  const std::string path = "/api/v1/events?of=cluster";
  rpc::HttpRequest request;
  request.path = "/api/v1/events";
  request.query = "of=cluster";
  request.host = "localhost";
  const auto open = rpc::WaitForLoop<Result<std::shared_ptr<rpc::HttpReply>>>(kj_, [&] {
    return Answer(request).then([](rpc::HttpReply reply) -> Result<std::shared_ptr<rpc::HttpReply>> {
      return std::make_shared<rpc::HttpReply>(std::move(reply));
    });
  });
  EXPECT_THAT(Get(path), StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  kj_.Run([&] { (*open)->stream = nullptr; });
  EXPECT_THAT(Get(path), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(SiteTest, AKeptLogIsPlainTextThatNoBrowserTakesForAPage) {
  const std::string name = "attempt_1_0001_0_m_000000_1", path = "/api/v1/attempts/" + name + "/log";
  source_.AnswerWith([](const Topic&) {
    return Reading{
        std::make_shared<View>(LogView{"[The last 2 of 9 bytes.]", "<script>alert(1)</script>\n"}), false, {}};
  });
  const std::string log = Get(path);
  EXPECT_THAT(log, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(log, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(log, HasSubstr("X-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(log, HasSubstr("Content-Security-Policy: default-src 'none'; sandbox\r\n"));
  EXPECT_THAT(log, EndsWith("\r\n\r\n[The last 2 of 9 bytes.]\n<script>alert(1)</script>\n"));
  source_.AnswerWith([](const Topic&) { return Reading{NotFound("the master keeps no log"), false, {}}; });
  const std::string none = Get("/api/v1/attempts/attempt_1_0001_0_m_000001_1/log");
  EXPECT_THAT(none, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(none, HasSubstr("the master keeps no log"));
}

TEST_F(SiteTest, ALongAddressIsRefused) {
  EXPECT_THAT(Get(std::string(3000, '/')), StartsWith("HTTP/1.1 414 URI Too Long\r\n"));
}

}  // namespace
}  // namespace mr::web
