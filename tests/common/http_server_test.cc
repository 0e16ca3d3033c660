// Over real ports of loopback.
#include "common/rpc/http_server.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/debug.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/wait_for_loop.h"

namespace mr::rpc {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class HttpServerTest : public testing::Test {
 protected:
  HttpServerTest() { Serve({}); }
  ~HttpServerTest() noexcept override {
    loop_.Run([this] { server_ = nullptr; });
  }

  void Serve(HttpLimits limits) {
    const auto bound = WaitForLoop<Result<uint16_t>>(loop_, [&] {
      server_ = kj::heap<HttpServer>(
          loop_.io(), std::make_shared<NoAuthenticator>(),
          [this](const HttpRequest& request) {
            ++asked_;
            return Site(request);
          },
          limits);
      return server_->Listen("127.0.0.1", 0);
    });
    port_ = bound.ok() ? *bound : 0;
  }

  kj::Promise<HttpReply> Site(const HttpRequest& request) {
    seen_ = request;
    HttpReply reply;
    reply.headers = {{"ETag", "\"7\""}, {"X-Content-Type-Options", "nosniff"}};
    if (request.path == "/same") {
      reply.status = 304;
    } else if (request.path == "/later") {
      return loop_.timer().afterDelay(1 * kj::MILLISECONDS).then([] { return HttpReply{503, "not yet\n"}; });
    } else if (request.path == "/fails") {
      return KJ_EXCEPTION(FAILED, "a secret path");
    } else if (request.path == "/pieces") {
      reply.stream = [](kj::AsyncOutputStream& out) {
        return out.write("one ", 4).then([&out] { return out.write("two", 3); });
      };
    } else if (request.path == "/endless") {
      reply.stream = [](kj::AsyncOutputStream& out) {
        return out.write("begun", 5).then([]() -> kj::Promise<void> { return kj::NEVER_DONE; });
      };
      reply.still_good = [this] { return good_.load(); };
    } else if (request.path == "/healthz") {
      reply.body = "ok\n";
    } else {
      reply.shared_body = std::make_shared<const std::string>("shared");
    }
    return reply;
  }

  UniqueFd Connect() const {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port_);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{20, 0};
    ::setsockopt(fd.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static void Send(const UniqueFd& fd, const std::string& bytes) {
    EXPECT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
  }
  // Returns all that comes until the server closes.
  static std::string Rest(const UniqueFd& fd) {
    std::string response;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd.get(), buffer, sizeof buffer)) > 0;) response.append(buffer, static_cast<size_t>(n));
    return response;
  }
  // Returns the whole response. The server closes behind it, because this side sends no more.
  std::string Ask(const std::string& request) const {
    const UniqueFd fd = Connect();
    Send(fd, request);
    ::shutdown(fd.get(), SHUT_WR);
    return Rest(fd);
  }
  std::string Request(const std::string& method, const std::string& path) const {
    return Ask(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  }
  HttpCounts Counts() {
    HttpCounts counts;
    loop_.Run([&] { counts = server_->counts(); });
    return counts;
  }

  KjThread loop_{"test"};
  kj::Own<HttpServer> server_;  // of the loop
  uint16_t port_ = 0;
  std::atomic<int> asked_{0};
  std::atomic<bool> good_{true};
  HttpRequest seen_;  // of the loop; read when the answer is there
};

TEST_F(HttpServerTest, TheSiteSeesTheRequestAndItsAnswerIsSent) {
  const std::string response =
      Ask("GET /jobs/x?a=1?2 HTTP/1.1\r\nHost: m:80\r\nOrigin: http://o\r\nSec-Fetch-Site: cross-site\r\n"
          "If-None-Match: \"6\"\r\nAccept-Encoding: br, gzip\r\nAuthorization: Bearer t\r\nCookie: a=b\r\n\r\n");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nContent-Type: text/plain; charset=utf-8\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nETag: \"7\"\r\n"));
  EXPECT_THAT(response, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\nshared"));
  EXPECT_EQ(seen_.path, "/jobs/x");
  EXPECT_EQ(seen_.query, "a=1?2");
  EXPECT_EQ(seen_.host, "m:80");
  EXPECT_EQ(seen_.origin, "http://o");
  EXPECT_EQ(seen_.fetch_site, "cross-site");
  EXPECT_EQ(seen_.if_none_match, "\"6\"");
  EXPECT_EQ(seen_.authorization->Reveal(), "Bearer t");
  EXPECT_EQ(seen_.cookie->Reveal(), "a=b");
  EXPECT_TRUE(seen_.gzip);
  Request("GET", "/healthz");
  EXPECT_EQ(seen_.authorization, nullptr);
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
  EXPECT_THAT(Request("HEAD", "/pieces"), EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, ABodyMayComeInPieces) {
  const std::string response = Request("GET", "/pieces");
  EXPECT_THAT(response, HasSubstr("Transfer-Encoding: chunked\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n4\r\none \r\n3\r\ntwo\r\n0\r\n\r\n"));
  const std::string old = Ask("GET /pieces HTTP/1.0\r\n\r\n");
  EXPECT_THAT(old, HasSubstr("Connection: close\r\n"));
  EXPECT_THAT(old, EndsWith("\r\n\r\none two")) << "it ends with the connection";
}

TEST_F(HttpServerTest, NotModifiedHasNoBody) {
  const std::string response = Request("GET", "/same");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 304 Not Modified\r\n"));
  EXPECT_THAT(response, EndsWith("\r\n\r\n"));
}

TEST_F(HttpServerTest, SeveralRequestsAtOnceAreAnsweredInTheirOrder) {
  const std::string one = " HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string all = Ask("GET /later" + one + "GET /healthz" + one + "GET /pieces" + one);
  const size_t first = all.find("not yet\n"), second = all.find("\r\n\r\nok\n"), third = all.find("0\r\n\r\n");
  EXPECT_LT(first, second) << all;
  EXPECT_LT(second, third) << all;
  EXPECT_NE(third, std::string::npos);
}

TEST_F(HttpServerTest, AnAnswerThatCannotBeMadeShowsNothingOfTheReason) {
  const std::string response = Request("GET", "/fails");
  EXPECT_THAT(response, StartsWith("HTTP/1.1 500 Internal Server Error\r\n"));
  EXPECT_THAT(response, testing::Not(HasSubstr("a secret path")));
}

TEST_F(HttpServerTest, WhatIsNoPlainReadIsRefusedBeforeTheSite) {
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, std::string>>{
           {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "405 Method Not Allowed"},
           {"DELETE /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "405 Method Not Allowed"},
           {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "413 Content Too Large"},
           {"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", "413 Content Too Large"},
           {"GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
            "413 Content Too Large"},
           {"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "400 Bad Request"},
           {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", "400 Bad Request"},
           {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "400 Bad Request"},
           {"GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20'000, 'a'), "431 Request Header Fields Too Large"}}) {
    const std::string response = Ask(bytes + "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(response, StartsWith("HTTP/1.1 " + status + "\r\n")) << bytes.substr(0, 100);
    EXPECT_THAT(response, HasSubstr("Connection: close\r\n"));
    EXPECT_EQ(response.find("HTTP/1.1", 1), std::string::npos) << "what follows is no request";
  }
  EXPECT_EQ(asked_, 0);
  EXPECT_EQ(Counts().refused, 9u);
}

TEST_F(HttpServerTest, ABodyThatIsStillBeingSentDoesNotHideTheRefusal) {
  const UniqueFd fd = Connect();
  Send(fd, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n");
  Send(fd, std::string(500'000, 'a'));
  EXPECT_THAT(Rest(fd), StartsWith("HTTP/1.1 405 "));
}

class HttpLimitsTest : public HttpServerTest {
 protected:
  HttpLimitsTest() { Serve({.head = Millis(300), .idle = Millis(600), .requests = 3}); }
};

TEST_F(HttpLimitsTest, ASlowHeadIsCutOff) {
  const UniqueFd slow = Connect();
  Send(slow, "GET / HTTP/1.1\r\nHost: x\r\nX: ");
  const Instant begin = Now();
  EXPECT_EQ(Rest(slow), "");
  EXPECT_GE(Now() - begin, Millis(200));
  EXPECT_EQ(Counts().slow, 1u);
  EXPECT_EQ(asked_, 0);
}

TEST_F(HttpLimitsTest, AByteNowAndThenDoesNotLengthenTheTime) {
  const UniqueFd slow = Connect();
  const std::string head = "GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(1000, 'a');
  const timeval turn{0, 20'000};
  ::setsockopt(slow.get(), SOL_SOCKET, SO_RCVTIMEO, &turn, sizeof turn);
  const Instant begin = Now();
  char byte = 0;
  ssize_t n = -1;
  // A read that ends without a byte is the clock of this peer.
  for (const char c : head) {
    if (::send(slow.get(), &c, 1, MSG_NOSIGNAL) != 1 || (n = ::read(slow.get(), &byte, 1)) >= 0) break;
  }
  EXPECT_LT(Now() - begin, Seconds(10)) << "a thousand bytes take 20 s";
  EXPECT_EQ(Counts().slow, 1u);
}

TEST_F(HttpLimitsTest, AnIdleConnectionIsClosed) {
  const UniqueFd fd = Connect();
  Send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(Rest(fd), EndsWith("ok\n"));
}

TEST_F(HttpLimitsTest, AConnectionEndsAfterItsLastRequest) {
  const std::string one = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string all = Ask(one + one + one + one + one);
  EXPECT_EQ(asked_, 3) << all;
  EXPECT_THAT(all.substr(all.rfind("HTTP/1.1")), HasSubstr("Connection: close\r\n"));
}

TEST_F(HttpServerTest, AStreamEndsWithinASecondOfItsCredential) {
  const UniqueFd fd = Connect();
  Send(fd, "GET /endless HTTP/1.1\r\nHost: x\r\n\r\n");
  std::string begun;
  char buffer[4096];
  while (begun.find("begun\r\n") == std::string::npos) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    ASSERT_GT(n, 0);
    begun.append(buffer, static_cast<size_t>(n));
  }
  good_ = false;
  const Instant revoked = Now();
  EXPECT_EQ(Rest(fd), "");
  EXPECT_LT(Now() - revoked, Seconds(5)) << "the sweep is each second";
  EXPECT_EQ(Counts().revoked, 1u);
}

}  // namespace
}  // namespace mr::rpc
