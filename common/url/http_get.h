// GETs over HTTP and HTTPS, by libcurl. No redirect is followed, no proxy is used, certificates are verified.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::url {

struct HttpOptions {
  std::string ca_file;             // PEM; empty: the authorities of the system
  Duration connect = Seconds(10);  // to look up the host and connect, at most
  Duration stalled = Seconds(30);  // a transfer below stalled_bytes/s for so long ends
  uint64_t stalled_bytes = 1024;
};

// The head of an answer.
struct HttpHead {
  int status = 0;
  std::optional<uint64_t> length;  // Content-Length
  struct Range {
    uint64_t first = 0, end = 0;    // bytes [first, end)
    std::optional<uint64_t> total;  // of the whole file
  };
  std::optional<Range> range;  // Content-Range; [0, 0) where only the total is given
  std::string etag, last_modified, location;
};

struct HttpGet {
  std::string url;
  std::vector<std::string> headers;  // "Name: value"
  bool literal_host = false;         // the host is a numeric address, which may be link-local
  // Called once, before the first byte. An error ends the transfer, and is returned.
  std::function<Status(const HttpHead&)> on_head;
  // Returns whether more bytes are wanted.
  std::function<Result<bool>(std::string_view)> on_bytes;
  std::function<bool()> cancelled;  // polled at least once per second; may be empty
};

// Thread: any. Connections are kept for later calls.
class HttpClient {
 public:
  explicit HttpClient(HttpOptions options);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // Blocks until the answer is complete or not wanted any more. Any HTTP status is a success. Errors: those of the
  // callbacks; kUnavailable: no answer, or an incomplete one (try again); kNotAllowed: the host's name leads to an
  // address that only a numeric host may name; kRejected: the server's certificate is not trusted, or libcurl is
  // missing; kCancelled.
  Status Get(const HttpGet& call) const;

 private:
  struct Handles;
  const HttpOptions options_;
  const std::unique_ptr<Handles> handles_;
};

// Parses the value of a Content-Range header.
std::optional<HttpHead::Range> ParseContentRange(std::string_view value);

}  // namespace mr::url
