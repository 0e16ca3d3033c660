// Pages: the site's template with its script, its style and a document. Thread: any.
#pragma once

#include <string>
#include <string_view>

#include "master/web/topic.h"

namespace mr::web {

struct PageInfo {
  std::string view;    // "cluster", "job", "worker", "store", "history", "scheduler" or "missing"
  std::string id;      // of the job or worker; empty: none
  std::string root;    // from the page's URL to the site's: "" or "../"
  std::string source;  // of the document, from the site's root; empty: none
  std::string title;   // any bytes
  std::string release;
  std::string etag;  // of the document that the page has
};

// Returns the page with this document (JSON, or empty) in it.
std::string PageText(const PageInfo& info, std::string_view document);

// Returns the header Content-Security-Policy of all pages: their own script and style, and no other server.
std::string PagePolicy();

// The site's files, compiled in.
struct SiteFiles {
  std::string_view html, style, script;
};
SiteFiles GetSiteFiles();

}  // namespace mr::web
