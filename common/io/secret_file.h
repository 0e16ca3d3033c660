// The secret of a daemon: two random values that it writes for its own user, one file per listening port, below the
// state directory of that user (common/adr/0016). Who can read the file may connect.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "common/base/secret.h"
#include "common/base/status.h"
#include "common/io/files.h"

namespace mr {

inline constexpr size_t kSecretBytes = 32;  // 256 bits: guessing is out of the question at any rate
using SecretBytes = std::array<uint8_t, kSecretBytes>;

struct DaemonSecret {
  Secret<SecretBytes> client;  // proves a client to the daemon
  Secret<SecretBytes> daemon;  // proves the daemon to a client
  DaemonSecret Copy() const { return {client.Copy(), daemon.Copy()}; }
};

// Returns two fresh values of the kernel's generator. Errors: kInternal.
Result<DaemonSecret> MakeDaemonSecret();
// The text of the file, and back. Errors of Parse: kInvalidArgument; its message has no byte of the text.
Secret<std::string> FormatDaemonSecret(const DaemonSecret& secret);
Result<DaemonSecret> ParseDaemonSecret(const Secret<std::string>& text);
// Compares in a time that does not depend on the contents.
bool SameSecret(const void* a, size_t a_size, const SecretBytes& b);

// Returns the directory of the secrets of this user's daemons: `given` if it is not empty, else $MR_SECRET_DIR, else
// $XDG_STATE_HOME/paceline/daemons, else ~/.local/state/paceline/daemons, where ~ is $HOME or, without it, the home
// directory in the list of users. Errors: kInvalidArgument, if none of them is an absolute path.
Result<std::string> SecretDirectory(const std::string& given = "");

// Returns the name of the secret file of a socket: "127.0.0.1_7070_1f2e3d4c". The digits stand for the boot and the
// network namespace: equal addresses in two namespaces, or on two machines with one home directory, are two daemons.
// bound: the numeric address and port of the socket ("127.0.0.1:7070"
// or "[::1]:7070").
std::string SecretFileName(const std::string& bound);

// A written secret file. It is locked while the daemon lives and removed at the end of this object. A file without a
// lock was left by a daemon that was killed.
class SecretFile {
 public:
  // Makes the directory (mode 0700) if it does not exist, removes files of daemons that are gone, and writes the file
  // atomically with mode 0600. Errors: kNotAllowed, if the directory belongs to another user; of the file system.
  static Result<SecretFile> Write(const std::string& directory, const std::string& name, const DaemonSecret& secret);
  SecretFile() = default;
  SecretFile(SecretFile&& other) noexcept { *this = std::move(other); }
  SecretFile& operator=(SecretFile&& other) noexcept;
  ~SecretFile();
  const std::string& path() const { return path_; }

 private:
  std::string path_;  // empty: none
  UniqueFd lock_;
};

// Removes a secret file that a killed daemon left. Leaves files of living daemons, and what is no secret of this user.
void RemoveLeftSecret(const std::string& path);

// Reads a secret file. Errors: kNotFound; kNotAllowed, if another user owns it or others could read it; kCorrupted.
Result<DaemonSecret> ReadSecretFile(const std::string& path);
// Reads the secret from a descriptor to its end, for daemons that inherit it, and closes the descriptor.
Result<DaemonSecret> ReadSecretFrom(int fd);

// Returns the name of a user, "uid 1000" if it has none; printable, at most 64 bytes.
std::string UserName(uint32_t uid);

}  // namespace mr
