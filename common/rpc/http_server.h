// A daemon's HTTP server: GET and HEAD of pages, with limits for connections and time. Thread: a KJ loop.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"
#include "common/rpc/accept_loop.h"

namespace mr::rpc {

// The parts of a request that pages use. Headers are as they were sent; empty: absent.
struct HttpRequest {
  std::string path, query;  // of the URL, before and after its first '?'; not decoded
  std::string host, origin, fetch_site, if_none_match;
  bool gzip = false;  // the peer accepts this encoding
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
};

struct HttpLimits {
  size_t connections = 256;  // at the limit a new one replaces the one without traffic for longest
  // A connection is closed when its peer has not taken n bytes after send_grace + n / send_rate.
  Duration send_grace = Seconds(30);
  uint64_t send_rate = 64 << 10;  // bytes per second
};

struct HttpCounts {
  uint64_t connections = 0;      // open now
  uint64_t accept_failures = 0;  // since the start, as those below
  uint64_t slow = 0;             // closed: the peer took the bytes too slowly
  uint64_t replaced = 0;         // closed: too many connections
};

class HttpServer {
 public:
  // Makes the page. Called on the loop; must not block.
  using Page = std::function<kj::Promise<HttpReply>()>;
  using Site = std::function<kj::Promise<HttpReply>(const HttpRequest&)>;

  explicit HttpServer(kj::AsyncIoContext& io, HttpLimits limits = {}, LogLine log = nullptr);
  ~HttpServer();
  // Serves a page under a path, which has no query. Other paths get 404 with the list of pages. Requires: before
  // Listen.
  void Route(const std::string& path, Page page);
  // Answers all other paths, in place of the 404. Requires: before Listen.
  void SetSite(Site site);
  // Binds and starts to accept; port 0 = any. Returns the port in use, or the reason why there is none.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);
  HttpCounts counts() const;

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::rpc
