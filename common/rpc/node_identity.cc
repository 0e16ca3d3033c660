#include "common/rpc/node_identity.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "common/io/clock.h"
#include "common/io/files.h"

namespace mr::rpc {
namespace {

secure::UnixTime WallTime() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

// Changes when a file of this name is replaced or written. 0: there is none.
uint64_t StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return 0;
  return static_cast<uint64_t>(info.st_mtim.tv_sec) * 1'000'000'007 + static_cast<uint64_t>(info.st_mtim.tv_nsec) +
         static_cast<uint64_t>(info.st_ino) * 31;
}

}  // namespace

NodeIdentity::NodeIdentity(std::string path, bool is_master, std::function<void(const std::string&)> log)
    : path_(std::move(path)), is_master_(is_master), log_(std::move(log)) {}

Result<std::shared_ptr<NodeIdentity>> NodeIdentity::Load(const std::string& path,
                                                         std::function<void(const std::string&)> log) {
  const bool is_master = PathExists(path + "/ca.key");
  std::shared_ptr<NodeIdentity> node(new NodeIdentity(path, is_master, std::move(log)));
  const std::lock_guard lock(node->mutex_);
  if (is_master) {
    MR_ASSIGN_OR_RETURN(node->tokens_, secure::TokenLog::Open(path + "/tokens"));
  }
  MR_ASSIGN_OR_RETURN(auto state, node->Read());
  node->Put(std::move(state));
  node->thread_ = std::thread([raw = node.get()] { raw->Watch(); });
  return node;
}

NodeIdentity::~NodeIdentity() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

uint64_t NodeIdentity::StampNow() const {
  uint64_t stamp = 0;
  for (const char* file : {"/ca.pem", "/token.pub", is_master_ ? "/master.pem" : "/worker.pem"}) {
    stamp = stamp * 1'000'003 + StampOf(path_ + file);
  }
  return stamp;
}

// Requires: mutex_ is held.
Result<std::shared_ptr<NodeState>> NodeIdentity::Read() {
  const secure::UnixTime now = WallTime();
  // Before they are read: a file that is replaced meanwhile is read once more.
  const uint64_t stamp = StampNow();
  MR_ASSIGN_OR_RETURN(const secure::NodeCredentials own,
                      is_master_ ? secure::LoadMaster(path_, now) : secure::LoadWorker(path_, now));
  auto state = std::make_shared<NodeState>();
  MR_ASSIGN_OR_RETURN(state->tls, Tls::ForNode(own));
  MR_ASSIGN_OR_RETURN(state->token_keys, secure::ReadTokenKeys(own.token_key_pem));
  state->certificate = own.certificate;
  state->trust = own.trust;
  state->previous = own.previous;
  if (tokens_.has_value()) {
    state->list = tokens_->list();
    state->version = tokens_->version();
  }
  stamp_ = stamp;
  return state;
}

void NodeIdentity::Put(std::shared_ptr<NodeState> state) {
  const std::lock_guard lock(state_mutex_);
  if (!is_master_ && state_ != nullptr) {
    state->list = state_->list;
    state->version = state_->version;
  }
  state_ = std::move(state);
}

Status NodeIdentity::Refresh() {
  const std::lock_guard lock(mutex_);
  bool changed = false;
  if (tokens_.has_value()) {
    MR_ASSIGN_OR_RETURN(changed, tokens_->Refresh());
  }
  const auto state = this->now();
  // Only the master can renew its own; a worker's is replaced by its session with the master.
  const bool renew = is_master_ && state->certificate.RenewalDue(WallTime());
  if (renew || StampNow() != stamp_) {
    MR_ASSIGN_OR_RETURN(auto read, Read());
    Put(std::move(read));
  } else if (changed) {
    auto next = std::make_shared<NodeState>(*state);
    next->list = tokens_->list();
    next->version = tokens_->version();
    Put(std::move(next));
  }
  return Status::Ok();
}

void NodeIdentity::SetList(secure::TokenList list, uint64_t version) {
  const std::lock_guard lock(state_mutex_);
  auto next = std::make_shared<NodeState>(*state_);
  next->list = std::move(list);
  next->version = version;
  state_ = std::move(next);
}

void NodeIdentity::Watch() {
  std::string last;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, std::chrono::nanoseconds(kPeriod.ns), [this] { return stopping_; })) {
    lock.unlock();
    const Status status = Refresh();
    // Once, until it is well again or fails otherwise: it is tried three times per second.
    if (status.message() != last) {
      last = status.message();
      if (log_) {
        log_(status.ok() ? "the credentials in " + path_ + " are read again"
                         : "cannot read the credentials in " + path_ +
                               " again, and goes on with those it has: " + status.message());
      }
    }
    lock.lock();
  }
}

}  // namespace mr::rpc
