// Signs requests for S3 and servers like it: AWS Signature Version 4.
// Source: AWS documentation, "Authenticating Requests (AWS Signature Version 4)".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/secret.h"
#include "common/base/status.h"

namespace mr::url {

struct S3Keys {
  std::string id;              // AWS_ACCESS_KEY_ID: sent in clear text; empty: requests are not signed
  Secret<std::string> secret;  // AWS_SECRET_ACCESS_KEY
  Secret<std::string> token;   // AWS_SESSION_TOKEN, or empty
  S3Keys Copy() const { return {id, secret.Copy(), token.Copy()}; }
};

// Parses the text of a keys file: lines `aws_access_key_id = ...`, `aws_secret_access_key = ...` and perhaps
// `aws_session_token = ...`, alone or in the section [default]; other sections and lines with '#' are skipped. Errors:
// kInvalidArgument; its message has no byte of the text.
Result<S3Keys> ParseS3Keys(const Secret<std::string>& text);

struct SignedRequest {
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  std::string method = "GET";
  std::string path;  // not encoded, begins with '/'
  Pairs query;       // not encoded, in any order
  Pairs headers;     // names in lower case; host is among them
  uint64_t unix_seconds = 0;
  std::string region = "us-east-1", service = "s3";
  std::string payload_sha256;  // 64 hexadecimal digits
};

// SHA-256 of no bytes.
inline constexpr char kEmptySha256[] = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

// Returns "20130524T000000Z".
std::string AmzDate(uint64_t unix_seconds);
// Returns the encoded query, sorted, without '?'.
std::string CanonicalQuery(const SignedRequest::Pairs& query);
// Returns the value of the header Authorization.
std::string Authorization(const SignedRequest& request, const S3Keys& keys);

// Returns the headers of a GET that S3 accepts, as "Name: value", with the signature if there are keys. request: host,
// and headers that it has besides. Adds x-amz-content-sha256, x-amz-date and x-amz-security-token.
std::vector<std::string> S3Headers(SignedRequest request, const S3Keys& keys);

}  // namespace mr::url
