#include "jobs/mrctl/daemon_pages.h"

#include <utility>

#include "common/io/files.h"
#include "common/rpc/kj_status.h"
#include "common/rpc/kj_thread.h"
#include "common/rpc/tls.h"
#include "common/rpc/wait_for_loop.h"
#include "common/secure/access_file.h"
#include "common/secure/names.h"
#include "jobs/mrctl/credentials.h"
#include "jobs/mrctl/daemon_facts.h"

namespace mr::ctl {
namespace {

constexpr Duration kPageTimeout = Seconds(5);  // a guess: as GetHttp, and a handshake beside a busy machine

struct Page {
  kj::Own<kj::AsyncIoStream> stream;
  std::string request, reply;
  uint64_t most = 0;
  char buffer[16 << 10];
};

kj::Promise<void> ReadAll(Page& page) {
  return page.stream->tryRead(page.buffer, 1, sizeof page.buffer).then([&page](size_t n) -> kj::Promise<void> {
    page.reply.append(page.buffer, n);
    if (n == 0 || page.reply.size() >= page.most) return kj::READY_NOW;
    return ReadAll(page);
  });
}

}  // namespace

DaemonPages::DaemonPages(const std::string& token_file, uint64_t cluster_id)
    : cluster_id_(cluster_id), access_(Find(token_file, cluster_id)) {
  if (access_.ok() && access_->has_value()) loop_ = std::make_unique<rpc::KjThread>("mrctl-pages");
}
DaemonPages::~DaemonPages() = default;

Result<std::optional<DaemonPages::Access>> DaemonPages::Find(const std::string& token_file, uint64_t cluster_id) {
  const std::string path = token_file.empty() ? TokenPath(cluster_id) : token_file;
  if (path.empty() || (token_file.empty() && !PathExists(path))) return std::optional<Access>();
  MR_ASSIGN_OR_RETURN(secure::AccessFile file, secure::ReadAccessFile(path, secure::TokenKind::kPerson));
  if (file.cluster_id != cluster_id) return std::optional<Access>();
  Access access;
  MR_ASSIGN_OR_RETURN(access.tls, rpc::Tls::ForPerson(file.authority, file.cluster_id));
  access.viewer_only = file.unchecked.roles == kViewer;
  access.token = std::move(file.token);
  return std::optional<Access>(std::move(access));
}

Result<std::string> DaemonPages::Get(const std::string& host, uint16_t port, bool worker, const std::string& path,
                                     uint64_t most) {
  MR_RETURN_IF_ERROR(access_.status());
  if (!access_->has_value()) return GetHttp(host, port, path, most);
  const Access& access = **access_;
  if (worker && !access.viewer_only) {
    return Status(Code::kNotAllowed,
                  "a worker's pages are asked with the token of a viewer only, since the worker sees it: name one with "
                  "MR_TOKEN_FILE");
  }
  const std::string name = worker ? secure::AnyWorkerName(cluster_id_) : secure::MasterName(cluster_id_);
  const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + name +
                              "\r\nConnection: close\r\nAuthorization: Bearer " + access.token.Reveal() + "\r\n\r\n";
  const std::string where = host + ":" + std::to_string(port);
  auto reply = Exchange(access, host, port, name, request, most);
  if (!reply.ok()) return reply.status().With(where);
  return BodyOf(where, *reply);
}

Result<std::string> DaemonPages::Exchange(const Access& access, const std::string& host, uint16_t port,
                                          const std::string& name, const std::string& request, uint64_t most) {
  return rpc::WaitForLoop<Result<std::string>>(*loop_, [&] {
    auto page = kj::heap<Page>();
    Page& p = *page;
    p.request = request;
    p.most = most;
    auto done = loop_->io()
                    .provider->getNetwork()
                    .parseAddress(host.c_str(), port)
                    .then([](kj::Own<kj::NetworkAddress> address) {
                      auto connected = address->connect();
                      return connected.attach(kj::mv(address));
                    })
                    .then([&access, name](kj::Own<kj::AsyncIoStream> stream) {
                      return access.tls->Connect(kj::mv(stream), name);
                    })
                    .then([&p](Result<rpc::Encrypted> encrypted) -> kj::Promise<Result<std::string>> {
                      if (!encrypted.ok()) return Result<std::string>(encrypted.status());
                      p.stream = kj::mv(encrypted->stream);
                      return p.stream->write(p.request.data(), p.request.size())
                          .then([&p] { return ReadAll(p); })
                          // A peer may close without the end of TLS: what it has sent counts.
                          .catch_([&p](kj::Exception&& e) {
                            if (p.reply.empty()) kj::throwRecoverableException(kj::mv(e));
                          })
                          .then([&p] { return Result<std::string>(std::move(p.reply)); });
                    });
    return loop_->timer()
        .timeoutAfter(kPageTimeout.ns * kj::NANOSECONDS, kj::mv(done))
        .catch_([](kj::Exception&& e) -> Result<std::string> { return rpc::FromException(e); })
        .attach(kj::mv(page));
  });
}

}  // namespace mr::ctl
