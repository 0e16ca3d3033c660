#include "jobs/mrctl/config.h"

#include <cstdlib>
#include <map>

#include "common/base/text.h"
#include "common/io/files.h"
#include "jobs/mrctl/job_file.h"

namespace mr::ctl {
namespace {

struct Key {
  std::string_view name;  // in a file
  const char* env;        // null: none
};
constexpr Key kKeys[] = {
    {"master", "MR_MASTER"},     {"queue", "MR_QUEUE"},           {"output", "MR_OUTPUT"},
    {"timeout", "MR_TIMEOUT"},   {"no_color", "MR_NO_COLOR"},     {"no_progress", "MR_NO_PROGRESS"},
};

struct Setting {
  std::string value;
  std::string origin;  // for messages
};
using Values = std::map<std::string, Setting, std::less<>>;

// Adds what this file says about keys that nothing of higher rank has set.
Status AddFile(const std::string& path, const ConfigSources& sources, Values* values) {
  MR_ASSIGN_OR_RETURN(const std::optional<std::string> text, sources.file(path));
  if (!text.has_value()) return Status::Ok();
  MR_ASSIGN_OR_RETURN(const KeyTable table, ParseToml(*text, path));
  for (const KeyTable::Entry& entry : table.entries) {
    std::vector<std::string_view> names;
    bool known = false;
    for (const Key& key : kKeys) {
      names.push_back(key.name);
      known = known || key.name == entry.key;
    }
    if (!known) return InvalidArgument(path + ": unknown key '" + entry.key + "'" + DidYouMean(entry.key, names));
    if (entry.list) return InvalidArgument(path + ": " + entry.key + " takes one value");
    values->try_emplace(entry.key, Setting{entry.values[0], path});
  }
  return Status::Ok();
}

bool IsTrue(const Values& values, std::string_view key) {
  const auto at = values.find(key);
  return at != values.end() && at->second.value != "false" && at->second.value != "0";
}

}  // namespace

ConfigSources RealSources() {
  return {
      [](const char* name) -> std::optional<std::string> {
        const char* value = std::getenv(name);
        if (value == nullptr || *value == '\0') return std::nullopt;
        return std::string(value);
      },
      [](const std::string& path) -> Result<std::optional<std::string>> {
        if (!PathExists(path)) return std::optional<std::string>();
        MR_ASSIGN_OR_RETURN(std::string text, ReadFile(path));
        return std::optional<std::string>(std::move(text));
      },
  };
}

Result<Settings> ResolveSettings(const GlobalOptions& flags, const ConfigSources& sources) {
  Values values;
  if (!flags.master.empty()) values["master"] = {flags.master, "--master"};
  if (!flags.form.empty()) values["output"] = {flags.form, "-o"};
  if (!flags.timeout.empty()) values["timeout"] = {flags.timeout, "--timeout"};
  if (flags.no_color) values["no_color"] = {"true", "--no-color"};
  if (flags.no_progress) values["no_progress"] = {"true", "--no-progress"};
  for (const Key& key : kKeys) {
    if (auto value = sources.env(key.env)) values.try_emplace(std::string(key.name), Setting{*value, key.env});
  }
  MR_RETURN_IF_ERROR(AddFile("mr.toml", sources, &values));
  const auto home = sources.env("XDG_CONFIG_HOME");
  const auto user = sources.env("HOME");
  if (home.has_value() || user.has_value()) {
    MR_RETURN_IF_ERROR(AddFile((home.has_value() ? *home : *user + "/.config") + "/mr/config.toml", sources, &values));
  }
  MR_RETURN_IF_ERROR(AddFile("/etc/mr/config.toml", sources, &values));

  Settings settings;
  settings.quiet = flags.quiet;
  settings.verbose = flags.verbose;
  const auto term = sources.env("TERM");
  settings.color = !IsTrue(values, "no_color") && !sources.env("NO_COLOR").has_value() && term != "dumb";
  settings.progress = !IsTrue(values, "no_progress") && !flags.quiet;
  if (auto at = values.find("master"); at != values.end()) settings.master = at->second.value;
  if (auto at = values.find("queue"); at != values.end()) settings.queue = at->second.value;
  if (auto at = values.find("output"); at != values.end()) {
    auto form = ParseOutputForm(at->second.value);
    if (!form.ok()) return form.status().With(at->second.origin);
    settings.form = *form;
  }
  if (auto at = values.find("timeout"); at != values.end()) {
    auto timeout = ParseDuration(at->second.value);
    if (!timeout.ok()) return timeout.status().With(at->second.origin);
    settings.timeout = *timeout;
  }
  return settings;
}

}  // namespace mr::ctl
