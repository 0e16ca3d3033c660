#include "common/secure/credential_store.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <functional>
#include <utility>

#include "common/secure/private_file.h"

namespace mr::secure {
namespace {

Result<PrivateKey> KeyThatFits(const std::string& file, KeyKind kind,
                               const std::function<bool(const PrivateKey&)>& fits) {
  auto key = ReadKey(file, kind);
  if (key.ok() && fits(*key)) return key;
  if (!PathExists(file + ".next")) {
    if (!key.ok()) return key.status();
    return Corrupted(file + " does not belong to the public part beside it: restore both from one backup");
  }
  MR_ASSIGN_OR_RETURN(PrivateKey next, ReadKey(file + ".next", kind));
  if (fits(next)) return next;
  return Corrupted(file + " and " + file +
                   ".next do not belong to the public part beside them: restore all of them "
                   "from one backup");
}

}  // namespace

Result<UniqueFd> LockCredentials(const std::string& path, bool exclusive) {
  MR_RETURN_IF_ERROR(CheckPrivateDirectory(path));
  MR_ASSIGN_OR_RETURN(UniqueFd directory, OpenFile(path, O_RDONLY | O_DIRECTORY));
  while (::flock(directory.get(), exclusive ? LOCK_EX : LOCK_SH) != 0) {
    if (errno != EINTR) return ErrnoStatus(errno, "cannot lock " + path);
  }
  return directory;
}

Result<std::string> ReadPem(const std::string& path) {
  MR_ASSIGN_OR_RETURN(const uint64_t size, FileSize(path));
  if (size > kMaxPemBytes) return Corrupted(path + " is too large for a certificate or a public key");
  return ReadFile(path);
}

Result<PrivateKey> ReadKey(const std::string& path, KeyKind kind) {
  MR_ASSIGN_OR_RETURN(const Secret<std::string> pem, ReadPrivateFile(path));
  auto key = PrivateKey::FromPem(pem, kind);
  if (!key.ok()) return Corrupted(path + ": " + key.status().message());
  return key;
}

Result<PrivateKey> CredentialStore::AuthorityKey() const {
  return KeyThatFits(path + "/ca.key", KeyKind::kNode,
                     [this](const PrivateKey& key) { return CheckKeyFits(authority.current, key).ok(); });
}

Result<PrivateKey> CredentialStore::TokenKey() const {
  return KeyThatFits(path + "/token.key", KeyKind::kToken,
                     [this](const PrivateKey& key) { return key.Public().Id() == token_keys.front().Id(); });
}

Result<CredentialStore> ReadStore(const std::string& path) {
  CredentialStore store;
  store.path = path;
  MR_ASSIGN_OR_RETURN(store.authority_text, ReadPem(path + "/ca.pem"));
  MR_ASSIGN_OR_RETURN(store.token_keys_text, ReadPem(path + "/token.pub"));
  auto authority = ReadAuthority(store.authority_text);
  if (!authority.ok()) return Corrupted(path + "/ca.pem: " + authority.status().message());
  auto keys = ReadTokenKeys(store.token_keys_text);
  if (!keys.ok()) return Corrupted(path + "/token.pub: " + keys.status().message());
  store.authority = *std::move(authority);
  store.token_keys = *std::move(keys);
  return store;
}

}  // namespace mr::secure
