// Paths and URIs as people type them, made absolute: file:///path or dfs:///path. Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace mr::ctl {

// What a bare path means.
enum class BarePath { kLocalFile, kBlockStore };

// kInvalidArgument for schemes that are not there yet, and for file URIs with a host. A bare
// relative path is below `cwd` (local file) or below / (block store). Globs pass through.
Result<std::string> ResolveUri(std::string_view text, BarePath bare, const std::string& cwd);

bool IsFileUri(std::string_view uri);
bool IsDfsUri(std::string_view uri);
// The path of an absolute file:// or dfs:// URI.
std::string UriPath(std::string_view uri);

}  // namespace mr::ctl
