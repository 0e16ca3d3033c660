#include "common/secure/grant.h"

#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <cstring>

#include "common/secure/openssl.h"

namespace mr::secure {
namespace {

constexpr size_t kHourBytes = 4, kMacBytes = 16;
constexpr int64_t kHour = 3600;

void AppendLittleEndian(uint64_t value, size_t bytes, std::string* out) {
  for (size_t i = 0; i < bytes; ++i) out->push_back(static_cast<char>(value >> (8 * i)));
}

// Returns what is authenticated. The word keeps these texts apart from names of workers.
std::string TextOf(const Right& right, uint32_t hour) {
  std::string text = "grant:";
  text.push_back(static_cast<char>(right.kind));
  AppendLittleEndian(right.first, 8, &text);
  AppendLittleEndian(right.second, 8, &text);
  AppendLittleEndian(hour, kHourBytes, &text);
  return text;
}

}  // namespace

Result<GrantKey> GrantKey::Make() {
  Key key{};
  if (RAND_bytes(key.data(), static_cast<int>(key.size())) != 1) return OpenSslError("cannot make a key");
  return GrantKey(Secret<Key>(key));
}

Result<GrantKey> GrantKey::FromBytes(std::string_view bytes) {
  if (bytes.size() != kBytes)
    return InvalidArgument("a key of grants has 32 bytes, not " + std::to_string(bytes.size()));
  Key key{};
  std::memcpy(key.data(), bytes.data(), key.size());
  return GrantKey(Secret<Key>(key));
}

GrantKey::Key GrantKey::Mac(std::string_view text) const {
  Key mac{};
  unsigned size = 0;
  const Key& key = key_.Reveal();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), reinterpret_cast<const unsigned char*>(text.data()),
       text.size(), mac.data(), &size);
  return mac;
}

GrantKey GrantKey::ForWorker(std::string_view name) const {
  return GrantKey(Secret<Key>(Mac("worker:" + std::string(name))));
}

std::string GrantKey::Grant(const Right& right, UnixTime now) const {
  const auto hour = static_cast<uint32_t>((now + kGrantLife).seconds / kHour + 1);
  const Key mac = Mac(TextOf(right, hour));
  std::string grant;
  AppendLittleEndian(hour, kHourBytes, &grant);
  grant.append(reinterpret_cast<const char*>(mac.data()), kMacBytes);
  return grant;
}

Status GrantKey::Check(const Right& right, std::string_view grant, UnixTime now) const {
  if (grant.size() != kHourBytes + kMacBytes) return {Code::kNotAllowed, "it needs a grant of the master"};
  uint32_t hour = 0;
  for (size_t i = 0; i < kHourBytes; ++i) hour |= uint32_t{static_cast<uint8_t>(grant[i])} << (8 * i);
  const Key mac = Mac(TextOf(right, hour));
  if (CRYPTO_memcmp(mac.data(), grant.data() + kHourBytes, kMacBytes) != 0) {
    return {Code::kNotAllowed, "the grant is for something else, or for another worker"};
  }
  if (now.seconds / kHour >= hour) return {Code::kNotAllowed, "the grant has ended: ask the master for another one"};
  return Status::Ok();
}

Secret<std::string> GrantKey::Bytes() const {
  return Secret<std::string>(std::string(reinterpret_cast<const char*>(key_.Reveal().data()), kBytes));
}

}  // namespace mr::secure
