// The operator libraries and side files that clients have uploaded, by SHA-256, with the owners that sent them first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::master {

// An upload under way. Its pieces have all of this in common.
struct LibraryUpload {
  std::string owner;  // "": counts for nobody
  std::string sha256;
  std::string part;  // name of the file with its pieces
  uint64_t total = 0;
};

// Thread: the master's, and before the loop runs the one that starts it.
class Libraries {
 public:
  // owner_bytes: of the files that one owner may keep, with those under way; 0: no limit.
  explicit Libraries(uint64_t owner_bytes) : owner_bytes_(owner_bytes) {}
  // in_use: returns the files that jobs need which are planned or have not ended.
  void SetInUse(std::function<std::set<std::string>()> in_use) { in_use_ = std::move(in_use); }

  // Takes a file that is there. It keeps the owner that it has. requested: when somebody last wanted it.
  void Stored(const std::string& sha256, const std::string& owner = "", uint64_t bytes = 0, Instant requested = {});
  void Removed(const std::string& sha256) { known_.erase(sha256); }
  bool Known(const std::string& sha256) const { return known_.contains(sha256); }
  // Returns whether the file is known. A submit that needs it follows, so it stays for a while.
  bool Requested(const std::string& sha256, Instant now);

  // Returns whether a piece of an upload may be written. The first one reserves room for the whole file, among what its
  // owner may keep. What no unfinished job needs does not count: the housekeeping removes it. Errors: kRejected: the
  // limit of the owner, with what to do; kInvalidArgument: no first piece came before, or of another size.
  Status Admit(const LibraryUpload& upload, bool first, Instant now);
  // The upload is whole: it is a file now. Its owner may be another one that had sent it before.
  void Finished(const LibraryUpload& upload, Instant now);
  // The file with the pieces is gone.
  void PartRemoved(const std::string& part) { parts_.erase(part); }

  // Returns the owner of each file and of each part, by file name; without those that count for nobody.
  std::map<std::string, std::string> OwnersByFile() const;
  uint64_t owner_bytes() const { return owner_bytes_; }

 private:
  struct File {
    std::string owner;
    uint64_t bytes = 0;
    Instant requested;
  };
  // Returns the bytes that the owner keeps and that stay, with uploads under way except for this part.
  uint64_t Held(const std::string& owner, const std::string& part, Instant now) const;

  const uint64_t owner_bytes_;
  std::function<std::set<std::string>()> in_use_;
  std::map<std::string, File> known_;           // by SHA-256
  std::map<std::string, LibraryUpload> parts_;  // by name of the file with the pieces
};

}  // namespace mr::master
