// Parses and normalizes the URLs that jobs read: http://, https:// and s3://.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::url {

// Returns whether the text has one of the three schemes.
bool IsUrl(std::string_view text);

// A normalized URL. Two texts of one place have equal parts, so parts can be compared, and what is fetched is what was
// compared.
struct Url {
  std::string scheme;  // http, https or s3
  std::string host;    // lower case, without a dot at its end; an IPv6 address in brackets. s3: the bucket
  uint16_t port = 0;   // s3: 0
  std::string path;    // begins with '/'. http: percent-encoded where needed. s3: '/' and the key, as it is
  std::string query;   // http: without '?'; may be empty

  bool s3() const { return scheme == "s3"; }
  std::string key() const { return path.substr(1); }  // s3
  // Returns "host", or "host:port" where the port is not the scheme's own.
  std::string HostAndPort() const;
  std::string Text() const;
  // Returns whether the host is a numeric address.
  bool literal() const;
  bool operator==(const Url&) const = default;
};

// Parses a URL. Refuses user names and passwords, fragments, signed queries, and all that servers may read as another
// path: "." and ".." as parts, encoded slashes, backslashes, control characters. Errors: kInvalidArgument, with the
// reason; kRejected without libcurl.
Result<Url> ParseUrl(std::string_view text);

// Returns the text with all bytes but letters, digits, '-', '.', '_' and '~' as %XX. keep_slash: '/' stays.
std::string PercentEncode(std::string_view text, bool keep_slash);
// Returns the bytes that a percent-encoded text stands for; plus: '+' is a space. A '%' without two digits stays.
std::string PercentDecode(std::string_view text, bool plus);

}  // namespace mr::url
