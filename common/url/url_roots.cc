#include "common/url/url_roots.h"

#include "common/base/text.h"

namespace mr::url {
namespace {

bool IsBelow(const Url& url, const Url& root) {
  if (url.scheme != root.scheme || url.host != root.host || url.port != root.port) return false;
  return url.path == root.path || url.path.starts_with(root.path + "/");
}

}  // namespace

UrlRoots UrlRoots::Any() {
  UrlRoots roots;
  roots.any_ = true;
  return roots;
}

Result<UrlRoots> UrlRoots::Parse(std::string_view text) {
  if (text == "any") return Any();
  UrlRoots roots;
  if (text.empty() || text == "none") return roots;
  for (const std::string& word : SplitAtCommas(text)) {
    auto root = ParseUrl(word);
    if (!root.ok()) return root.status().With("--url_roots");
    if (!root->query.empty()) return InvalidArgument("--url_roots: '" + word + "' has a query");
    while (root->path.ends_with('/')) root->path.pop_back();
    roots.roots_.push_back(*std::move(root));
  }
  return roots;
}

Status UrlRoots::Check(const Url& url) const {
  if (any_) return Status::Ok();
  std::string list;
  for (const Url& root : roots_) {
    if (IsBelow(url, root)) return Status::Ok();
    list += (list.empty() ? "" : ",") + root.Text();
  }
  return {Code::kNotAllowed,
          url.Text() + " is not below a URL that jobs may read here (--url_roots: " + (list.empty() ? "none" : list) +
              "); next: add a URL that it begins with to --url_roots of the master and of the "
              "workers, or copy the file in with mrctl fs put"};
}

}  // namespace mr::url
