// Reads pages of the HTTP ports of one cluster's daemons, such as /metrics: over TLS and with this user's token where
// there is one for the cluster, else as GetHttp does. Blocks for at most some seconds per call. Thread: one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"

namespace mr::rpc {
class KjThread;
class Tls;
}  // namespace mr::rpc

namespace mr::ctl {

class DaemonPages {
 public:
  // token_file: of the settings; "": that of the cluster, among the user's. Without a token for this cluster, its
  // daemons are taken for ones without certificates.
  DaemonPages(const std::string& token_file, uint64_t cluster_id);
  ~DaemonPages();
  DaemonPages(const DaemonPages&) = delete;
  DaemonPages& operator=(const DaemonPages&) = delete;

  // Returns the body of a page, at most `most` bytes of it. worker: the daemon is one, else the master; a daemon that
  // does not prove so gets no token. Errors: kUnavailable; kNotAllowed.
  Result<std::string> Get(const std::string& host, uint16_t port, bool worker, const std::string& path, uint64_t most);

 private:
  struct Access {
    std::shared_ptr<const rpc::Tls> tls;
    Secret<std::string> token;
    bool viewer_only = false;  // what it is good for, whoever has it
  };
  // Returns nothing where the user has no token of this cluster. Errors: those of ReadAccessFile.
  static Result<std::optional<Access>> Find(const std::string& token_file, uint64_t cluster_id);
  Result<std::string> Exchange(const Access& access, const std::string& host, uint16_t port, const std::string& name,
                               const std::string& request, uint64_t most);

  const uint64_t cluster_id_;
  const Result<std::optional<Access>> access_;
  std::unique_ptr<rpc::KjThread> loop_;  // null without an access
};

}  // namespace mr::ctl
