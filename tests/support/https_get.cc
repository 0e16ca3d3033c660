#include "tests/support/https_get.h"

#include <utility>

#include "common/rpc/kj_thread.h"
#include "common/rpc/tls.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/certificate.h"

namespace mr::test {
namespace {

struct Exchange {
  kj::Own<kj::AsyncIoStream> stream;
  std::string request, answer;
  char buffer[4096];
};

kj::Promise<void> ReadAll(Exchange& e) {
  return e.stream->tryRead(e.buffer, 1, sizeof e.buffer).then([&e](size_t n) -> kj::Promise<void> {
    if (n == 0) return kj::READY_NOW;
    e.answer.append(e.buffer, n);
    return ReadAll(e);
  });
}

}  // namespace

std::string HttpsGet(uint16_t port, const std::string& authority_pem, const std::string& name, const std::string& path,
                     const std::string& headers) {
  const auto authority = secure::ReadCertificate(authority_pem);
  if (!authority.ok()) return "error: " + authority.status().ToString();
  const auto tls = rpc::Tls::ForPerson(authority_pem, authority->cluster_id);
  if (!tls.ok()) return "error: " + tls.status().ToString();
  rpc::KjThread loop("https");
  const auto answer = rpc::WaitForLoop<Result<std::string>>(loop, [&] {
    auto exchange = kj::heap<Exchange>();
    Exchange& e = *exchange;
    e.request = "GET " + path + " HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n" + headers + "\r\n";
    auto& network = loop.io().provider->getNetwork();
    auto got =
        network.parseAddress("127.0.0.1", port)
            .then([](kj::Own<kj::NetworkAddress> address) {
              auto connected = address->connect();
              return connected.attach(kj::mv(address));
            })
            .then([tls = *tls, name](kj::Own<kj::AsyncIoStream> stream) { return tls->Connect(kj::mv(stream), name); })
            .then([&e](Result<rpc::Encrypted> encrypted) -> kj::Promise<Result<std::string>> {
              if (!encrypted.ok()) return Result<std::string>(encrypted.status());
              e.stream = kj::mv(encrypted->stream);
              return e.stream->write(e.request.data(), e.request.size()).then([&e] { return ReadAll(e); }).then([&e] {
                return Result<std::string>(e.answer);
              });
            })
            .catch_([&e](kj::Exception&& error) -> Result<std::string> {
              if (!e.answer.empty()) return e.answer;
              return Unavailable(error.getDescription().cStr());
            });
    return got.attach(kj::mv(exchange));
  });
  return answer.ok() ? *answer : "error: " + answer.status().ToString();
}

}  // namespace mr::test
