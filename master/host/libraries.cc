#include "master/host/libraries.h"

#include <algorithm>

#include "common/base/text.h"
#include "common/io/retention.h"

namespace mr::master {

void Libraries::Stored(const std::string& sha256, const std::string& owner, uint64_t bytes, Instant requested) {
  File& file = known_.try_emplace(sha256, File{owner, bytes, {}}).first->second;
  file.requested = std::max(file.requested, requested);
}

bool Libraries::Requested(const std::string& sha256, Instant now) {
  const auto it = known_.find(sha256);
  if (it == known_.end()) return false;
  it->second.requested = now;
  return true;
}

uint64_t Libraries::Held(const std::string& owner, const std::string& part, Instant now) const {
  uint64_t bytes = 0;
  for (const auto& [name, upload] : parts_) {
    if (upload.owner == owner && name != part) bytes += upload.total;
  }
  std::set<std::string> used = in_use_ ? in_use_() : std::set<std::string>();
  for (const auto& [sha256, file] : known_) {
    if (file.owner != owner) continue;
    const bool recent = file.requested != Instant{} && now - file.requested < kRetentionGrace;
    if (recent || used.contains(sha256)) bytes += file.bytes;
  }
  return bytes;
}

Status Libraries::Admit(const LibraryUpload& upload, bool first, Instant now) {
  if (!first) {
    const auto it = parts_.find(upload.part);
    if (it != parts_.end() && it->second.total == upload.total) return Status::Ok();
    return InvalidArgument("the pieces of a library must come in order, from the first on");
  }
  if (owner_bytes_ != 0 && !upload.owner.empty()) {
    const uint64_t held = Held(upload.owner, upload.part, now);
    if (held > owner_bytes_ || upload.total > owner_bytes_ - held) {
      return Rejected("'" + upload.owner + "' has " + HumanBytes(held) +
                      " of operator libraries and side files that unfinished " +
                      "jobs need or that were uploaded just now, and with these " + HumanBytes(upload.total) +
                      " more than the " + HumanBytes(owner_bytes_) +
                      " that one user may keep (mrmaster --owner_library_bytes); nothing was uploaded: " +
                      "send less (--files), submit again when some of the jobs have ended (mrctl jobs --owner " +
                      upload.owner + "), or in " + HumanDuration(kRetentionGrace));
    }
  }
  parts_[upload.part] = upload;
  return Status::Ok();
}

void Libraries::Finished(const LibraryUpload& upload, Instant now) {
  parts_.erase(upload.part);
  Stored(upload.sha256, upload.owner, upload.total, now);
}

std::map<std::string, std::string> Libraries::OwnersByFile() const {
  std::map<std::string, std::string> owners;
  for (const auto& [sha256, file] : known_) {
    if (!file.owner.empty()) owners[sha256 + ".so"] = file.owner;
  }
  for (const auto& [part, upload] : parts_) {
    if (!upload.owner.empty()) owners[part] = upload.owner;
  }
  return owners;
}

}  // namespace mr::master
