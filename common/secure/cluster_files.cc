#include "common/secure/cluster_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "common/io/files.h"
#include "common/secure/authority.h"
#include "common/secure/credential_store.h"
#include "common/secure/names.h"
#include "common/secure/private_file.h"
#include "common/secure/token_log.h"

namespace mr::secure {
namespace {

Status WriteNewKey(const std::string& path, const PrivateKey& key) { return WritePrivateFile(path, key.ToPem()); }

// Makes a key and a certificate of the master in the directory, which has the authority's.
Status MakeMasterCertificate(const CredentialStore& store, UnixTime now) {
  const std::string& path = store.path;
  MR_ASSIGN_OR_RETURN(const PrivateKey authority_key, store.AuthorityKey());
  // The key stays, so that a crash between the two files leaves none that do not fit.
  auto key = ReadKey(path + "/master.key", KeyKind::kNode);
  if (!key.ok()) {
    if (key.status().code() != Code::kNotFound) return key.status();
    key = PrivateKey::Make(KeyKind::kNode);
    if (!key.ok()) return key.status();
    MR_RETURN_IF_ERROR(WriteNewKey(path + "/master.key", *key));
  }
  MR_ASSIGN_OR_RETURN(const std::string request, MakeRequest(*key));
  MR_ASSIGN_OR_RETURN(const std::string certificate,
                      SignRequest(request, NodeKind::kMaster, "", store.authority.current, authority_key, now));
  return WriteFileDurably(path + "/master.pem", certificate);
}

Status FillClusterFiles(const std::string& path, uint64_t cluster_id, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const PrivateKey authority_key, PrivateKey::Make(KeyKind::kNode));
  MR_ASSIGN_OR_RETURN(const std::string authority, MakeAuthority(authority_key, cluster_id, now));
  MR_RETURN_IF_ERROR(WriteNewKey(path + "/ca.key", authority_key));
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/ca.pem", authority));
  MR_ASSIGN_OR_RETURN(const PrivateKey token_key, PrivateKey::Make(KeyKind::kToken));
  MR_RETURN_IF_ERROR(WriteNewKey(path + "/token.key", token_key));
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/token.pub", token_key.Public().ToPem()));
  MR_ASSIGN_OR_RETURN(const TokenLog log, TokenLog::Open(path + "/tokens"));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  return MakeMasterCertificate(store, now);
}

Result<NodeCredentials> Load(const CredentialStore& store, const std::string& kind, UnixTime now) {
  NodeCredentials out;
  const std::string base = store.path + "/" + kind;
  out.authority_pem = store.authority_text;
  out.token_key_pem = store.token_keys_text;
  MR_ASSIGN_OR_RETURN(out.certificate_pem, ReadPem(base + ".pem"));
  MR_ASSIGN_OR_RETURN(const PrivateKey key, ReadKey(base + ".key", KeyKind::kNode));
  auto checked = CheckNode(out.certificate_pem, store.authority, now);
  if (!checked.ok()) return checked.status().With(base + ".pem");
  MR_RETURN_IF_ERROR(CheckKeyFits(out.certificate_pem, key).With(base + ".pem"));
  out.certificate = std::move(checked->certificate);
  out.previous = checked->previous;
  out.trust = TrustText(store.authority, store.token_keys);
  out.key_pem = key.ToPem();
  return out;
}

}  // namespace

std::string CredentialsPath(const std::string& data) { return data + "/credentials"; }

Status MakeClusterFiles(const std::string& path, uint64_t cluster_id, UnixTime now) {
  if (PathExists(path)) return Rejected(path + " exists: it may be in use by a cluster, and is not overwritten");
  // Made beside and renamed: a crash leaves no half of it under its name.
  const std::string fresh = path + ".new";
  MR_RETURN_IF_ERROR(RemoveTree(fresh));
  MR_RETURN_IF_ERROR(MakePrivateDirectory(fresh));
  Status made = FillClusterFiles(fresh, cluster_id, now);
  // Fails where the directory exists by now and is not empty.
  if (made.ok() && ::rename(fresh.c_str(), path.c_str()) != 0) {
    made = ErrnoStatus(errno, "cannot rename " + fresh + " to " + path);
  }
  if (!made.ok()) {
    (void)RemoveTree(fresh);
    return made;
  }
  return SyncDirectory(std::filesystem::path(path).parent_path().string());
}

Status KeepAddress(const std::string& path, const std::string& address) {
  return WriteFileDurably(path + "/address", address + "\n");
}

std::string KnownAddress(const std::string& path) {
  const auto text = ReadFile(path + "/address");
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

Result<NodeCredentials> LoadMaster(const std::string& path, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  const auto pem = ReadPem(path + "/master.pem");
  if (!pem.ok() && pem.status().code() != Code::kNotFound) return pem.status();
  const auto read = pem.ok() ? ReadCertificate(*pem) : Result<Certificate>(pem.status());
  if (!read.ok() || read->RenewalDue(now) || !CheckNodeCertificate(*pem, store.authority.current, now).ok()) {
    MR_RETURN_IF_ERROR(MakeMasterCertificate(store, now));
  }
  MR_ASSIGN_OR_RETURN(NodeCredentials out, Load(store, "master", now));
  if (out.certificate.common_name != MasterName(out.certificate.cluster_id)) {
    return Status(Code::kNotAllowed, path + "/master.pem is the certificate of " + out.certificate.common_name);
  }
  return out;
}

Result<NodeCredentials> LoadWorker(const std::string& path, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(const CredentialStore store, ReadStore(path));
  MR_ASSIGN_OR_RETURN(NodeCredentials out, Load(store, "worker", now));
  MR_ASSIGN_OR_RETURN(const std::string name, WorkerInSubject(out.certificate.common_name));
  return out;
}

Status KeepWorker(const std::string& path, const NodeCredentials& credentials) {
  if (!PathExists(path)) MR_RETURN_IF_ERROR(MakePrivateDirectory(path));
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/true));
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/ca.pem", credentials.authority_pem));
  MR_RETURN_IF_ERROR(WriteFileDurably(path + "/token.pub", credentials.token_key_pem));
  MR_RETURN_IF_ERROR(WritePrivateFile(path + "/worker.key", credentials.key_pem));
  return WriteFileDurably(path + "/worker.pem", credentials.certificate_pem);
}

Result<NodeCredentials> SignWorker(const std::string& path, const std::string& name, const std::string& request,
                                   UnixTime now) {
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(CredentialStore store, ReadStore(path));
  MR_ASSIGN_OR_RETURN(const PrivateKey key, store.AuthorityKey());
  NodeCredentials out;
  MR_ASSIGN_OR_RETURN(out.certificate_pem,
                      SignRequest(request, NodeKind::kWorker, name, store.authority.current, key, now));
  MR_ASSIGN_OR_RETURN(out.certificate, ReadCertificate(out.certificate_pem));
  MR_ASSIGN_OR_RETURN(const Certificate authority, ReadCertificate(store.authority.current));
  out.signer = authority.serial;
  out.trust = TrustText(store.authority, store.token_keys);
  out.authority_pem = std::move(store.authority_text);
  out.token_key_pem = std::move(store.token_keys_text);
  return out;
}

Result<IssuedToken> IssueToken(const std::string& path, const NewToken& wanted, UnixTime now) {
  // Until the token is listed: a rotation between the two would take it for one of the new key.
  MR_ASSIGN_OR_RETURN(const UniqueFd lock, LockCredentials(path, /*exclusive=*/false));
  MR_ASSIGN_OR_RETURN(CredentialStore store, ReadStore(path));
  MR_ASSIGN_OR_RETURN(const Certificate ca, ReadCertificate(store.authority.current));
  MR_ASSIGN_OR_RETURN(const PrivateKey key, store.TokenKey());
  IssuedToken out;
  out.token = {.kind = wanted.kind,
               .subject = wanted.subject,
               .roles = wanted.roles,
               .cluster_id = ca.cluster_id,
               .issued = now,
               .expires = now + wanted.life,
               .key = store.token_keys.front().Id()};
  out.authority_pem = store.authority.current;
  MR_ASSIGN_OR_RETURN(out.token.id, NewTokenId());
  MR_ASSIGN_OR_RETURN(out.text, SignToken(out.token, key));
  // Listed before anybody has it: what is not listed could not be revoked.
  MR_ASSIGN_OR_RETURN(TokenLog log, TokenLog::Open(path + "/tokens"));
  MR_RETURN_IF_ERROR(log.Issued(out.token));
  return out;
}

}  // namespace mr::secure
