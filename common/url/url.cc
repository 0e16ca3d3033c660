#include "common/url/url.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <memory>

#include "common/url/curl_api.h"

namespace mr::url {
namespace {

constexpr size_t kMostUrlBytes = 4096;
// Parts of queries that let the holder of the URL read the file: they would be in the journal and in logs.
constexpr std::string_view kSignedQueries[] = {
    "x-amz-signature=", "x-amz-credential=", "x-amz-security-token=", "x-goog-signature=",
    "awsaccesskeyid=",  "googleaccessid=",   "&signature=",           "&sig=",
    "&key-pair-id="};

bool Unreserved(unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '.' || c == '_' || c == '~'; }

int HexValue(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const int lower = std::tolower(static_cast<unsigned char>(c));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// Returns the byte that the three characters at `at` encode, or -1.
int EncodedByte(std::string_view text, size_t at) {
  if (at + 2 >= text.size() || text[at] != '%') return -1;
  const int high = HexValue(text[at + 1]), low = HexValue(text[at + 2]);
  return high < 0 || low < 0 ? -1 : high * 16 + low;
}

void AppendEncoded(unsigned char c, std::string* out) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  *out += '%';
  *out += kDigits[c >> 4];
  *out += kDigits[c & 15];
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

// Checks the parts of a decoded path. Servers and caches differ in what they make of these.
Status CheckParts(std::string_view path) {
  for (const unsigned char c : path) {
    if (c < 0x20 || c == 0x7f) return InvalidArgument("its path has a control character");
    if (c == '\\') return InvalidArgument("its path has a backslash");
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    // Some servers ignore a part from its first ';' on.
    const std::string_view name = part.substr(0, part.find(';'));
    if (name == "." || name == "..") return InvalidArgument("its path has the part '" + std::string(part) + "'");
    begin = end + 1;
  }
  return Status::Ok();
}

// Returns the path with each character in the one form that it has here.
Result<std::string> NormalPath(std::string_view path) {
  std::string normal, decoded;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      normal += path[i];
      decoded += path[i];
      continue;
    }
    const int byte = EncodedByte(path, i);
    if (byte < 0) return InvalidArgument("its path has a '%' without two hexadecimal digits");
    if (byte == '/') return InvalidArgument("its path has an encoded slash");
    const auto c = static_cast<unsigned char>(byte);
    if (Unreserved(c)) {
      normal += static_cast<char>(c);
    } else {
      AppendEncoded(c, &normal);
    }
    decoded += static_cast<char>(c);
    i += 2;
  }
  MR_RETURN_IF_ERROR(CheckParts(decoded));
  return normal.empty() ? "/" : normal;
}

Result<Url> ParseS3(std::string_view text) {
  Url url;
  url.scheme = "s3";
  const std::string_view rest = text.substr(std::string_view("s3://").size());
  const size_t slash = std::min(rest.find('/'), rest.size());
  url.host = std::string(rest.substr(0, slash));
  const bool good = url.host.size() >= 3 && url.host.size() <= 63 && url.host.find("..") == std::string::npos &&
                    std::isalnum(static_cast<unsigned char>(url.host[0])) != 0 &&
                    std::all_of(url.host.begin(), url.host.end(), [](unsigned char c) {
                      return std::islower(c) != 0 || std::isdigit(c) != 0 || c == '-' || c == '.' || c == '_';
                    });
  if (!good) {
    return InvalidArgument("'" + url.host + "' is no name of a bucket: 3 to 63 lower-case letters, digits, '-', '.'");
  }
  url.path = slash == rest.size() ? "/" : std::string(rest.substr(slash));
  MR_RETURN_IF_ERROR(CheckParts(url.path));
  return url;
}

class CurlUrl {
 public:
  explicit CurlUrl(const CurlApi& curl) : curl_(curl), handle_(curl.url(), curl.url_cleanup) {}

  Status Set(const std::string& text) {
    if (handle_ == nullptr) return Internal("no memory for a URL");
    // The path stays as it is, since its parts are checked here.
    const CURLUcode error =
        curl_.url_set(handle_.get(), CURLUPART_URL, text.c_str(), CURLU_DISALLOW_USER | CURLU_PATH_AS_IS);
    if (error == CURLUE_USER_NOT_ALLOWED) return InvalidArgument("it has a user name or a password");
    return error == CURLUE_OK ? Status::Ok() : InvalidArgument(curl_.url_strerror(error));
  }
  // Returns "" for a part that is missing.
  std::string Get(CURLUPart part, unsigned flags = 0) const {
    char* text = nullptr;
    if (curl_.url_get(handle_.get(), part, &text, flags) != CURLUE_OK || text == nullptr) return "";
    std::string copy = text;
    curl_.free(text);
    return copy;
  }

 private:
  const CurlApi& curl_;
  const std::unique_ptr<CURLU, decltype(&::curl_url_cleanup)> handle_;
};

Result<Url> ParseHttp(const std::string& text) {
  for (const unsigned char c : text) {
    if (c <= 0x20 || c >= 0x7f || c == '\\') {
      return InvalidArgument("it has a space, a backslash or a character outside of ASCII: write it as %XX");
    }
  }
  // libcurl skips further slashes, and decodes names of hosts.
  const std::string_view authority = std::string_view(text).substr(text.find("://") + 3);
  if (authority.find_first_of("/?#") == 0 || authority.empty()) return InvalidArgument("it has no host");
  if (authority.substr(0, authority.find_first_of("/?#")).find('%') != authority.npos) {
    return InvalidArgument("its host has a '%'");
  }
  MR_ASSIGN_OR_RETURN(const CurlApi* curl, LoadCurl());
  CurlUrl parsed(*curl);
  MR_RETURN_IF_ERROR(parsed.Set(text));
  if (text.find('#') != std::string::npos) return InvalidArgument("it has a fragment (#)");
  Url url;
  url.scheme = parsed.Get(CURLUPART_SCHEME);
  url.host = LowerCase(parsed.Get(CURLUPART_HOST));
  if (url.host.ends_with('.')) url.host.pop_back();
  if (url.host.empty()) return InvalidArgument("it has no host");
  const std::string port = parsed.Get(CURLUPART_PORT, CURLU_DEFAULT_PORT);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), url.port);
  if (error != std::errc() || end != port.data() + port.size() || url.port == 0) {
    return InvalidArgument("its port is no number from 1 to 65535");
  }
  MR_ASSIGN_OR_RETURN(url.path, NormalPath(parsed.Get(CURLUPART_PATH)));
  url.query = parsed.Get(CURLUPART_QUERY);
  const std::string lower = "&" + LowerCase(url.query);  // each name follows a '&'
  for (const std::string_view part : kSignedQueries) {
    if (lower.find(part) == std::string::npos) continue;
    return InvalidArgument("its query has a signature, which jobs must not contain: use s3:// and --s3_keys");
  }
  return url;
}

}  // namespace

bool IsUrl(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://") || text.starts_with("s3://");
}

std::string Url::HostAndPort() const {
  const uint16_t usual = scheme == "https" ? 443 : scheme == "http" ? 80 : 0;
  return port == usual ? host : host + ":" + std::to_string(port);
}

std::string Url::Text() const { return scheme + "://" + HostAndPort() + path + (query.empty() ? "" : "?" + query); }

bool Url::literal() const {
  if (s3()) return false;
  return host.front() == '[' || host.find_first_not_of("0123456789.") == std::string::npos;
}

Result<Url> ParseUrl(std::string_view text) {
  const std::string shown = "'" + std::string(text.substr(0, text.find_first_of("?#"))) + "' cannot be read";
  if (text.size() > kMostUrlBytes) return InvalidArgument("a URL is longer than 4096 bytes");
  // Errors must not repeat a password.
  const size_t host = text.find("://"), end = text.find_first_of("/?#", host == text.npos ? 0 : host + 3);
  const std::string_view authority = text.substr(0, end);
  if (!text.starts_with("s3://") && authority.find('@') != authority.npos) {
    return InvalidArgument("a URL has a user name or a password, which jobs must not contain");
  }
  if (!IsUrl(text)) return InvalidArgument(shown + ": it begins with none of http://, https:// and s3://");
  auto url = text.starts_with("s3://") ? ParseS3(text) : ParseHttp(std::string(text));
  if (!url.ok()) return url.status().With(shown);
  return url;
}

std::string PercentEncode(std::string_view text, bool keep_slash) {
  std::string out;
  out.reserve(text.size());
  for (const unsigned char c : text) {
    if (Unreserved(c) || (keep_slash && c == '/')) {
      out += static_cast<char>(c);
    } else {
      AppendEncoded(c, &out);
    }
  }
  return out;
}

std::string PercentDecode(std::string_view text, bool plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    const int byte = EncodedByte(text, i);
    if (byte >= 0) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += plus && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

}  // namespace mr::url
