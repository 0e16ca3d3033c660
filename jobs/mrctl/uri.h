// Makes the paths and URIs of users absolute: file:///path or dfs:///path. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

// The meaning of a path without a scheme.
enum class BarePath { kLocalFile, kBlockStore };

// Returns the absolute URI. A relative path without a scheme is below `cwd` (local file) or below / (block store).
// Globs pass through. Errors: kInvalidArgument for unsupported schemes, and for file URIs with a host.
Result<std::string> ResolveUri(std::string_view text, BarePath bare, const std::string& cwd);

// The same for an input of a job: http://, https:// and s3:// URLs pass through. Errors: also for "-", since only
// --input takes standard input.
Result<std::string> ResolveInputUri(std::string_view text, BarePath bare, const std::string& cwd);

bool IsUrl(std::string_view uri);
bool IsFileUri(std::string_view uri);
bool IsDfsUri(std::string_view uri);
// Returns the path of an absolute file:// or dfs:// URI.
std::string UriPath(std::string_view uri);

}  // namespace mr::ctl
