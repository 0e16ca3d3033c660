#include "master/host/granter.h"

#include <utility>
#include <variant>

#include "common/io/clock.h"
#include "common/io/files.h"
#include "common/secure/private_file.h"

namespace mr::master {
namespace {

using secure::Right;

secure::UnixTime AtPresent() { return {static_cast<int64_t>(WallClockMs() / 1000)}; }

}  // namespace

Result<std::shared_ptr<Granter>> Granter::Load(const std::string& credentials) {
  const std::string path = credentials + "/grant.key";
  if (!PathExists(path)) {
    MR_ASSIGN_OR_RETURN(const secure::GrantKey fresh, secure::GrantKey::Make());
    MR_RETURN_IF_ERROR(secure::WritePrivateFile(path, fresh.Bytes()));
  }
  MR_ASSIGN_OR_RETURN(const Secret<std::string> bytes, secure::ReadPrivateFile(path));
  auto key = secure::GrantKey::FromBytes(bytes.Reveal());
  if (!key.ok()) return Corrupted(path + ": " + key.status().message() + "; remove it, and start the master again");
  return std::make_shared<Granter>(*std::move(key));
}

Secret<std::string> Granter::Registered(WorkerId worker, const std::string& name, const std::string& address) {
  auto key = std::make_shared<const secure::GrantKey>(key_.ForWorker(name));
  Secret<std::string> bytes = key->Bytes();
  const std::lock_guard lock(mutex_);
  // Another worker had the address before.
  for (auto& [id, other] : workers_) {
    if (other.address == address) other.address.clear();
  }
  workers_[worker] = {std::move(key), address};
  return bytes;
}

Result<Secret<std::string>> Granter::TicketFor(const std::string& address, const rpc::PeerInfo& caller) const {
  const int64_t until = caller.lease.until != 0 ? caller.lease.until : AtPresent().seconds + secure::kTicketSeconds;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, worker] : workers_) {
    if (worker.address != address || address.empty()) continue;
    return worker.key->SignTicket({caller.lease.id, caller.identity.subject, caller.identity.roles, until});
  }
  return Unavailable("no worker at " + address + " has registered with this master; try again");
}

std::string Granter::At(WorkerId worker, const Right& right) const {
  std::shared_ptr<const secure::GrantKey> key;
  {
    const std::lock_guard lock(mutex_);
    const auto it = workers_.find(worker);
    if (it == workers_.end()) return "";
    key = it->second.key;
  }
  return key->Grant(right, AtPresent());
}

std::string Granter::At(const std::string& name, const Right& right) const {
  return key_.ForWorker(name).Grant(right, AtPresent());
}

void Granter::Fill(Right::Kind kind, LocatedBlock* block) const {
  const Right right{kind, block->block.id.value, block->block.generation};
  block->grants.clear();
  for (const WorkerId worker : block->workers) block->grants.push_back(At(worker, right));
}

void Granter::Fill(Command* command) const {
  if (auto* launch = std::get_if<LaunchCommand>(command)) {
    for (SplitToRead& split : launch->splits) {
      for (LocatedBlock& block : split.blocks) Fill(Right::kReadBlock, &block);
    }
  } else if (auto* block = std::get_if<command::ReplicateBlock>(command)) {
    block->grant = At(block->to, secure::WritesBlock(block->block.id, block->block.generation));
  }
}

}  // namespace mr::master
