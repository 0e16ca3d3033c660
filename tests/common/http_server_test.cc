// Over a real port of loopback.
#include "common/rpc/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "common/rpc/kj_thread.h"
#include "common/rpc/wait_for_loop.h"

namespace mr::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpServerTest : public testing::Test {
 protected:
  explicit HttpServerTest(bool with_site = false) {
    const auto bound = WaitForLoop<Result<uint16_t>>(loop_, [this, with_site] {
      server_ = kj::heap<HttpServer>(loop_.io());
      server_->Route("/", [] { return HttpReply{200, "home\n", "text/html"}; });
      server_->Route("/later", [this]() -> kj::Promise<HttpReply> {
        return loop_.timer().afterDelay(1 * kj::MILLISECONDS).then([] { return HttpReply{503, "not yet\n"}; });
      });
      server_->Route("/healthz", [] { return HttpReply{200, "ok\n"}; });
      if (with_site) server_->SetSite([this](const HttpRequest& request) { return Site(request); });
      return server_->Listen("127.0.0.1", 0);
    });
    port_ = bound.ok() ? *bound : 0;
  }
  ~HttpServerTest() noexcept override {
    loop_.Run([this] { server_ = nullptr; });
  }

  // Returns the whole response. The server closes behind it, because this side sends no more.
  std::string Ask(const std::string& request) const {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    ::shutdown(fd, SHUT_WR);
    std::string response;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd, buffer, sizeof buffer)) > 0;) response.append(buffer, static_cast<size_t>(n));
    ::close(fd);
    return response;
  }
  std::string Request(const std::string& method, const std::string& path) const {
    return Ask(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }

  virtual kj::Promise<HttpReply> Site(const HttpRequest&) { return HttpReply{}; }

  KjThread loop_{"test"};
  kj::Own<HttpServer> server_;  // of the loop
  uint16_t port_ = 0;
};

TEST_F(HttpServerTest, ServesAPageUnderItsPathWithoutTheQuery) {
  for (const char* path : {"/healthz", "/healthz?verbose=1"}) {
    const std::string response = Request("GET", path);
    EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(response, HasSubstr("Content-Type: text/plain; charset=utf-8\r\n"));
    EXPECT_THAT(response, EndsWith("\r\n\r\nok\n"));
  }
  EXPECT_THAT(Request("GET", "/"), HasSubstr("Content-Type: text/html\r\n"));
}

TEST_F(HttpServerTest, APageMayComeLater) {
  const std::string response = Request("GET", "/later");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nnot yet\n"));
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  const std::string response = Request("HEAD", "/healthz");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, AnUnknownPathGetsTheListOfThoseThatThereAre) {
  const std::string response = Request("GET", "/nothing");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 404 Not Found\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nno such page: there are /, /later and /healthz\n"));
}

TEST_F(HttpServerTest, NothingCanBeChanged) {
  EXPECT_THAT(Request("DELETE", "/healthz"), StartsWith("HTTP/1.1 405 Method Not Allowed\r\n"));
}

class HttpSiteTest : public HttpServerTest {
 protected:
  HttpSiteTest() : HttpServerTest(true) {}
  kj::Promise<HttpReply> Site(const HttpRequest& asked) override {
    seen_ = asked;
    HttpReply reply;
    reply.headers = {{"ETag", "\"7\""}, {"X-Content-Type-Options", "nosniff"}};
    if (asked.path == "/same") {
      reply.status = 304;
    } else if (asked.path == "/pieces") {
      reply.stream = [](kj::AsyncOutputStream& out) {
        return out.write("one ", 4).then([&out] { return out.write("two", 3); });
      };
    } else {
      reply.shared_body = std::make_shared<const std::string>("shared");
    }
    return reply;
  }

  HttpRequest seen_;  // of the loop; read when the answer is there
};

TEST_F(HttpSiteTest, ASiteAnswersAllOtherPathsAndSeesTheRequest) {
  const std::string response =
      Ask("GET /jobs/x?a=1?2 HTTP/1.1\r\nHost: m:80\r\nOrigin: http://o\r\nSec-Fetch-Site: cross-site\r\n"
          "If-None-Match: \"6\"\r\nAccept-Encoding: br, gzip\r\n\r\n");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nETag: \"7\"\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nshared"));
  EXPECT_EQ(seen_.path, "/jobs/x");
  EXPECT_EQ(seen_.query, "a=1?2");
  EXPECT_EQ(seen_.host, "m:80");
  EXPECT_EQ(seen_.origin, "http://o");
  EXPECT_EQ(seen_.fetch_site, "cross-site");
  EXPECT_EQ(seen_.if_none_match, "\"6\"");
  EXPECT_TRUE(seen_.gzip);
  EXPECT_THAT(Request("GET", "/healthz"), EndsWith("\r\n\r\nok\n")) << "a route goes before the site";
}

TEST_F(HttpSiteTest, ABodyMayComeInPieces) {
  const std::string response = Request("GET", "/pieces");
  EXPECT_THAT(response, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"));
  EXPECT_THAT(Request("HEAD", "/pieces"), EndsWith("\r\n\r\n"));
}

TEST_F(HttpSiteTest, NotModifiedHasNoBody) {
  const std::string response = Request("GET", "/same");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n"));
}

}  // namespace
}  // namespace mr::rpc
