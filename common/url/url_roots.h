// The URLs that jobs may read (--url_roots).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/url/url.h"

namespace mr::url {

// Thread: any; it does not change.
class UrlRoots {
 public:
  UrlRoots() = default;  // none
  static UrlRoots Any();
  // text: "" or "none", "any", or URLs separated by commas. Errors: kInvalidArgument; kRejected without libcurl.
  static Result<UrlRoots> Parse(std::string_view text);

  bool any() const { return any_; }
  bool none() const { return !any_ && roots_.empty(); }
  // Checks that the URL is a root or below one: same scheme, host and port, and a path that begins with all parts of
  // the root's. Errors: kNotAllowed, with the flag.
  Status Check(const Url& url) const;

 private:
  bool any_ = false;
  std::vector<Url> roots_;  // paths without a slash at the end
};

}  // namespace mr::url
