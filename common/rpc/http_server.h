// A daemon's HTTP server: GET and HEAD of pages, with limits for connections, bytes and time, and TLS where the daemon
// has certificates. Request heads are read by http_head.h and nothing else, and bodies of requests never. Thread: a KJ
// loop.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/base/time.h"
#include "common/rpc/accept_loop.h"
#include "common/rpc/authenticator.h"

namespace mr::rpc {

// The parts of a request that pages use. Headers are as they were sent; empty or null: absent.
struct HttpRequest {
  std::string path, query;  // of the URL, before and after its first '?'; not decoded
  std::string host, origin, fetch_site, if_none_match;
  bool gzip = false;  // the peer accepts this encoding
  bool head = false;  // HEAD: the body of the reply is not sent
  std::shared_ptr<const Secret<std::string>> authorization, cookie;
};

struct HttpReply {
  unsigned status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers;  // names and values without line ends
  std::shared_ptr<const std::string> shared_body;            // sent in place of `body` unless null
  // Writes the body piece by piece, in place of `body`. The connection stays open until its promise is fulfilled, or
  // until the peer takes bytes too slowly.
  std::function<kj::Promise<void>(kj::AsyncOutputStream&)> stream;
  // Returns whether the peer may go on reading the stream. Asked once per second; null: it may.
  std::function<bool()> still_good;
};

struct HttpLimits {
  size_t connections = 256;  // at the limit a new one replaces the one without traffic for longest
  // A connection is closed when its peer has not taken n bytes after send_grace + n / send_rate.
  Duration send_grace = Seconds(30);
  uint64_t send_rate = 64 << 10;  // bytes per second
  Duration head = Seconds(5);     // for the TLS handshake, and from a request's first byte to the end of its head
  Duration idle = Seconds(10);    // until the first byte of a request
  size_t requests = 1000;         // on one connection, as nginx's keepalive_requests; it is closed after the last one
};

struct HttpCounts {
  uint64_t connections = 0;      // open now
  uint64_t accept_failures = 0;  // since the start, as those below
  uint64_t slow = 0;             // closed: the peer took the bytes, or sent its request, too slowly
  uint64_t replaced = 0;         // closed: too many connections
  uint64_t refused = 0;          // requests that were no plain GET or HEAD, and closed for it
  uint64_t revoked = 0;          // streams that ended because the credential of their peer was revoked or has expired
};

class HttpServer {
 public:
  // Makes the answer. Called on the loop; must not block.
  using Site = std::function<kj::Promise<HttpReply>(const HttpRequest&)>;

  // entry: decides where the server may listen, and encrypts. site: answers every request; it decides who may read.
  HttpServer(kj::AsyncIoContext& io, std::shared_ptr<Authenticator> entry, Site site, HttpLimits limits = {},
             LogLine log = nullptr);
  ~HttpServer();
  // Binds and starts to accept; port 0 = any. Returns the port in use, or the reason why there is none.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);
  HttpCounts counts() const;

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::rpc
