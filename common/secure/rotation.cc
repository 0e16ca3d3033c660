#include "common/secure/rotation.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "common/io/fault.h"
#include "common/io/files.h"
#include "common/secure/authority.h"
#include "common/secure/credential_store.h"
#include "common/secure/private_file.h"
#include "common/secure/token_log.h"

namespace mr::secure {
namespace {

// Puts NAME.key.next in the place of NAME.key, if it is the key in use: what an interrupted rotation has left to do.
Status Settle(const std::string& path, const std::string& name, const PrivateKey& in_use) {
  const std::string key = path + "/" + name + ".key", next = key + ".next";
  if (!PathExists(next)) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const Secret<std::string> pem, ReadPrivateFile(next));
  if (pem.Reveal() != in_use.ToPem().Reveal()) return Status::Ok();  // made, and never used: replaced by the next one
  if (::rename(next.c_str(), key.c_str()) != 0) return ErrnoStatus(errno, "cannot rename " + next + " to " + key);
  return SyncDirectory(path);
}

Status RotateTokenKey(const std::string& path, const CredentialStore& store) {
  MR_ASSIGN_OR_RETURN(const PrivateKey fresh, PrivateKey::Make(KeyKind::kToken));
  MR_RETURN_IF_ERROR(WritePrivateFile(path + "/token.key.next", fresh.ToPem()));
  FaultPoint("rotation_token_key");
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/token.pub", fresh.Public().ToPem() + store.token_keys.front().ToPem()));
  FaultPoint("rotation_token");
  return Settle(path, "token", fresh);
}

Status RotateAuthority(const std::string& path, const CredentialStore& store, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const PrivateKey old, store.AuthorityKey());
  MR_ASSIGN_OR_RETURN(const PrivateKey fresh, PrivateKey::Make(KeyKind::kNode));
  MR_ASSIGN_OR_RETURN(const Authority rotated, Rotated(store.authority, old, fresh, now));
  MR_RETURN_IF_ERROR(WritePrivateFile(path + "/ca.key.next", fresh.ToPem()));
  FaultPoint("rotation_authority_key");
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/ca.pem", AuthorityText(rotated)));
  FaultPoint("rotation_authority");
  return Settle(path, "ca", fresh);
}

Result<Behind> WhoIsBehind(const CredentialStore& store, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const TokenLog log, TokenLog::Open(store.path + "/tokens"));
  MR_ASSIGN_OR_RETURN(const Certificate current, ReadCertificate(store.authority.current));
  const TokenList& list = log.list();
  const std::string key = store.token_keys.front().Id();
  Behind behind;
  for (const auto& [id, token] : list.issued) {
    if (token.key != key && now < token.expires && !list.revoked.contains(id)) behind.tokens.push_back(token);
  }
  for (const std::string& subject : list.joined) {
    if (list.denied.contains(subject)) continue;
    const auto it = list.certified.find(subject);
    if (it == list.certified.end() || (it->second.authority != current.serial && now < it->second.until)) {
      behind.workers.push_back(subject);
    }
  }
  return behind;
}

}  // namespace

Status BeginRotation(const std::string& path, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/true));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  MR_ASSIGN_OR_RETURN(const PrivateKey token_key, store.TokenKey());
  MR_ASSIGN_OR_RETURN(const PrivateKey authority_key, store.AuthorityKey());
  const bool unsettled = PathExists(path + "/ca.key.next");
  MR_RETURN_IF_ERROR(Settle(path, "token", token_key));
  MR_RETURN_IF_ERROR(Settle(path, "ca", authority_key));
  if (store.authority.rotating()) {
    if (unsettled) return Status::Ok();  // the last step of an interrupted rotation
    return Rejected("a rotation is in progress: mrctl cluster rotate --finish ends it, or says who is not ready");
  }
  if (store.token_keys.size() == 1) MR_RETURN_IF_ERROR(RotateTokenKey(path, store));
  return RotateAuthority(path, store, now);
}

Result<Behind> FinishRotation(const std::string& path, UnixTime now, bool force) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/true));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  if (!store.authority.rotating()) {
    return Rejected(store.token_keys.size() == 1
                        ? "no rotation is in progress, so there is nothing to finish"
                        : "the rotation was interrupted: complete it with mrctl cluster rotate");
  }
  MR_ASSIGN_OR_RETURN(const PrivateKey token_key, store.TokenKey());
  MR_ASSIGN_OR_RETURN(const PrivateKey authority_key, store.AuthorityKey());
  MR_ASSIGN_OR_RETURN(Behind behind, WhoIsBehind(store, now));
  // An interrupted finish was decided upon: tokens of the old key are of no use already.
  const bool begun = store.token_keys.size() == 1;
  if (!behind.empty() && !force && !begun) return behind;
  MR_RETURN_IF_ERROR(Settle(path, "token", token_key));
  MR_RETURN_IF_ERROR(Settle(path, "ca", authority_key));
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/token.pub", store.token_keys.front().ToPem()));
  FaultPoint("rotation_finish");
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/ca.pem", store.authority.current));
  return behind;
}

Result<bool> MasterHasNew(const std::string& path, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  MR_ASSIGN_OR_RETURN(const std::string pem, ReadPem(path + "/master.pem"));
  return CheckNodeCertificate(pem, store.authority.current, now).ok();
}

}  // namespace mr::secure
