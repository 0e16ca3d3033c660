// The functions of libcurl that this folder calls. The library is loaded at their first use: it has some thirty
// libraries of its own, and most daemons never read a URL. Only .cc files of this folder include it.
#pragma once

#include <curl/curl.h>

#include "common/base/status.h"

namespace mr::url {

struct CurlApi {
  decltype(&::curl_easy_init) easy_init;
  decltype(&::curl_easy_reset) easy_reset;
  decltype(&::curl_easy_cleanup) easy_cleanup;
  decltype(&::curl_easy_setopt) easy_setopt;
  decltype(&::curl_easy_perform) easy_perform;
  decltype(&::curl_easy_strerror) easy_strerror;
  decltype(&::curl_slist_append) slist_append;
  decltype(&::curl_slist_free_all) slist_free_all;
  decltype(&::curl_free) free;
  decltype(&::curl_url) url;
  decltype(&::curl_url_cleanup) url_cleanup;
  decltype(&::curl_url_set) url_set;
  decltype(&::curl_url_get) url_get;
  decltype(&::curl_url_strerror) url_strerror;
};

// Returns the loaded library. Errors: kRejected, if this machine does not have it. Thread: any.
Result<const CurlApi*> LoadCurl();

}  // namespace mr::url
