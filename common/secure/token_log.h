// The list of the cluster's tokens: which were issued, which are revoked or used, which workers are denied. A file
// beside the master's keys, `tokens`, one line per change, synced before it counts. `mrctl token` writes it on the
// master's machine; the master reads it again when it has changed. It holds no secret: an id alone proves nothing.
//
// A line: "issued ID KIND ISSUED EXPIRES ROLES SUBJECT KEY", "revoked ID", "used ID worker:NAME",
// "certified worker:NAME AUTHORITY UNTIL", "denied worker:NAME" or "allowed worker:NAME"; times in seconds since 1970,
// ROLES as a number, "-" for no subject, KEY as PublicKey::Id(), AUTHORITY as the serial number of its certificate.
#pragma once

#include <map>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/io/files.h"
#include "common/secure/token.h"

namespace mr::secure {

using Subjects = std::set<std::string, std::less<>>;  // of workers: "worker:3"

// The newest certificate of a worker.
struct Certified {
  std::string authority;  // serial number of the certificate of the authority that signed it
  UnixTime until;
};

struct TokenList {
  std::map<std::string, Token> issued;  // by id
  TokenIds revoked;                     // ids that are no longer accepted: revoked, or join tokens that were used
  TokenIds used;                        // those of them that were used
  Subjects joined;                      // workers that have joined by a token
  std::map<std::string, Certified, std::less<>> certified;  // by subject
  Subjects denied;                                          // workers whose certificates are not accepted
};

// Returns the workers that have joined, have a certificate, are denied, or are named by a join token.
Subjects KnownWorkers(const TokenList& list);

// Reads the text of the file. A last line without its newline was cut by a crash and is ignored: it never counted.
// Errors: kCorrupted, with the line's number.
Result<TokenList> ParseTokenLog(std::string_view text);

// The file. Several processes may have it open: each change locks it, reads it again and appends one line.
// Thread: one at a time. Blocks for disks: not for an event loop.
class TokenLog {
 public:
  // Opens or makes the file. Errors: of the file system; kCorrupted; those of ReadPrivateFile.
  static Result<TokenLog> Open(const std::string& path);

  // Reads the file again if it has changed. Returns whether it had. Errors: as Open; the list stays as it was.
  Result<bool> Refresh();
  const TokenList& list() const { return list_; }
  // Returns a number that grows with each change.
  uint64_t version() const { return size_; }

  // Each appends one line and syncs it. A repeat changes nothing and is no error.
  Status Issued(const Token& token);
  // Errors: kNotFound: no token of this id was issued.
  Status Revoked(const std::string& id);
  // Marks a join token as used by this worker. Errors: kRejected: it was used or revoked before, perhaps by another
  // process just now, or another worker has the name and the token is not for that name; kNotAllowed: the token is for
  // another name, or the worker is denied. Requires: the token is verified.
  Status Joined(const Token& token, const std::string& subject);
  // Notes a certificate that was signed for this worker.
  Status Signed(const std::string& subject, const Certified& certified);
  // subject: of a worker. Denying one revokes join tokens for its name, too. Errors: kInvalidArgument: not
  // "worker:NAME".
  Status Denied(const std::string& subject, bool denied);

 private:
  explicit TokenLog(std::string path) : path_(std::move(path)) {}
  // Locks the file and reads what others have appended. The lock ends with the descriptor.
  Result<UniqueFd> LockAndRead();
  Status Append(const UniqueFd& file, const std::string& line);

  std::string path_;
  TokenList list_;
  uint64_t size_ = 0;  // bytes of the file that the list has
  uint64_t inode_ = 0;
};

}  // namespace mr::secure
