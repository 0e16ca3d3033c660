#include "common/io/secret_file.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "common/base/digest.h"
#include "common/io/clock.h"

namespace mr {
namespace {

constexpr char kHead[] = "paceline daemon secret 1\n";
constexpr char kClient[] = "client ";
constexpr std::string_view kFresh = ".new.";  // begins the name of a file that is being written
constexpr char kDaemon[] = "daemon ";
constexpr size_t kTextBytes = sizeof kHead - 1 + 2 * (sizeof kClient - 1 + 2 * kSecretBytes + 1);

void AppendHex(const SecretBytes& bytes, std::string* out) {
  static constexpr char kDigits[] = "0123456789abcdef";
  for (const uint8_t b : bytes) {
    out->push_back(kDigits[b >> 4]);
    out->push_back(kDigits[b & 15]);
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// Reads `label` and the digits of one line at *at. Returns whether they are there.
bool TakeLine(const std::string& text, size_t* at, const char* label, SecretBytes* bytes) {
  const size_t label_size = std::char_traits<char>::length(label);
  if (text.compare(*at, label_size, label) != 0) return false;
  *at += label_size;
  for (uint8_t& b : *bytes) {
    const int high = HexDigit(text[*at]), low = HexDigit(text[*at + 1]);
    if (high < 0 || low < 0) return false;
    b = static_cast<uint8_t>(high << 4 | low);
    *at += 2;
  }
  return text[(*at)++] == '\n';
}

Status FillRandom(SecretBytes* bytes) {
  // Requests of at most 256 bytes are never interrupted (getrandom(2)).
  const ssize_t n = ::getrandom(bytes->data(), bytes->size(), 0);
  return n == static_cast<ssize_t>(bytes->size()) ? Status::Ok() : ErrnoStatus(errno, "cannot make random bytes");
}

std::string AbsolutePathIn(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && value[0] == '/' ? value : "";
}

std::string HomeOfUser() {
  if (std::string home = AbsolutePathIn("HOME"); !home.empty()) return home;
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) return "";
  return found->pw_dir != nullptr && found->pw_dir[0] == '/' ? found->pw_dir : "";
}

// Makes the directory for this user alone, or checks that it is so.
Status OwnDirectory(const std::string& directory) {
  if (const size_t slash = directory.rfind('/'); slash != std::string::npos && slash > 0) {
    MR_RETURN_IF_ERROR(MakeDirectories(directory.substr(0, slash)));
  }
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "cannot make directory " + directory);
  }
  struct stat info {};
  if (::lstat(directory.c_str(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + directory);
  if (!S_ISDIR(info.st_mode)) return Status(Code::kNotAllowed, directory + " is no directory");
  if (info.st_uid != ::geteuid()) {
    return {Code::kNotAllowed, directory + " belongs to " + UserName(info.st_uid) + ", not to " +
                                   UserName(::geteuid()) + "; name another directory with --secret_dir"};
  }
  if ((info.st_mode & 077) != 0) {
    return {Code::kNotAllowed, "other users can enter " + directory +
                                   ", where daemons keep their secrets: chmod 700 it, or name another directory with "
                                   "--secret_dir"};
  }
  return Status::Ok();
}

bool IsFileAt(int fd, const std::string& path) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino &&
         opened.st_dev == named.st_dev;
}

// Removes a secret that a daemon was writing when it was killed.
void RemoveHalfWritten(const std::string& path) {
  constexpr time_t kWritten = 60;  // seconds that a daemon needs at most to write one (guess); it locks it meanwhile
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != ::geteuid()) return;
  if (static_cast<time_t>(WallClockMs() / 1000) - info.st_mtime < kWritten) return;
  const auto file = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file.ok() || ::flock(file->get(), LOCK_EX | LOCK_NB) != 0) return;
  if (IsFileAt(file->get(), path)) (void)::unlink(path.c_str());
}

// Removes secrets that killed daemons left, so that the directory does not grow with each of them.
void RemoveLeftOver(const std::string& directory) {
  const auto names = ListDirectory(directory);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (!name.starts_with('.')) {
      RemoveLeftSecret(directory + "/" + name);
    } else if (name.starts_with(kFresh)) {
      RemoveHalfWritten(directory + "/" + name);
    }
  }
}

}  // namespace

void RemoveLeftSecret(const std::string& path) {
  if (!ReadSecretFile(path).ok()) return;
  const auto file = OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  // A daemon holds its lock from before the file has this name.
  if (!file.ok() || ::flock(file->get(), LOCK_EX | LOCK_NB) != 0) return;
  if (IsFileAt(file->get(), path)) (void)::unlink(path.c_str());
}

Result<DaemonSecret> MakeDaemonSecret() {
  SecretBytes client{}, daemon{};
  const Status first = FillRandom(&client), second = FillRandom(&daemon);
  DaemonSecret secret{Secret<SecretBytes>(client), Secret<SecretBytes>(daemon)};
  Wipe(client);
  Wipe(daemon);
  MR_RETURN_IF_ERROR(first);
  MR_RETURN_IF_ERROR(second);
  return secret;
}

Secret<std::string> FormatDaemonSecret(const DaemonSecret& secret) {
  std::string text;
  text.reserve(kTextBytes);  // never moved, which would leave a copy behind
  text += kHead;
  text += kClient;
  AppendHex(secret.client.Reveal(), &text);
  text += '\n';
  text += kDaemon;
  AppendHex(secret.daemon.Reveal(), &text);
  text += '\n';
  return Secret<std::string>(std::move(text));
}

Result<DaemonSecret> ParseDaemonSecret(const Secret<std::string>& text) {
  const std::string& t = text.Reveal();
  SecretBytes client{}, daemon{};
  size_t at = sizeof kHead - 1;
  const bool whole = t.size() == kTextBytes && t.starts_with(kHead) && TakeLine(t, &at, kClient, &client) &&
                     TakeLine(t, &at, kDaemon, &daemon);
  DaemonSecret secret{Secret<SecretBytes>(client), Secret<SecretBytes>(daemon)};
  Wipe(client);
  Wipe(daemon);
  if (!whole) return InvalidArgument("this is not the secret of a daemon");
  return secret;
}

bool SameSecret(const void* a, size_t a_size, const SecretBytes& b) {
  return a_size == b.size() && CRYPTO_memcmp(a, b.data(), b.size()) == 0;
}

Result<std::string> SecretDirectory(const std::string& given) {
  const std::string named = given.empty() ? AbsolutePathIn("MR_SECRET_DIR") : given;
  if (!named.empty()) {
    if (named.front() != '/') return InvalidArgument("the directory of secrets '" + named + "' is no absolute path");
    return named;
  }
  if (const std::string state = AbsolutePathIn("XDG_STATE_HOME"); !state.empty()) return state + "/paceline/daemons";
  const std::string home = HomeOfUser();
  if (home.empty()) {
    return InvalidArgument(
        "there is no place for the daemon's secret: neither XDG_STATE_HOME nor HOME is set, and " +
        UserName(::geteuid()) +
        " has no home directory; name a directory with --secret_dir or MR_SECRET_DIR, the same for daemons and mrctl");
  }
  return home + "/.local/state/paceline/daemons";
}

std::string SecretFileName(const std::string& bound) {
  std::string network = "-";
  if (auto boot = ReadFile("/proc/sys/kernel/random/boot_id"); boot.ok()) network = *boot;
  struct stat space {};
  if (::stat("/proc/self/ns/net", &space) == 0) network += std::to_string(space.st_ino);
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", static_cast<unsigned>(Hash64(network)));
  const size_t colon = bound.rfind(':');
  std::string name = bound.substr(0, colon) + "_" + (colon == std::string::npos ? "" : bound.substr(colon + 1));
  std::erase_if(name, [](char c) { return c == '/' || c == '[' || c == ']'; });
  return name + "_" + digits;
}

Result<SecretFile> SecretFile::Write(const std::string& directory, const std::string& name,
                                     const DaemonSecret& secret) {
  MR_RETURN_IF_ERROR(OwnDirectory(directory));
  RemoveLeftOver(directory);
  const std::string path = directory + "/" + name;
  // Under another name until it is whole and locked. One daemon has the port, so no other process writes this name.
  const std::string fresh = directory + "/" + std::string(kFresh) + name;
  (void)::unlink(fresh.c_str());
  SecretFile written;
  MR_ASSIGN_OR_RETURN(written.lock_, OpenFile(fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  (void)::flock(written.lock_.get(), LOCK_SH | LOCK_NB);  // some network file systems have no locks
  Status whole = WriteAll(written.lock_.get(), FormatDaemonSecret(secret).Reveal()).With(fresh);
  if (whole.ok() && ::rename(fresh.c_str(), path.c_str()) != 0) {
    whole = ErrnoStatus(errno, "cannot rename " + fresh + " to " + path);
  }
  if (!whole.ok()) {
    (void)::unlink(fresh.c_str());
    return whole;
  }
  written.path_ = path;
  return written;
}

SecretFile& SecretFile::operator=(SecretFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(lock_, other.lock_);
  return *this;
}

SecretFile::~SecretFile() {
  if (path_.empty()) return;
  // Not the file of a later daemon, which took the port after this one had closed it.
  if (IsFileAt(lock_.get(), path_)) (void)::unlink(path_.c_str());
}

Result<DaemonSecret> ReadSecretFile(const std::string& path) {
  MR_ASSIGN_OR_RETURN(UniqueFd file, OpenFile(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "cannot stat " + path);
  if (!S_ISREG(info.st_mode)) return Status(Code::kNotAllowed, "the secret " + path + " is no regular file");
  if (info.st_uid != ::geteuid()) {
    return Status(Code::kNotAllowed, "the secret " + path + " belongs to " + UserName(info.st_uid) + ", not to " +
                                         UserName(::geteuid()) + ", and is not trusted");
  }
  if ((info.st_mode & 077) != 0) {
    char mode[8];
    std::snprintf(mode, sizeof mode, "%04o", info.st_mode & 07777u);
    return Status(Code::kNotAllowed, "the secret " + path + " has mode " + mode +
                                         ", so others may have read it: restart its daemon, which writes a new one "
                                         "with mode 0600");
  }
  auto secret = ReadSecretFrom(file.release());
  if (!secret.ok()) return Corrupted("the secret " + path + " cannot be read: " + secret.status().message());
  return secret;
}

Result<DaemonSecret> ReadSecretFrom(int fd) {
  const UniqueFd owned(fd);
  std::string text(kTextBytes + 1, '\0');  // one more byte shows a text that is too long
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t n = ::read(owned.get(), text.data() + size, text.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      const int error = errno;
      Wipe(text);
      return ErrnoStatus(error, "cannot read the secret");
    }
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  text.resize(size);
  return ParseDaemonSecret(Secret<std::string>(std::move(text)));
}

std::string UserName(uint32_t uid) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  std::string name;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr) name = found->pw_name;
  const auto printable = [](char c) { return c > ' ' && c < 127; };
  if (name.empty() || name.size() > 64 || !std::all_of(name.begin(), name.end(), printable)) {
    return "uid " + std::to_string(uid);
  }
  return name;
}

}  // namespace mr
