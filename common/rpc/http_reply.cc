#include "common/rpc/http_reply.h"

#include <kj/debug.h>

#include <array>
#include <cstdio>
#include <utility>

namespace mr::rpc {
namespace {

const char* ReasonPhrase(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "Error";
  }
}

void AddLine(std::string_view name, std::string_view value, std::string* head) {
  // A line end would begin another header, or another answer.
  for (const std::string_view part : {name, value}) KJ_REQUIRE(part.find_first_of("\r\n") == std::string_view::npos);
  head->append(name).append(": ").append(value).append("\r\n");
}

// Bytes of a stream in pieces with their lengths (RFC 9112, 7.1).
class ChunkedOutput final : public kj::AsyncOutputStream {
 public:
  explicit ChunkedOutput(kj::AsyncIoStream& inner) : inner_(inner) {}

  kj::Promise<void> write(const void* buffer, size_t size) override {
    const auto bytes = kj::arrayPtr(static_cast<const kj::byte*>(buffer), size);
    return write(kj::arrayPtr(&bytes, 1));
  }
  kj::Promise<void> write(kj::ArrayPtr<const kj::ArrayPtr<const kj::byte>> pieces) override {
    size_t size = 0;
    for (const auto& piece : pieces) size += piece.size();
    if (size == 0) return kj::READY_NOW;  // an empty piece would end the body
    char digits[20];
    std::snprintf(digits, sizeof digits, "%zx\r\n", size);
    auto line = kj::heapString(digits);
    auto all = kj::heapArrayBuilder<kj::ArrayPtr<const kj::byte>>(pieces.size() + 2);
    all.add(line.asBytes());
    for (const auto& piece : pieces) all.add(piece);
    all.add(kj::StringPtr("\r\n").asBytes());
    auto list = all.finish();
    auto written = inner_.write(list);
    return written.attach(kj::mv(list), kj::mv(line));
  }
  kj::Promise<void> whenWriteDisconnected() override { return inner_.whenWriteDisconnected(); }
  kj::Promise<void> End() { return inner_.write("0\r\n\r\n", 5); }

 private:
  kj::AsyncIoStream& inner_;
};

// Writes the head, and then the body by the reply's own function.
kj::Promise<void> WriteStream(kj::AsyncIoStream& out, std::string head, HttpReply reply, const ReplyForm& form) {
  auto bytes = kj::heap<std::string>(std::move(head));
  auto begun = out.write(bytes->data(), bytes->size());
  auto written = begun.attach(kj::mv(bytes));
  if (form.head) return written;
  auto write = kj::heap<std::function<kj::Promise<void>(kj::AsyncOutputStream&)>>(std::move(reply.stream));
  if (!form.chunked) {
    return written.then([&out, &w = *write] { return w(out); }).attach(kj::mv(write));
  }
  auto pieces = kj::heap<ChunkedOutput>(out);
  auto& p = *pieces;
  return written.then([&p, &w = *write] { return w(p); })
      .then([&p] { return p.End(); })
      .attach(kj::mv(write), kj::mv(pieces));
}

}  // namespace

kj::Promise<void> WriteReply(kj::AsyncIoStream& out, HttpReply reply, const ReplyForm& form) {
  auto body = reply.shared_body != nullptr ? std::move(reply.shared_body)
                                           : std::make_shared<const std::string>(std::move(reply.body));
  std::string head = "HTTP/1.1 " + std::to_string(reply.status) + " " + ReasonPhrase(reply.status) + "\r\n";
  if (form.close) AddLine("Connection", "close", &head);
  if (reply.stream) {
    if (form.chunked) AddLine("Transfer-Encoding", "chunked", &head);
  } else if (reply.status != 304) {
    AddLine("Content-Length", std::to_string(body->size()), &head);
  }
  if (reply.status != 304) AddLine("Content-Type", reply.content_type, &head);
  for (const auto& [name, value] : reply.headers) AddLine(name, value, &head);
  head += "\r\n";
  if (reply.stream) return WriteStream(out, std::move(head), std::move(reply), form);
  struct Bytes {
    std::string head;
    std::shared_ptr<const std::string> body;
    std::array<kj::ArrayPtr<const kj::byte>, 2> pieces;
  };
  auto bytes = kj::heap<Bytes>();
  bytes->head = std::move(head);
  bytes->body = std::move(body);
  const auto part = [](const std::string& text) {
    return kj::arrayPtr(reinterpret_cast<const kj::byte*>(text.data()), text.size());
  };
  bytes->pieces = {part(bytes->head), part(*bytes->body)};
  const bool with_body = !form.head && reply.status != 304 && !bytes->body->empty();
  auto written = out.write(kj::arrayPtr(bytes->pieces.data(), with_body ? 2 : 1));
  return written.attach(kj::mv(bytes));
}

}  // namespace mr::rpc
