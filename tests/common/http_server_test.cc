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
  HttpServerTest() {
    const auto bound = WaitForLoop<Result<uint16_t>>(loop_, [this] {
      server_ = kj::heap<HttpServer>(loop_.io());
      server_->Route("/", [] { return HttpReply{200, "home\n", "text/html"}; });
      server_->Route("/later", [this]() -> kj::Promise<HttpReply> {
        return loop_.timer().afterDelay(1 * kj::MILLISECONDS).then([] { return HttpReply{503, "not yet\n"}; });
      });
      server_->Route("/healthz", [] { return HttpReply{200, "ok\n"}; });
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

}  // namespace
}  // namespace mr::rpc
