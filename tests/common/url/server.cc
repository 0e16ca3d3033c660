#include "tests/common/url/server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdio>

namespace mr::url {
namespace {

TestRequest Parse(const std::string& head) {
  TestRequest request;
  const size_t first = head.find(' '), second = head.find(' ', first + 1);
  request.target = head.substr(first + 1, second - first - 1);
  for (size_t at = head.find("\r\n") + 2; at < head.size();) {
    const size_t end = head.find("\r\n", at), colon = head.find(':', at);
    std::string name = head.substr(at, colon - at);
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    request.headers[name] = head.substr(colon + 2, end - colon - 2);
    at = end + 2;
  }
  return request;
}

}  // namespace

std::string TestRequest::Header(const std::string& name) const {
  const auto it = headers.find(name);
  return it == headers.end() ? "" : it->second;
}

TestServer::TestServer(Handler handler) : handler_(std::move(handler)) {
  listener_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  MR_CHECK(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0, "bind");
  MR_CHECK(::listen(listener_.get(), 64) == 0, "listen");
  MR_CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0, "getsockname");
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

TestServer::~TestServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  {
    std::lock_guard lock(mutex_);
    for (const UniqueFd& fd : open_) ::shutdown(fd.get(), SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
}

int TestServer::connections() const {
  std::lock_guard lock(mutex_);
  return static_cast<int>(open_.size());
}

std::vector<TestRequest> TestServer::requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

void TestServer::Accept() {
  for (;;) {
    const int fd = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    std::lock_guard lock(mutex_);
    open_.emplace_back(fd);
    threads_.emplace_back([this, fd] { Serve(fd); });
  }
}

void TestServer::Serve(int fd) {
  std::string head;
  for (;;) {
    char bytes[4096];
    while (head.find("\r\n\r\n") == std::string::npos) {
      const ssize_t n = ::recv(fd, bytes, sizeof bytes, 0);
      if (n <= 0) return;
      head.append(bytes, static_cast<size_t>(n));
    }
    const size_t end = head.find("\r\n\r\n") + 2;
    const TestRequest request = Parse(head.substr(0, end));
    head.erase(0, end + 2);
    TestAnswer answer;
    {
      std::lock_guard lock(mutex_);
      requests_.push_back(request);
      answer = handler_(request);
    }
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) + " X\r\n";
    for (const std::string& line : answer.headers) text += line + "\r\n";
    text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n\r\n" + answer.body.substr(0, answer.cut);
    for (size_t sent = 0; sent < text.size();) {
      const ssize_t n = ::send(fd, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return;
      sent += static_cast<size_t>(n);
    }
    if (answer.cut < answer.body.size()) {
      ::shutdown(fd, SHUT_RDWR);
      return;
    }
  }
}

TestAnswer RangeAnswer(const TestRequest& request, const std::string& bytes, const std::string& etag) {
  TestAnswer answer;
  if (!etag.empty()) answer.headers.push_back("ETag: " + etag);
  unsigned long long first = 0, last = 0;
  if (std::sscanf(request.Header("range").c_str(), "bytes=%llu-%llu", &first, &last) != 2) {
    answer.body = bytes;
    return answer;
  }
  const std::string total = std::to_string(bytes.size());
  if (first >= bytes.size()) {
    answer.status = 416;
    answer.headers.push_back("Content-Range: bytes */" + total);
    return answer;
  }
  last = std::min<unsigned long long>(last, bytes.size() - 1);
  answer.status = 206;
  answer.body = bytes.substr(first, last - first + 1);
  answer.headers.push_back("Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) + "/" + total);
  return answer;
}

}  // namespace mr::url
