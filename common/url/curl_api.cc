#include "common/url/curl_api.h"

#include <dlfcn.h>

#include <string>

namespace mr::url {
namespace {

// Loads a function. Returns false if the library does not have it.
template <class F>
bool LoadFunction(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(::dlsym(library, name));
  return *function != nullptr;
}

Result<CurlApi> LoadCurlOnce() {
  const auto failed = [] {
    const char* const error = ::dlerror();
    return Rejected(std::string("URLs cannot be read on this machine: ") + (error == nullptr ? "libcurl" : error) +
                    "; next: install the package libcurl4");
  };
  // It stays loaded: its threads and its TLS library have no safe end.
  void* const curl = ::dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (curl == nullptr) return failed();
  CurlApi api{};
  decltype(&::curl_global_init) global_init = nullptr;
  const bool all =
      LoadFunction(curl, "curl_global_init", &global_init) && LoadFunction(curl, "curl_easy_init", &api.easy_init) &&
      LoadFunction(curl, "curl_easy_reset", &api.easy_reset) &&
      LoadFunction(curl, "curl_easy_cleanup", &api.easy_cleanup) &&
      LoadFunction(curl, "curl_easy_setopt", &api.easy_setopt) &&
      LoadFunction(curl, "curl_easy_perform", &api.easy_perform) &&
      LoadFunction(curl, "curl_easy_strerror", &api.easy_strerror) &&
      LoadFunction(curl, "curl_slist_append", &api.slist_append) &&
      LoadFunction(curl, "curl_slist_free_all", &api.slist_free_all) && LoadFunction(curl, "curl_free", &api.free) &&
      LoadFunction(curl, "curl_url", &api.url) && LoadFunction(curl, "curl_url_cleanup", &api.url_cleanup) &&
      LoadFunction(curl, "curl_url_set", &api.url_set) && LoadFunction(curl, "curl_url_get", &api.url_get) &&
      LoadFunction(curl, "curl_url_strerror", &api.url_strerror);
  if (!all) return failed();
  if (global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) return Internal("libcurl does not start");
  return api;
}

}  // namespace

Result<const CurlApi*> LoadCurl() {
  static const Result<CurlApi> loaded = LoadCurlOnce();
  if (!loaded.ok()) return loaded.status();
  return &loaded.value();
}

}  // namespace mr::url
