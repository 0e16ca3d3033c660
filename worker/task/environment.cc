#include "worker/task/environment.h"

#include <algorithm>
#include <iterator>

namespace mr::task {
namespace {

constexpr std::string_view kNames[] = {"HOME",         "LANG",         "LANGUAGE",     "LOGNAME", "PATH",
                                       "SHELL",        "TMPDIR",       "TZ",           "USER",    "ASAN_OPTIONS",
                                       "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"};
constexpr std::string_view kPrefixes[] = {"LC_", "MR_LABEL_"};

}  // namespace

bool TasksGet(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kPrefixes), std::end(kPrefixes),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> TaskEnvironment(const char* const* all) {
  std::vector<std::string> kept;
  for (; *all != nullptr; ++all) {
    const std::string_view entry = *all;
    if (TasksGet(entry.substr(0, entry.find('=')))) kept.emplace_back(entry);
  }
  return kept;
}

}  // namespace mr::task
