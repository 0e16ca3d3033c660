#include "common/rpc/http_head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "common/base/rng.h"

namespace mr::rpc {
namespace {

using State = HeadRead::State;
using ::testing::HasSubstr;

const std::string kBrowser =
    "GET /jobs/job_1_0001?x=1 HTTP/1.1\r\nHost: localhost:7080\r\nUser-Agent: Mozilla/5.0 (X11; Linux)\r\n"
    "Accept-Encoding: gzip, br\r\nSec-Fetch-Site: same-origin\r\nOrigin: http://localhost:7080\r\n"
    "Cookie: a=b; paceline=c\r\nIf-None-Match: \"7\"\r\nConnection: keep-alive\r\n\r\n";

// The result has no texts: their bytes are gone.
HeadRead WithHeader(const std::string& header) {
  return ReadHttpHead("GET / HTTP/1.1\r\nHost: x\r\n" + header + "\r\n\r\n");
}

TEST(HttpHeadTest, TheRequestOfABrowserIsTaken) {
  const std::string bytes = kBrowser + "GET /next";
  const HeadRead read = ReadHttpHead(bytes);
  ASSERT_EQ(read.state, State::kWhole) << read.why;
  EXPECT_EQ(read.size, kBrowser.size()) << "what follows is another request";
  EXPECT_EQ(read.head.target, "/jobs/job_1_0001?x=1");
  EXPECT_EQ(read.head.host, "localhost:7080");
  EXPECT_EQ(read.head.origin, "http://localhost:7080");
  EXPECT_EQ(read.head.fetch_site, "same-origin");
  EXPECT_EQ(read.head.accept_encoding, "gzip, br");
  EXPECT_EQ(read.head.cookie, "a=b; paceline=c");
  EXPECT_EQ(read.head.if_none_match, "\"7\"");
  EXPECT_EQ(read.head.authorization, "");
  EXPECT_FALSE(read.head.head);
  EXPECT_FALSE(read.head.close);
  EXPECT_TRUE(read.head.chunked);
}

TEST(HttpHeadTest, OlderClientsAndOnesThatCloseAreKnown) {
  const HeadRead old = ReadHttpHead("HEAD /healthz HTTP/1.0\r\n\r\n");
  ASSERT_EQ(old.state, State::kWhole) << old.why;
  EXPECT_TRUE(old.head.head);
  EXPECT_TRUE(old.head.close);
  EXPECT_FALSE(old.head.chunked);
  EXPECT_TRUE(WithHeader("connection: keep-alive, Close").head.close);
  const std::string token = "GET / HTTP/1.1\r\nHost: x\r\nAUTHORIZATION:\t Bearer x \t\r\n\r\n";
  EXPECT_EQ(ReadHttpHead(token).head.authorization, "Bearer x");
  EXPECT_EQ(WithHeader("Content-Length: 0").state, State::kWhole);
  EXPECT_EQ(WithHeader("X-Name: caf\xc3\xa9").state, State::kWhole) << "bytes above ASCII are obsolete text";
}

TEST(HttpHeadTest, EachPrefixWaitsForMore) {
  for (size_t n = 0; n < kBrowser.size(); ++n) {
    EXPECT_EQ(ReadHttpHead(std::string_view(kBrowser).substr(0, n)).state, State::kMore) << n;
  }
}

TEST(HttpHeadTest, ARequestWithABodyIsRefused) {
  for (const char* header : {"Content-Length: 1", "Content-Length: -1", "content-length: 00", "Content-Length: 0, 0",
                             "Content-Length:", "Content-Length: 18446744073709551616", "Transfer-Encoding: chunked",
                             "transfer-encoding: identity", "Transfer-Encoding:\tchunked"}) {
    const HeadRead read = WithHeader(header);
    EXPECT_EQ(read.state, State::kRefused) << header;
    EXPECT_EQ(read.status, 413u) << header;
  }
}

TEST(HttpHeadTest, OtherMethodsAndVersionsAreRefusedAtOnce) {
  for (const char* begin : {"POST /", "PUT ", "DELETE / HTTP/1.1\r\n", "get / HTTP/1.1", "OPTIONS *", "GETS /"}) {
    const HeadRead read = ReadHttpHead(begin);
    EXPECT_EQ(read.state, State::kRefused) << begin;
    EXPECT_EQ(read.status, 405u) << begin;
  }
  for (const std::string& begin : {std::string("PACELINE\0\x05\0\0\0", 13), std::string("\x16\x03\x01\x02"),
                                   std::string("\r\nGET / HTTP/1.1\r\n"), std::string(" GET /")}) {
    EXPECT_EQ(ReadHttpHead(begin).status, 400u);
  }
  EXPECT_EQ(ReadHttpHead("GET / HTTP/2.0\r\nHost: x\r\n\r\n").status, 505u);
  EXPECT_EQ(ReadHttpHead("GET / HTTP/1.2\r\nHost: x\r\n\r\n").status, 505u);
}

TEST(HttpHeadTest, LinesThatTwoReadersCouldTakeDifferentlyAreRefused) {
  const std::vector<std::string> lines = {"X: a\r\n b",
                                          "X: a\r\n\tb",
                                          "X : a",
                                          " X: a",
                                          "X\t: a",
                                          ": a",
                                          "X",
                                          "X: a\rY: b",
                                          "X: a\nY: b",
                                          "X: a\x01",
                                          "X: \x7f",
                                          "X(y): a",
                                          "X\xc3: a",
                                          "Host: y",
                                          "host: x",
                                          "Origin: a\r\nOrigin: a",
                                          "Cookie: a=b\r\nCookie: a=c",
                                          "Authorization: a\r\nauthorization: b",
                                          "Upgrade: websocket",
                                          "upgrade: h2c"};
  for (const std::string& line : lines) {
    const HeadRead read = WithHeader(line);
    EXPECT_EQ(read.state, State::kRefused) << line;
    EXPECT_EQ(read.status, 400u) << line;
    EXPECT_NE(read.why, "");
  }
  EXPECT_EQ(WithHeader(std::string("X: a\0b", 6)).status, 400u);
  EXPECT_EQ(ReadHttpHead("GET / HTTP/1.1\r\nX: a\n\nHost: x\r\n\r\n").status, 400u);
}

TEST(HttpHeadTest, RequestLinesThatNameNoPathAreRefused) {
  for (const char* line : {"GET  / HTTP/1.1", "GET / HTTP/1.1 ", "GET /", "GET / ", "GET / a HTTP/1.1",
                           "GET * HTTP/1.1", "GET http://x/ HTTP/1.1", "GET x HTTP/1.1", "GET /a\tb HTTP/1.1",
                           "GET /\xff HTTP/1.1", "GET /#a HTTP/1.1", "GET / http/1.1", "GET \\ HTTP/1.1"}) {
    EXPECT_EQ(ReadHttpHead(std::string(line) + "\r\nHost: x\r\n\r\n").status, 400u) << line;
  }
  EXPECT_EQ(ReadHttpHead("GET / HTTP/1.1\r\nX: y\r\n\r\n").status, 400u) << "HTTP/1.1 needs a host";
}

TEST(HttpHeadTest, TheSizeIsLimited) {
  const std::string start = "GET / HTTP/1.1\r\nHost: x\r\nX: ";
  const std::string most = start + std::string(kMostHeadBytes - start.size() - 4, 'a') + "\r\n\r\n";
  EXPECT_EQ(ReadHttpHead(most).state, State::kWhole);
  EXPECT_EQ(ReadHttpHead(std::string_view(most).substr(0, kMostHeadBytes - 1)).state, State::kMore);
  EXPECT_EQ(ReadHttpHead(start + std::string(kMostHeadBytes, 'a') + "\r\n\r\n").status, 431u);
  EXPECT_EQ(ReadHttpHead("GET /" + std::string(kMostHeadBytes, 'a')).status, 431u) << "before its end is there";
  std::string many = "GET / HTTP/1.1\r\nHost: x\r\n";
  for (size_t i = 1; i < kMostHeaders; ++i) many += "X: y\r\n";
  EXPECT_EQ(ReadHttpHead(many + "\r\n").state, State::kWhole);
  EXPECT_EQ(ReadHttpHead(many + "X: y\r\n\r\n").status, 431u);
}

// Ten thousand damaged requests: whatever is taken keeps what other readers rely on.
TEST(HttpHeadTest, NoMutationIsTakenThatAnnouncesABodyOrHidesALine) {
  Rng rng(20261129);
  const std::vector<std::string> pieces = {"\r\n",
                                           "\r",
                                           "\n",
                                           std::string(1, '\0'),
                                           " ",
                                           "\t",
                                           ":",
                                           "Content-Length: 5",
                                           "Transfer-Encoding: chunked",
                                           "Host: y",
                                           "HTTP/1.1",
                                           "POST ",
                                           "\r\n\r\n"};
  size_t taken = 0, refused = 0;
  for (int round = 0; round < 10'000; ++round) {
    std::string bytes = kBrowser;
    for (uint64_t n = 1 + rng.Below(3); n > 0; --n) {
      const size_t at = rng.Below(bytes.size());
      switch (rng.Below(4)) {
        case 0: bytes[at] = static_cast<char>(rng.Below(256)); break;
        case 1: bytes.erase(at, 1 + rng.Below(8)); break;
        case 2: bytes.insert(at, pieces[rng.Below(pieces.size())]); break;
        default: bytes.insert(at, bytes.substr(rng.Below(bytes.size()), rng.Below(40))); break;
      }
    }
    const HeadRead read = ReadHttpHead(bytes);
    if (read.state == State::kRefused) {
      ++refused;
      EXPECT_GE(read.status, 400u);
    }
    if (read.state != State::kWhole) continue;
    ++taken;
    ASSERT_LE(read.size, bytes.size());
    const std::string head = bytes.substr(0, read.size);
    ASSERT_TRUE(head.ends_with("\r\n\r\n"));
    EXPECT_EQ(head.find("\r\n\r\n"), head.size() - 4);
    for (size_t i = 0; i < head.size(); ++i) {
      EXPECT_TRUE(head[i] != '\n' || (i > 0 && head[i - 1] == '\r'));
      EXPECT_TRUE(head[i] != '\r' || (i + 1 < head.size() && head[i + 1] == '\n'));
      EXPECT_NE(head[i], '\0');
    }
    EXPECT_EQ(head.find("\r\nTransfer-Encoding:"), std::string::npos);
    EXPECT_EQ(head.find("\r\nContent-Length: 5\r\n"), std::string::npos);
    EXPECT_EQ(head.find("\r\n "), std::string::npos);
    EXPECT_TRUE(head.starts_with("GET /") || head.starts_with("HEAD /"));
    // Further bytes change nothing, and neither does the place where the bytes were split.
    EXPECT_EQ(ReadHttpHead(head).size, read.size);
    EXPECT_NE(ReadHttpHead(std::string_view(head).substr(0, rng.Below(head.size()))).state, State::kWhole);
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(refused, 1000u);
}

}  // namespace
}  // namespace mr::rpc
