#include "jobs/mrctl/uri.h"

#include <filesystem>

#include "common/model/stage_check.h"
#include "jobs/mrctl/exit_code.h"

namespace mr::ctl {
namespace {

constexpr std::string_view kFile = "file://";
constexpr std::string_view kDfs = "dfs://";

bool StartsWith(std::string_view text, std::string_view start) { return text.substr(0, start.size()) == start; }

std::string Normal(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  // lexically_normal keeps a leading double slash, as for network names.
  while (normal.size() > 1 && normal[0] == '/' && normal[1] == '/') normal.erase(0, 1);
  return normal;
}

}  // namespace

bool IsUrl(std::string_view uri) {
  return StartsWith(uri, "http://") || StartsWith(uri, "https://") || StartsWith(uri, "s3://");
}
bool IsFileUri(std::string_view uri) { return StartsWith(uri, kFile); }
bool IsDfsUri(std::string_view uri) { return StartsWith(uri, kDfs); }

std::string UriPath(std::string_view uri) {
  if (IsFileUri(uri)) return std::string(uri.substr(kFile.size()));
  if (IsDfsUri(uri)) return std::string(uri.substr(kDfs.size()));
  return std::string(uri);
}

Result<std::string> ResolveUri(std::string_view text, BarePath bare, const std::string& cwd) {
  if (text.empty()) return InvalidArgument("a path must not be empty");
  const size_t colon = text.find("://");
  if (colon == std::string_view::npos) {
    if (bare == BarePath::kBlockStore) {
      return std::string(kDfs) + Normal(text[0] == '/' ? std::string(text) : "/" + std::string(text));
    }
    return std::string(kFile) + Normal(text[0] == '/' ? std::string(text) : cwd + "/" + std::string(text));
  }
  if (IsFileUri(text) || IsDfsUri(text)) {
    const std::string path = UriPath(text);
    const std::string scheme(text.substr(0, colon + 3));
    if (path.empty() || path[0] != '/') {
      return InvalidArgument("'" + std::string(text) + "' must have three slashes: " + scheme + "/path");
    }
    return scheme + Normal(path);
  }
  const std::string scheme(text.substr(0, colon + 3));
  if (IsUrl(text))
    return InvalidArgument(scheme + " is for inputs of jobs only (submit --input), use dfs:/// or file:///");
  return InvalidArgument(scheme + " is not supported yet, use dfs:/// (mrctl fs put copies files in) or file:///");
}

Result<std::string> ResolveInputUri(std::string_view text, BarePath bare, const std::string& cwd) {
  if (text == "-") {
    return WithHint(
        InvalidArgument("'-' cannot be read here: only --input takes standard input"),
        "store it as a local file, or with `mrctl fs put - /PATH`, and give that path; ./- is a file named -");
  }
  if (!IsUrl(text)) return ResolveUri(text, bare, cwd);
  std::string uri(text);
  MR_RETURN_IF_ERROR(CheckInputUri(uri));
  return uri;
}

}  // namespace mr::ctl
