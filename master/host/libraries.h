// The operator libraries and side files that clients have uploaded, by SHA-256, with the owners that sent them first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/base/time.h"

namespace mr::master {

// Least bytes that a file counts for: file systems have a limit of files, too, and ext4 has one per 16 KiB by default.
inline constexpr uint64_t kLeastLibraryBytes = 16u << 10;

// An upload under way. Its pieces have all of this in common.
struct LibraryUpload {
  std::string owner;  // "": counts for nobody
  std::string sha256;
  std::string part;  // name of the file with its pieces
  uint64_t total = 0;
  uint64_t connection = 0;  // number of the client's connection
};

// Thread: the master's, and before the loop runs the one that starts it.
class Libraries {
 public:
  // owner_bytes: of the files that one owner may keep, with those under way; 0: no limit. A file counts for at least
  // kLeastLibraryBytes.
  explicit Libraries(uint64_t owner_bytes) : owner_bytes_(owner_bytes) {}
  // in_use: returns the files that jobs need which are planned or have not ended. Its cost grows with their number.
  void SetInUse(std::function<std::set<std::string>()> in_use) { in_use_ = std::move(in_use); }
  // remove: removes the file of a part that is given up.
  void SetRemovePart(std::function<void(const std::string& part)> remove) { remove_part_ = std::move(remove); }

  // Takes a file that is there. It keeps the owner that it has. requested: when somebody last wanted it.
  void Stored(const std::string& sha256, const std::string& owner = "", uint64_t bytes = 0, Instant requested = {});
  void Removed(const std::string& sha256);
  bool Known(const std::string& sha256) const { return known_.contains(sha256); }
  // Returns the owner of a file; "" if it counts for nobody, or is not known.
  std::string OwnerOf(const std::string& sha256) const;
  // Returns whether the file is known. A submit that needs it follows, so it stays for a while.
  bool Requested(const std::string& sha256, Instant now);

  // Returns whether a piece of an upload may be written. The first one reserves room for the whole file, among what its
  // owner may keep. What no unfinished job needs does not count: the housekeeping removes it. Where room is short, the
  // owner's uploads without a piece for kRetentionGrace are given up. Errors: kRejected: the limit of the owner, with
  // what to do; kInvalidArgument: no first piece came before, or of another size.
  // Cost: log n; where the owner's files and uploads exceed the limit, also that of in_use.
  Status Admit(const LibraryUpload& upload, bool first, Instant now);
  // The upload is whole: it is a file now. Its owner may be another one that had sent it before.
  void Finished(const LibraryUpload& upload, Instant now);
  // The file with the pieces is gone.
  void PartRemoved(const std::string& part);
  // Gives up the uploads of a connection that has closed: no piece of them follows.
  void ConnectionClosed(uint64_t connection);

  // Returns the owner of each file and of each part, by file name; only for owners that have more than the limit.
  // Cost: nothing where there are none.
  std::map<std::string, std::string> OwnersByFile() const;
  uint64_t owner_bytes() const { return owner_bytes_; }

 private:
  struct File {
    std::string owner;
    uint64_t bytes = 0;  // that it counts for
    Instant requested;
  };
  struct Part {
    LibraryUpload upload;
    Instant touched;  // the time of the last piece
  };
  using Times = std::set<std::pair<Instant, std::string>>;  // the oldest first
  // Sums of what one owner has.
  struct Account {
    uint64_t files = 0, parts = 0;  // bytes that they count for
    Times recent;                   // files that were requested within the grace, by SHA-256; older ones at the front
    uint64_t recent_bytes = 0;
    Times touched;  // all parts
  };

  bool Beyond(const Account& account) const {
    return owner_bytes_ != 0 && account.files + account.parts > owner_bytes_;
  }
  void Request(const std::string& sha256, File& file, Instant now);
  void ForgetRecent(const std::string& sha256, const File& file);
  // Errors: kRejected: see Admit.
  Status CheckRoom(const LibraryUpload& upload, Instant now);
  // Returns the bytes of the owner's files that jobs need and that were not requested within the grace.
  uint64_t OlderInUse(const std::string& owner, const Account& account) const;
  // Forgets the part, and has its file removed.
  void GiveUp(const std::string& part);

  const uint64_t owner_bytes_;
  std::function<std::set<std::string>()> in_use_;
  std::function<void(const std::string& part)> remove_part_;
  std::map<std::string, File> known_;                         // by SHA-256
  std::map<std::string, Part> parts_;                         // by name of the file with the pieces
  std::map<uint64_t, std::set<std::string>> of_connections_;  // names of parts
  std::map<std::string, Account> accounts_;                   // by owner
};

}  // namespace mr::master
