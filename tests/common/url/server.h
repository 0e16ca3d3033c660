// An HTTP server of a test, on loopback. Answers GETs as a function says, also wrongly.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "common/io/files.h"

namespace mr::url {

struct TestRequest {
  std::string target;                          // path and query, as sent
  std::map<std::string, std::string> headers;  // names in lower case
  // Returns the value of the header, or "".
  std::string Header(const std::string& name) const;
};

struct TestAnswer {
  int status = 200;
  std::vector<std::string> headers;  // "Name: value"; Content-Length is added
  std::string body;
  size_t cut = std::string::npos;  // close the connection after so many bytes of the body
};

class TestServer {
 public:
  using Handler = std::function<TestAnswer(const TestRequest&)>;
  explicit TestServer(Handler handler);
  ~TestServer();
  TestServer(const TestServer&) = delete;
  TestServer& operator=(const TestServer&) = delete;

  std::string HostAndPort() const { return "127.0.0.1:" + std::to_string(port_); }
  std::string Url(const std::string& path) const { return "http://" + HostAndPort() + path; }
  int connections() const;
  std::vector<TestRequest> requests() const;

 private:
  void Accept();
  void Serve(int fd);

  const Handler handler_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;  // guards what is below, and calls of the handler
  std::vector<UniqueFd> open_;
  std::vector<std::thread> threads_;
  std::vector<TestRequest> requests_;
  std::thread acceptor_;
};

// Answers as a server of one file that knows ranges.
TestAnswer RangeAnswer(const TestRequest& request, const std::string& bytes, const std::string& etag);

}  // namespace mr::url
