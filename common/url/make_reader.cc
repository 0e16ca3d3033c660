#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <initializer_list>

#include "common/secure/private_file.h"
#include "common/url/reader.h"

namespace mr::url {
namespace {

// Sets an empty setting from the first variable that is not empty. Returns the variable's name, or null.
const char* SetFrom(std::string* setting, std::initializer_list<const char*> variables) {
  if (!setting->empty()) return nullptr;
  for (const char* const name : variables) {
    const char* const value = std::getenv(name);
    if (value == nullptr || *value == '\0') continue;
    *setting = value;
    return name;
  }
  return nullptr;
}

Result<Url> EndpointOf(const std::string& text) {
  MR_ASSIGN_OR_RETURN(Url endpoint, ParseUrl(text));
  if (endpoint.s3() || !endpoint.query.empty()) {
    return InvalidArgument("'" + text + "' is no http:// or https:// URL of a server");
  }
  // Encoded again with the path of each request.
  endpoint.path = PercentDecode(endpoint.path, /*plus=*/false);
  while (endpoint.path.size() > 1 && endpoint.path.ends_with('/')) endpoint.path.pop_back();
  return endpoint;
}

Result<S3Keys> KeysIn(const std::string& path) {
  auto text = secure::ReadPrivateFile(path);
  if (!text.ok()) return text.status().With("--s3_keys");
  auto keys = ParseS3Keys(*text);
  if (!keys.ok()) return keys.status().With("--s3_keys: " + path);
  return keys;
}

Result<std::function<Result<S3Keys>()>> KeySource(const std::string& path) {
  if (!path.empty()) {
    MR_RETURN_IF_ERROR(KeysIn(path).status());
    return std::function<Result<S3Keys>()>([path] { return KeysIn(path); });
  }
  auto keys = std::make_shared<S3Keys>();
  std::string secret, token;
  SetFrom(&keys->id, {"AWS_ACCESS_KEY_ID"});
  SetFrom(&secret, {"AWS_SECRET_ACCESS_KEY"});
  SetFrom(&token, {"AWS_SESSION_TOKEN"});
  if (secret.empty()) keys->id.clear();
  keys->secret = Secret<std::string>(std::move(secret));
  keys->token = Secret<std::string>(std::move(token));
  return std::function<Result<S3Keys>()>([keys]() -> Result<S3Keys> { return keys->Copy(); });
}

}  // namespace

Result<std::shared_ptr<const Reader>> MakeReader(Settings settings) {
  ReaderOptions options;
  MR_ASSIGN_OR_RETURN(options.roots, UrlRoots::Parse(settings.roots));
  if (options.roots.none()) return std::shared_ptr<const Reader>();
  const char* const ca_variable = SetFrom(&settings.ca, {"SSL_CERT_FILE"});
  const char* const endpoint_variable = SetFrom(&settings.s3_endpoint, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  SetFrom(&settings.s3_region, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (settings.s3_region.empty()) settings.s3_region = "us-east-1";
  if (!settings.ca.empty() && access(settings.ca.c_str(), R_OK) != 0) {
    const Status status = ErrnoStatus(errno, settings.ca + " cannot be read");
    if (ca_variable == nullptr) return status.With("--url_ca");
    options.https_error = InvalidArgument(std::string(ca_variable) + ": " + status.message());
  }
  options.http.ca_file = settings.ca;
  options.s3_region = settings.s3_region;
  if (settings.s3_endpoint.empty()) {
    options.s3_endpoint = {"https", "s3." + settings.s3_region + ".amazonaws.com", 443, "/", ""};
  } else {
    auto endpoint = EndpointOf(settings.s3_endpoint);
    if (endpoint.ok()) {
      options.s3_endpoint = *std::move(endpoint);
    } else if (endpoint_variable == nullptr) {
      return endpoint.status().With("--s3_endpoint");
    } else {
      options.s3_error = endpoint.status().With(endpoint_variable);
    }
  }
  MR_ASSIGN_OR_RETURN(options.s3_keys, KeySource(settings.s3_keys));
  return std::shared_ptr<const Reader>(std::make_shared<Reader>(std::move(options)));
}

Status NoReader(const std::string& uri) {
  auto url = ParseUrl(uri);
  if (!url.ok()) return url.status();
  return UrlRoots().Check(*url);
}

}  // namespace mr::url
