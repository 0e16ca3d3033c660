#include "jobs/mrctl/redact.h"

#include <re2/re2.h>

#include <memory>
#include <vector>

namespace mr::ctl {
namespace {

struct Pattern {
  std::unique_ptr<RE2> find;
  const char* replace;
};

std::vector<Pattern> MakePatterns() {
  // Words in names of secrets, and a name with one of them.
  const std::string words =
      "(?:token|secret|passw(?:or)?d|passphrase|credential|authorization|cookie|"
      "(?:api|access|private|signing|encryption|auth)[-_.]?key)";
  const std::string name = "[a-z0-9_.-]*" + words + "[a-z0-9_.-]*";
  const std::pair<std::string, const char*> patterns[] = {
      {"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)", "[redacted]"},
      // A setting: {"id":"token","value":"..."}.
      {"(?i)(\"(?:id|key|name)\"\\s*:\\s*\"" + name + "\"\\s*,\\s*\"value\"\\s*:\\s*\")(?:[^\"\\\\]|\\\\.)*",
       "\\1[redacted]"},
      {"(?i)(" + name + "[\"']?\\s*[=:]\\s*\")(?:[^\"\\\\]|\\\\.)*", "\\1[redacted]"},
      {"(?i)(" + name + "[\"']?\\s*[=:]\\s*')[^']*", "\\1[redacted]"},
      // Within a JSON string, where quotes are escaped.
      {"(?i)(" + name + "(?:\\\\?[\"'])?\\s*[=:]\\s*\\\\[\"'])[^\"'\\\\]*", "\\1[redacted]"},
      {"(?i)((?:bearer|basic)\\s+)[a-z0-9._~+/=-]{8,}", "\\1[redacted]"},
      {"(?i)(" + name + "[\"']?\\s*[=:]\\s*)[^\\s\"',;}\\\\\\[][^\\s\"',;}\\\\]*", "\\1[redacted]"},
      {"(?i)(--?" + name + "\\s+)[^\\s-]\\S*", "\\1[redacted]"},
      {"://[^/\\s:@\"']*:[^/\\s@\"']+@", "://[redacted]@"},
      {"\\b(?:AKIA|ASIA)[0-9A-Z]{16}\\b", "[redacted]"},
      {"\\bgh[opusr]_[A-Za-z0-9]{20,}", "[redacted]"},
      {"\\bxox[abpors]-[A-Za-z0-9-]{10,}", "[redacted]"},
      {"\\beyJ[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]{10,}\\.[A-Za-z0-9_-]*", "[redacted]"},
  };
  RE2::Options options(RE2::Latin1);  // texts of any bytes
  options.set_log_errors(false);
  std::vector<Pattern> made;
  for (const auto& [find, replace] : patterns) made.push_back({std::make_unique<RE2>(find, options), replace});
  return made;
}

}  // namespace

std::string Redact(std::string text) {
  static const auto* const patterns = new std::vector<Pattern>(MakePatterns());
  for (const Pattern& pattern : *patterns) RE2::GlobalReplace(&text, *pattern.find, pattern.replace);
  return text;
}

}  // namespace mr::ctl
