#include "common/secure/authority.h"

#include <algorithm>
#include <utility>

namespace mr::secure {
namespace {

constexpr size_t kMaxTokenKeys = 2;

// Splits PEM texts that follow each other. Returns the part up to and with the next END line, "" at the end.
std::string_view NextPem(std::string_view* rest) {
  const size_t end = rest->find("-----END ");
  if (end == std::string_view::npos) return "";
  const size_t line = std::min(rest->find('\n', end), rest->size() - 1) + 1;
  const std::string_view pem = rest->substr(0, line);
  rest->remove_prefix(line);
  return pem;
}

Result<std::vector<std::string>> SplitPem(std::string_view text, size_t most) {
  if (text.size() > kMaxPemBytes) return InvalidArgument("too large for certificates or public keys");
  std::vector<std::string> parts;
  for (std::string_view pem; !(pem = NextPem(&text)).empty();) {
    if (parts.size() == most) return InvalidArgument("more than " + std::to_string(most) + " parts in PEM");
    parts.emplace_back(pem);
  }
  if (parts.empty()) return InvalidArgument("no PEM");
  if (text.find_first_not_of(" \t\r\n") != std::string_view::npos) return InvalidArgument("bytes after the last PEM");
  return parts;
}

}  // namespace

Result<Authority> ReadAuthority(std::string_view text) {
  MR_ASSIGN_OR_RETURN(std::vector<std::string> parts, SplitPem(text, 3));
  if (parts.size() == 2) return InvalidArgument("two certificates: an authority has one, or three during a rotation");
  Authority out;
  out.current = std::move(parts[0]);
  MR_ASSIGN_OR_RETURN(const Certificate current, ReadCertificate(out.current));
  if (!current.authority) return InvalidArgument("the certificate of " + current.common_name + " is of no authority");
  if (parts.size() == 1) return out;
  out.cross = std::move(parts[1]);
  out.previous = std::move(parts[2]);
  MR_ASSIGN_OR_RETURN(const Certificate previous, ReadCertificate(out.previous));
  if (!previous.authority || previous.cluster_id != current.cluster_id) {
    return InvalidArgument("the previous authority is none of this cluster");
  }
  MR_RETURN_IF_ERROR(CheckCross(out.cross, out.current, out.previous));
  return out;
}

std::string AuthorityText(const Authority& authority) {
  return authority.current + authority.cross + authority.previous;
}

Result<Authority> Rotated(const Authority& old, const PrivateKey& old_key, const PrivateKey& new_key, UnixTime now) {
  MR_ASSIGN_OR_RETURN(const Certificate certificate, ReadCertificate(old.current));
  MR_RETURN_IF_ERROR(CheckKeyFits(old.current, old_key));
  Authority out;
  out.previous = old.current;
  MR_ASSIGN_OR_RETURN(out.current, MakeAuthority(new_key, certificate.cluster_id, now));
  MR_ASSIGN_OR_RETURN(out.cross, CrossSign(new_key, old.current, old_key, now));
  return out;
}

Result<CheckedNode> CheckNode(std::string_view pem, const Authority& authority, UnixTime now) {
  auto checked = CheckNodeCertificate(pem, authority.current, now);
  if (checked.ok()) return CheckedNode{*std::move(checked), false};
  if (!authority.rotating()) return checked.status();
  auto before = CheckNodeCertificate(pem, authority.previous, now);
  if (before.ok()) return CheckedNode{*std::move(before), true};
  return checked.status();
}

Result<TokenKeys> ReadTokenKeys(std::string_view text) {
  MR_ASSIGN_OR_RETURN(const std::vector<std::string> parts, SplitPem(text, kMaxTokenKeys));
  TokenKeys keys;
  for (const std::string& pem : parts) {
    MR_ASSIGN_OR_RETURN(PublicKey key, PublicKey::FromPem(pem));
    keys.push_back(std::move(key));
  }
  return keys;
}

std::string TrustText(const Authority& authority, const TokenKeys& keys) {
  std::string text;
  for (const std::string* pem : {&authority.current, &authority.previous}) {
    const auto certificate = ReadCertificate(*pem);
    if (certificate.ok()) text += certificate->serial + " ";
  }
  for (const PublicKey& key : keys) text += key.Id() + " ";
  if (!text.empty()) text.pop_back();
  return text;
}

}  // namespace mr::secure
