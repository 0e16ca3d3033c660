#include "master/host/libraries.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/io/retention.h"

namespace mr::master {
namespace {

uint64_t Cost(uint64_t bytes) { return std::max(bytes, kLeastLibraryBytes); }

}  // namespace

void Libraries::Stored(const std::string& sha256, const std::string& owner, uint64_t bytes, Instant requested) {
  const auto [it, added] = known_.try_emplace(sha256, File{owner, Cost(bytes), {}});
  if (added && !owner.empty()) accounts_[owner].files += it->second.bytes;
  if (requested > it->second.requested) Request(sha256, it->second, requested);
}

void Libraries::Removed(const std::string& sha256) {
  const auto it = known_.find(sha256);
  if (it == known_.end()) return;
  ForgetRecent(sha256, it->second);
  if (!it->second.owner.empty()) accounts_[it->second.owner].files -= it->second.bytes;
  known_.erase(it);
}

std::string Libraries::OwnerOf(const std::string& sha256) const {
  const auto it = known_.find(sha256);
  return it == known_.end() ? "" : it->second.owner;
}

bool Libraries::Requested(const std::string& sha256, Instant now) {
  const auto it = known_.find(sha256);
  if (it == known_.end()) return false;
  Request(sha256, it->second, now);
  return true;
}

void Libraries::Request(const std::string& sha256, File& file, Instant now) {
  ForgetRecent(sha256, file);
  file.requested = now;
  if (file.owner.empty()) return;
  Account& account = accounts_[file.owner];
  account.recent.emplace(now, sha256);
  account.recent_bytes += file.bytes;
}

void Libraries::ForgetRecent(const std::string& sha256, const File& file) {
  const auto it = accounts_.find(file.owner);
  if (it == accounts_.end()) return;
  if (it->second.recent.erase({file.requested, sha256}) != 0) it->second.recent_bytes -= file.bytes;
}

uint64_t Libraries::OlderInUse(const std::string& owner, const Account& account) const {
  uint64_t bytes = 0;
  for (const std::string& sha256 : in_use_ ? in_use_() : std::set<std::string>()) {
    const auto it = known_.find(sha256);
    if (it == known_.end() || it->second.owner != owner) continue;
    if (!account.recent.contains({it->second.requested, sha256})) bytes += it->second.bytes;
  }
  return bytes;
}

Status Libraries::CheckRoom(const LibraryUpload& upload, Instant now) {
  Account& account = accounts_[upload.owner];
  const uint64_t needed = Cost(upload.total);
  const auto fits = [&](uint64_t held) { return held <= owner_bytes_ && needed <= owner_bytes_ - held; };
  if (fits(account.files + account.parts)) return Status::Ok();
  while (!account.touched.empty() && now - account.touched.begin()->first >= kRetentionGrace) {
    GiveUp(std::string(account.touched.begin()->second));
  }
  while (!account.recent.empty() && now - account.recent.begin()->first >= kRetentionGrace) {
    const std::string sha256 = account.recent.begin()->second;
    ForgetRecent(sha256, known_.at(sha256));
  }
  uint64_t held = account.parts + account.recent_bytes;
  if (fits(held)) held += OlderInUse(upload.owner, account);
  if (fits(held)) return Status::Ok();
  return Rejected("'" + upload.owner + "' has " + HumanBytes(held) +
                  " of operator libraries and side files that unfinished " +
                  "jobs need or that were uploaded just now, and with these " + HumanBytes(needed) + " more than the " +
                  HumanBytes(owner_bytes_) + " that one user may keep (mrmaster --owner_library_bytes; a file counts " +
                  "as at least " + HumanBytes(kLeastLibraryBytes) + "); nothing was uploaded: " +
                  "send less (--files), submit again when some of the jobs have ended (mrctl jobs --owner " +
                  upload.owner + "), or in " + HumanDuration(kRetentionGrace));
}

Status Libraries::Admit(const LibraryUpload& upload, bool first, Instant now) {
  const auto it = parts_.find(upload.part);
  const bool begun = it != parts_.end();
  if (!first) {
    if (!begun || it->second.upload.total != upload.total) {
      return InvalidArgument("the pieces of a library must come in order, from the first on");
    }
    if (const auto account = accounts_.find(it->second.upload.owner); account != accounts_.end()) {
      account->second.touched.erase({it->second.touched, upload.part});
      account->second.touched.emplace(now, upload.part);
    }
    it->second.touched = now;
    return Status::Ok();
  }
  // The upload starts again: its old reservation goes, and the file is written from its beginning.
  PartRemoved(upload.part);
  if (owner_bytes_ != 0 && !upload.owner.empty()) {
    if (Status status = CheckRoom(upload, now); !status.ok()) {
      if (begun && remove_part_) remove_part_(upload.part);
      return status;
    }
  }
  parts_[upload.part] = {upload, now};
  of_connections_[upload.connection].insert(upload.part);
  if (!upload.owner.empty()) {
    Account& account = accounts_[upload.owner];
    account.parts += Cost(upload.total);
    account.touched.emplace(now, upload.part);
  }
  return Status::Ok();
}

void Libraries::Finished(const LibraryUpload& upload, Instant now) {
  PartRemoved(upload.part);
  Stored(upload.sha256, upload.owner, upload.total, now);
}

void Libraries::PartRemoved(const std::string& part) {
  const auto it = parts_.find(part);
  if (it == parts_.end()) return;
  const LibraryUpload& upload = it->second.upload;
  if (const auto account = accounts_.find(upload.owner); account != accounts_.end()) {
    account->second.parts -= Cost(upload.total);
    account->second.touched.erase({it->second.touched, part});
  }
  if (const auto own = of_connections_.find(upload.connection); own != of_connections_.end()) {
    own->second.erase(part);
    if (own->second.empty()) of_connections_.erase(own);
  }
  parts_.erase(it);
}

void Libraries::GiveUp(const std::string& part) {
  PartRemoved(part);
  if (remove_part_) remove_part_(part);
}

void Libraries::ConnectionClosed(uint64_t connection) {
  const auto it = of_connections_.find(connection);
  if (it == of_connections_.end()) return;
  for (const std::string& part : std::set<std::string>(it->second)) GiveUp(part);
}

std::map<std::string, std::string> Libraries::OwnersByFile() const {
  std::set<std::string> beyond;
  for (const auto& [owner, account] : accounts_) {
    if (Beyond(account)) beyond.insert(owner);
  }
  std::map<std::string, std::string> owners;
  if (beyond.empty()) return owners;
  for (const auto& [sha256, file] : known_) {
    if (beyond.contains(file.owner)) owners.emplace_hint(owners.end(), sha256 + ".so", file.owner);
  }
  for (const auto& [name, part] : parts_) {
    if (beyond.contains(part.upload.owner)) owners[name] = part.upload.owner;
  }
  return owners;
}

}  // namespace mr::master
