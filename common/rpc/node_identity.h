// A daemon's credentials while it runs: certificate and key, the public key of tokens, and at the master the list of
// revoked tokens and denied workers. A thread reads the files again when they change, so that a revocation and a
// renewed certificate count within a second, without a restart.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "common/base/status.h"
#include "common/rpc/tls.h"
#include "common/secure/authority.h"
#include "common/secure/cluster_files.h"
#include "common/secure/token_log.h"

namespace mr::rpc {

// One state of the credentials. Immutable.
struct NodeState {
  std::shared_ptr<const Tls> tls;
  secure::Certificate certificate;
  secure::TokenKeys token_keys;  // at least one
  std::string trust;             // secure::TrustText: changes when the authority is rotated, or that is finished
  bool previous = false;         // the certificate is of the previous authority: to be renewed at once
  secure::TokenList list;        // at a worker: ids and names that the master has sent
  uint64_t version = 0;          // of the list; grows with each change; 0: none has been read
};

class NodeIdentity {
 public:
  static constexpr Duration kPeriod = Millis(300);  // of the thread: a third of the second that is promised

  // Loads DIRECTORY/credentials, of a master or a worker by the files that are there. log: receives lines for people,
  // on the thread. Errors: those of secure::LoadMaster and LoadWorker.
  static Result<std::shared_ptr<NodeIdentity>> Load(const std::string& path,
                                                    std::function<void(const std::string&)> log);
  ~NodeIdentity();
  NodeIdentity(const NodeIdentity&) = delete;
  NodeIdentity& operator=(const NodeIdentity&) = delete;

  // Thread: any.
  std::shared_ptr<const NodeState> now() const {
    const std::lock_guard lock(state_mutex_);
    return state_;
  }
  uint64_t cluster_id() const { return now()->certificate.cluster_id; }
  bool is_master() const { return is_master_; }
  const std::string& path() const { return path_; }

  // Reads again what has changed. Blocks for disks. The thread calls it; tests and writers may. Errors: as Load; the
  // state stays as it was. Thread: any.
  Status Refresh();
  // At a worker: takes the master's list. Thread: any.
  void SetList(secure::TokenList list, uint64_t version);

 private:
  NodeIdentity(std::string path, bool is_master, std::function<void(const std::string&)> log);
  Result<std::shared_ptr<NodeState>> Read();
  void Put(std::shared_ptr<NodeState> state);
  void Watch();
  uint64_t StampNow() const;

  const std::string path_;
  const bool is_master_;
  const std::function<void(const std::string&)> log_;
  mutable std::mutex state_mutex_;  // never held while a file is read: loops take it
  std::shared_ptr<const NodeState> state_;
  std::mutex mutex_;  // guards what is below; taken before the other
  std::condition_variable wake_;
  bool stopping_ = false;
  std::optional<secure::TokenLog> tokens_;  // at the master
  uint64_t stamp_ = 0;                      // changes with the files of certificates and public keys
  std::thread thread_;
};

}  // namespace mr::rpc
