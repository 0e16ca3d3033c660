// The daemon's HTTP port: a few fixed pages, GET only. Lives on the KJ loop.
#pragma once

#include <kj/async-io.h>

#include <functional>
#include <string>

#include "common/base/status.h"

namespace mr::worker {

struct HttpReply {
  unsigned status = 200;
  std::string body;
  std::string content_type = "text/plain; charset=utf-8";
};

class HttpPort {
 public:
  // handler gets the path without its query; on the loop, must not block.
  HttpPort(kj::AsyncIoContext& io, std::function<HttpReply(const std::string& path)> handler);
  ~HttpPort();
  // The port in use, or why there is none.
  kj::Promise<Result<uint16_t>> Listen(const std::string& address, uint16_t port);

 private:
  struct Impl;
  kj::Own<Impl> impl_;
};

}  // namespace mr::worker
