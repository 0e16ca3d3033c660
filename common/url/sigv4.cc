#include "common/url/sigv4.h"

#include <openssl/hmac.h>

#include <algorithm>
#include <ctime>

#include "common/io/sha256.h"
#include "common/url/url.h"

namespace mr::url {
namespace {

std::string Hmac(std::string_view key, std::string_view text) {
  std::string out(EVP_MAX_MD_SIZE, '\0');
  unsigned size = 0;
  const auto* result = ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(key.size()),
                              reinterpret_cast<const unsigned char*>(text.data()), text.size(),
                              reinterpret_cast<unsigned char*>(out.data()), &size);
  MR_CHECK(result != nullptr, "OpenSSL computes HMAC-SHA-256");
  out.resize(size);
  return out;
}

std::string HexOf(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (const unsigned char c : bytes) {
    out += kDigits[c >> 4];
    out += kDigits[c & 15];
  }
  return out;
}

std::string Sha256Hex(std::string_view text) {
  Sha256 digest;
  digest.Update(text);
  return digest.HexDigest();
}

std::string_view Trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Returns the value with each run of spaces as one.
std::string CanonicalValue(std::string_view text) {
  std::string out;
  for (const char c : Trimmed(text)) {
    if (c != ' ' || !out.ends_with(' ')) out += c;
  }
  return out;
}

}  // namespace

Result<S3Keys> ParseS3Keys(const Secret<std::string>& text) {
  S3Keys keys;
  bool read = true;
  std::string_view rest = text.Reveal();
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = Trimmed(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.empty() || line[0] == '#') continue;
    if (line[0] == '[') {
      read = line == "[default]";
      continue;
    }
    const size_t equals = line.find('=');
    if (!read || equals == line.npos) continue;
    const std::string_view name = Trimmed(line.substr(0, equals)), value = Trimmed(line.substr(equals + 1));
    if (name == "aws_access_key_id") keys.id = std::string(value);
    if (name == "aws_secret_access_key") keys.secret = Secret<std::string>(std::string(value));
    if (name == "aws_session_token") keys.token = Secret<std::string>(std::string(value));
  }
  const auto printable = [](std::string_view value) {
    return std::all_of(value.begin(), value.end(), [](unsigned char c) { return c > 0x20 && c < 0x7f; });
  };
  if (keys.id.empty() || keys.secret.Reveal().empty()) {
    return InvalidArgument("it needs lines 'aws_access_key_id = ...' and 'aws_secret_access_key = ...'");
  }
  if (!printable(keys.id) || !printable(keys.secret.Reveal()) || !printable(keys.token.Reveal())) {
    return InvalidArgument("a key has spaces or bytes that no key has");
  }
  return keys;
}

std::string AmzDate(uint64_t unix_seconds) {
  const auto seconds = static_cast<time_t>(unix_seconds);
  struct tm utc {};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  const size_t size = std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  return {text, size};
}

std::string CanonicalQuery(const SignedRequest::Pairs& query) {
  std::vector<std::string> parts;
  parts.reserve(query.size());
  SignedRequest::Pairs encoded;
  encoded.reserve(query.size());
  for (const auto& [name, value] : query) {
    encoded.emplace_back(PercentEncode(name, false), PercentEncode(value, false));
  }
  std::sort(encoded.begin(), encoded.end());
  std::string text;
  for (const auto& [name, value] : encoded) text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

std::string Authorization(const SignedRequest& request, const S3Keys& keys) {
  SignedRequest::Pairs headers = request.headers;
  std::sort(headers.begin(), headers.end());
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + CanonicalValue(value) + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + PercentEncode(request.path, true) + "\n" +
                                CanonicalQuery(request.query) + "\n" + lines + "\n" + names + "\n" +
                                request.payload_sha256;
  const std::string time = AmzDate(request.unix_seconds), day = time.substr(0, 8);
  const std::string scope = day + "/" + request.region + "/" + request.service + "/aws4_request";
  const std::string to_sign = "AWS4-HMAC-SHA256\n" + time + "\n" + scope + "\n" + Sha256Hex(canonical);
  const Secret<std::string> first("AWS4" + keys.secret.Reveal());
  const Secret<std::string> of_day(Hmac(first.Reveal(), day));
  const Secret<std::string> of_region(Hmac(of_day.Reveal(), request.region));
  const Secret<std::string> of_service(Hmac(of_region.Reveal(), request.service));
  const Secret<std::string> signing(Hmac(of_service.Reveal(), "aws4_request"));
  return "AWS4-HMAC-SHA256 Credential=" + keys.id + "/" + scope + ", SignedHeaders=" + names +
         ", Signature=" + HexOf(Hmac(signing.Reveal(), to_sign));
}

std::vector<std::string> S3Headers(SignedRequest request, const S3Keys& keys) {
  std::vector<std::string> lines;
  request.payload_sha256 = kEmptySha256;
  if (!keys.id.empty()) {
    request.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
    request.headers.emplace_back("x-amz-date", AmzDate(request.unix_seconds));
    if (!keys.token.Reveal().empty()) request.headers.emplace_back("x-amz-security-token", keys.token.Reveal());
    lines.push_back("Authorization: " + Authorization(request, keys));
  }
  for (const auto& [name, value] : request.headers) {
    if (name != "host") lines.push_back(name + ": " + value);
  }
  return lines;
}

}  // namespace mr::url
