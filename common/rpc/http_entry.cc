#include "common/rpc/http_entry.h"

#include <string_view>
#include <utility>

#include "common/io/secret_file.h"
#include "common/secure/token.h"

namespace mr::rpc {
namespace {

constexpr std::string_view kScheme = "Bearer ";
constexpr std::string_view kHexDigits = "0123456789abcdef";

// Returns the bytes of hexadecimal digits, or nothing if they are none.
Secret<std::string> BytesOfHex(std::string_view digits) {
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i + 1 < digits.size(); i += 2) {
    const size_t high = kHexDigits.find(digits[i]), low = kHexDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return {};
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return Secret<std::string>(std::move(bytes));
}

}  // namespace

Result<std::shared_ptr<Authenticator>> MakeHttpAuthenticator(const EntryOptions& options,
                                                             std::shared_ptr<Authenticator> rpc_port) {
  if (options.node != nullptr || options.insecure) return rpc_port;
  MR_ASSIGN_OR_RETURN(DaemonSecret secret, MakeDaemonSecret());
  std::string directory;
  if (options.secret_fd < 0) {
    MR_ASSIGN_OR_RETURN(directory, SecretDirectory(options.secret_dir));
  }
  return std::shared_ptr<Authenticator>(std::make_shared<UserAuthenticator>(std::move(secret), directory));
}

Result<Authenticator::Admitted> AdmitBearer(Authenticator& entry, const Secret<std::string>* header) {
  Credential credential;
  if (!entry.insecure()) {
    const std::string_view value = header == nullptr ? std::string_view() : std::string_view(header->Reveal());
    if (!value.starts_with(kScheme)) return Status(Code::kNotAllowed, "the request has no bearer token");
    const std::string_view text = value.substr(kScheme.size());
    const bool token = text.starts_with(secure::kTokenPrefix);
    if (text.size() > kCredentialBytes) return Status(Code::kNotAllowed, "the bearer token is too long");
    credential.kind = token ? CredentialKind::kToken : CredentialKind::kSecret;
    credential.bytes = token ? Secret<std::string>(std::string(text)) : BytesOfHex(text);
  }
  MR_ASSIGN_OR_RETURN(auto admitted, entry.Authenticate(Hello{}, credential, SocketFacts{}));
  admitted.identity.roles &= kAllPeople;
  return admitted;
}

Result<Secret<std::string>> BearerFor(const std::string& address, const std::string& directory) {
  MR_ASSIGN_OR_RETURN(const std::string where, SecretDirectory(directory));
  MR_ASSIGN_OR_RETURN(const DaemonSecret secret, ReadSecretFile(where + "/" + SecretFileName(address)));
  std::string value(kScheme);
  value.reserve(kScheme.size() + 2 * kSecretBytes);
  for (const uint8_t byte : secret.client.Reveal()) {
    value += kHexDigits[byte >> 4];
    value += kHexDigits[byte & 15];
  }
  return Secret<std::string>(std::move(value));
}

}  // namespace mr::rpc
