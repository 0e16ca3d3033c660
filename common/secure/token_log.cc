#include "common/secure/token_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <vector>

#include "common/secure/names.h"
#include "common/secure/private_file.h"

namespace mr::secure {
namespace {

constexpr size_t kMaxTokenLogBytes = 64 << 20;  // half a million tokens: a runaway script, not people (guess)

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t space = line.find(' ');
    words.push_back(line.substr(0, space));
    if (space == std::string_view::npos) return words;
    line.remove_prefix(space + 1);
  }
}

bool ReadNumber(std::string_view text, int64_t* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// Returns whether this is the id of a token or a key, or a serial number.
bool IsTokenId(std::string_view id) {
  return id.size() == 32 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool ReadIssued(const std::vector<std::string_view>& words, Token* token) {
  int64_t kind = 0, roles = 0;
  if (words.size() != 8 || !IsTokenId(words[7]) || !IsTokenId(words[1]) || !ReadNumber(words[2], &kind) ||
      !ReadNumber(words[3], &token->issued.seconds) || !ReadNumber(words[4], &token->expires.seconds) ||
      !ReadNumber(words[5], &roles) || kind < 1 || kind > 2 || roles < 0 || roles > 255) {
    return false;
  }
  token->id = words[1];
  token->kind = static_cast<TokenKind>(kind);
  token->roles = static_cast<Roles>(roles);
  token->subject = words[6] == "-" ? "" : words[6];
  token->key = words[7];
  return true;
}

bool TakeLine(std::string_view line, TokenList* list) {
  const auto words = WordsOf(line);
  if (words[0] == "issued") {
    Token token;
    if (!ReadIssued(words, &token)) return false;
    list->issued[token.id] = token;
    return true;
  }
  if (words[0] == "used") {
    if (words.size() != 3 || !IsTokenId(words[1]) || !WorkerInSubject(words[2]).ok()) return false;
    list->revoked.emplace(words[1]);
    list->used.emplace(words[1]);
    list->joined.emplace(words[2]);
    return true;
  }
  if (words[0] == "certified") {
    Certified made;
    if (words.size() != 4 || !WorkerInSubject(words[1]).ok() || !IsTokenId(words[2]) ||
        !ReadNumber(words[3], &made.until.seconds)) {
      return false;
    }
    made.authority = words[2];
    list->certified[std::string(words[1])] = made;
    return true;
  }
  if (words.size() != 2) return false;
  if (words[0] == "revoked") return IsTokenId(words[1]) && (list->revoked.emplace(words[1]), true);
  if (!WorkerInSubject(words[1]).ok()) return false;
  if (words[0] == "denied") {
    list->denied.emplace(words[1]);
    for (const auto& [id, token] : list->issued) {
      const bool join = token.kind == TokenKind::kJoin && !token.subject.empty();
      if (join && WorkerSubject(token.subject) == words[1]) list->revoked.insert(id);
    }
    return true;
  }
  if (words[0] == "allowed") return list->denied.erase(std::string(words[1])), true;
  return false;
}

}  // namespace

Subjects KnownWorkers(const TokenList& list) {
  Subjects known = list.joined;
  known.insert(list.denied.begin(), list.denied.end());
  for (const auto& [subject, certified] : list.certified) known.insert(subject);
  for (const auto& [id, token] : list.issued) {
    if (token.kind == TokenKind::kJoin && !token.subject.empty()) known.insert(WorkerSubject(token.subject));
  }
  return known;
}

Result<TokenList> ParseTokenLog(std::string_view text) {
  TokenList list;
  for (size_t number = 1;; ++number) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) return list;
    if (!TakeLine(text.substr(0, end), &list)) {
      return Corrupted("line " + std::to_string(number) + " is damaged or of a later release");
    }
    text.remove_prefix(end + 1);
  }
}

Result<TokenLog> TokenLog::Open(const std::string& path) {
  TokenLog log(path);
  MR_ASSIGN_OR_RETURN(const UniqueFd file, log.LockAndRead());
  return log;
}

Result<bool> TokenLog::Refresh() {
  struct stat info {};
  if (::stat(path_.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot read the list of tokens " + path_);
  if (static_cast<uint64_t>(info.st_size) == size_ && static_cast<uint64_t>(info.st_ino) == inode_) return false;
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  return true;
}

Result<UniqueFd> TokenLog::LockAndRead() {
  MR_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600));
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "cannot lock " + path_);
  }
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path_);
  if ((info.st_mode & 077) != 0 || (info.st_uid != ::geteuid() && info.st_uid != 0)) {
    return Status(Code::kNotAllowed, path_ + " is not for its user alone: others could revoke or allow tokens. Check " +
                                         "what it says, then chown it to the master's user and run chmod 600 " + path_);
  }
  const uint64_t size = static_cast<uint64_t>(info.st_size);
  if (size > kMaxTokenLogBytes) return Status(Code::kOverloaded, path_ + " has more than 64 MiB");
  std::string text(size, '\0');
  MR_ASSIGN_OR_RETURN(const size_t got, PreadUpTo(file.get(), text.data(), text.size(), 0));
  text.resize(got);
  auto list = ParseTokenLog(text);
  if (!list.ok()) return list.status().With(path_);
  // The part of a line that a crash has left must not become the beginning of the next one.
  const size_t whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole != text.size() && ::ftruncate(file.get(), static_cast<off_t>(whole)) != 0) {
    return ErrnoStatus(errno, "cannot cut " + path_);
  }
  list_ = *std::move(list);
  size_ = whole;
  inode_ = static_cast<uint64_t>(info.st_ino);
  return file;
}

Status TokenLog::Append(const UniqueFd& file, const std::string& line) {
  const Status written = PwriteAll(file.get(), line + "\n", size_);
  if (!written.ok() || ::fdatasync(file.get()) != 0) {
    Status failed = written.ok() ? ErrnoStatus(errno, "cannot sync " + path_) : written.With(path_);
    // A part of a line would be taken for damage once another one follows it.
    (void)::ftruncate(file.get(), static_cast<off_t>(size_));
    return failed;
  }
  size_ += line.size() + 1;
  TakeLine(line, &list_);
  return Status::Ok();
}

Status TokenLog::Issued(const Token& token) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  if (list_.issued.contains(token.id)) return Status::Ok();
  return Append(file, "issued " + token.id + " " + std::to_string(static_cast<int>(token.kind)) + " " +
                          std::to_string(token.issued.seconds) + " " + std::to_string(token.expires.seconds) + " " +
                          std::to_string(token.roles) + " " + (token.subject.empty() ? "-" : token.subject) + " " +
                          token.key);
}

Status TokenLog::Revoked(const std::string& id) {
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  if (!list_.issued.contains(id)) return NotFound("there is no token with the id '" + id + "'");
  if (list_.revoked.contains(id)) return Status::Ok();
  return Append(file, "revoked " + id);
}

Status TokenLog::Joined(const Token& token, const std::string& subject) {
  MR_ASSIGN_OR_RETURN(const std::string name, WorkerInSubject(subject));
  if (token.kind != TokenKind::kJoin || !IsTokenId(token.id)) return InvalidArgument("not a join token");
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  if (list_.revoked.contains(token.id)) return Rejected("the join token was used before, or revoked");
  if (list_.denied.contains(subject)) {
    return Status(Code::kNotAllowed, subject + " was revoked, and its name is not given again: stop it, remove " +
                                         "worker_id and credentials from its --data, and start it with a join file " +
                                         "that is for no name");
  }
  if (!token.subject.empty() && token.subject != name) {
    return Status(Code::kNotAllowed, "the join token is for the worker " + token.subject + ", not for " + name);
  }
  // Else a new worker could take the blocks and outputs of another one over.
  if (token.subject.empty() && list_.joined.contains(subject)) {
    return Rejected("a worker " + name + " has joined before; if it is to join again, make a join file for its name: " +
                    "mrctl token create --join FILE --worker " + name);
  }
  return Append(file, "used " + token.id + " " + subject);
}

Status TokenLog::Signed(const std::string& subject, const Certified& certified) {
  MR_ASSIGN_OR_RETURN(const std::string name, WorkerInSubject(subject));
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  return Append(file,
                "certified " + subject + " " + certified.authority + " " + std::to_string(certified.until.seconds));
}

Status TokenLog::Denied(const std::string& subject, bool denied) {
  MR_ASSIGN_OR_RETURN(const std::string name, WorkerInSubject(subject));
  MR_ASSIGN_OR_RETURN(const UniqueFd file, LockAndRead());
  if (list_.denied.contains(subject) == denied) return Status::Ok();
  return Append(file, (denied ? "denied " : "allowed ") + subject);
}

}  // namespace mr::secure
