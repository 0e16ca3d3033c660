#include "master/web/page.h"

#include <openssl/evp.h>

#include "common/report/json.h"
#include "common/report/page.h"

namespace mr::web {
namespace {

// Returns the source expression of CSP that allows exactly this text of an element.
std::string HashSource(std::string_view text) {
  unsigned char digest[EVP_MAX_MD_SIZE], encoded[2 * EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(), nullptr);
  const int length = EVP_EncodeBlock(encoded, digest, static_cast<int>(size));
  return "'sha256-" + std::string(reinterpret_cast<char*>(encoded), static_cast<size_t>(length)) + "'";
}

}  // namespace

std::string PageText(const PageInfo& info, std::string_view document) {
  const SiteFiles files = GetSiteFiles();
  report::Json json = report::Object({{"view", info.view},
                                      {"id", nullptr},
                                      {"root", info.root},
                                      {"source", nullptr},
                                      {"release", info.release},
                                      {"etag", info.etag}});
  if (!info.id.empty()) json["id"] = info.id;
  if (!info.source.empty()) json["source"] = info.source;
  return report::FillTemplate(files.html, {{"{{title}}", report::EscapeHtml(info.title)},
                                           {"{{style}}", std::string(files.style)},
                                           {"{{script}}", std::string(files.script)},
                                           {"{{page}}", report::EscapeScriptJson(report::DumpJson(json))},
                                           {"{{document}}", report::EscapeScriptJson(document)}});
}

std::string PagePolicy() {
  const SiteFiles files = GetSiteFiles();
  return "default-src 'none'; script-src " + HashSource(files.script) + "; style-src " + HashSource(files.style) +
         "; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
}

}  // namespace mr::web
